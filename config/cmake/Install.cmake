# Install rules and the exported package: find_package(open-iser), then link openiser::iser and friends.
include(CMakePackageConfigHelpers)

set(openiser_libraries base rdmap_core rdmap_tcp rdmap_verbs iscsi iser config target initiator)
install(TARGETS ${openiser_libraries} EXPORT open-iser-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(program iser-targetd iser-cli)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(FILES initiator/man/iser.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES target/man/iser-targetd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
# Where systemd looks, whatever the library folder of the architecture is called.
install(FILES target/systemd/iser-targetd.service DESTINATION lib/systemd/system)
foreach(dir base rdmap iscsi iser config target initiator)
  install(DIRECTORY ${dir} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/open-iser FILES_MATCHING PATTERN "*.h"
    # Folders without headers.
    PATTERN man EXCLUDE PATTERN systemd EXCLUDE PATTERN examples EXCLUDE PATTERN samples EXCLUDE PATTERN cmake EXCLUDE)
endforeach()
install(EXPORT open-iser-targets NAMESPACE openiser:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/open-iser-config.cmake.in
  ${CMAKE_BINARY_DIR}/open-iser-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/open-iser-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/open-iser-config.cmake ${CMAKE_BINARY_DIR}/open-iser-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/open-iser)
