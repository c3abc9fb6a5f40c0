# How every target of this project is compiled, and the two functions that make them.

add_library(openiser_flags INTERFACE)
target_compile_options(openiser_flags INTERFACE -Wall -Wextra -Werror -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees moved-from std::optional members as uninitialised: false, and not to be silenced one by one.
  target_compile_options(openiser_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(OPENISER_SANITIZE)
  target_compile_options(openiser_flags INTERFACE -fsanitize=${OPENISER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(openiser_flags INTERFACE -fsanitize=${OPENISER_SANITIZE})
  if(OPENISER_SANITIZE MATCHES "thread")
    # The sanitizer does not know fences, and Asio's are not needed: each context has one thread.
    target_compile_definitions(openiser_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  if(OPENISER_SANITIZE MATCHES "undefined")
    target_compile_options(openiser_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# openiser_library(NAME DIRS dir... [PUBLIC lib...] [PRIVATE lib...])
# A static library of every .cc file that lies directly in the named folders.
function(openiser_library name)
  cmake_parse_arguments(arg "" "" "DIRS;PUBLIC;PRIVATE" ${ARGN})
  set(sources)
  foreach(dir IN LISTS arg_DIRS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.h)
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(${name} STATIC ${sources})
  add_library(openiser::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME openiser_${name})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/open-iser>)
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:openiser_flags>)
endfunction()

# openiser_program(NAME MAIN_SOURCE lib...): a program in build/<preset>/bin.
function(openiser_program name main)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ${ARGN} openiser_flags)
endfunction()
