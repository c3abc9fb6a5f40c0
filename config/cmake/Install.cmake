# Install rules and the exported package: find_package(open-iser), then link openiser::iser and friends.
include(CMakePackageConfigHelpers)

set(openiser_libraries base rdmap_core rdmap_tcp iscsi iser config target initiator)
install(TARGETS ${openiser_libraries} EXPORT open-iser-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(program iser-targetd iser-cli)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
foreach(dir base rdmap iscsi iser config target initiator)
  install(DIRECTORY ${dir} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/open-iser FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT open-iser-targets NAMESPACE openiser:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/open-iser-config.cmake.in
  ${CMAKE_BINARY_DIR}/open-iser-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/open-iser-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/open-iser-config.cmake ${CMAKE_BINARY_DIR}/open-iser-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
