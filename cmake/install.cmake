# SPDX-License-Identifier: Apache-2.0
# `cmake --install` writes the program, data/ and scenarios/, and the library with its headers for
# find_package(draftline). tests/house builds examples/ from an installed tree.
include(CMakePackageConfigHelpers)
set(draftline_installed_data ${CMAKE_INSTALL_DATADIR}/draftline/data)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/draftline)
set(library options build_info)
foreach(room IN LISTS draftline_rooms)
  if(NOT room MATCHES "^(gate|cli)$")
    list(APPEND library ${room})
    install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/draftline FILES_MATCHING PATTERN "*.h"
      PATTERN cuda EXCLUDE)
  endif()
endforeach()
foreach(room IN LISTS library)
  set_target_properties(draftline_${room} PROPERTIES EXPORT_NAME ${room})
endforeach()
list(TRANSFORM library PREPEND draftline_)
install(TARGETS ${library} EXPORT draftline-targets)
install(EXPORT draftline-targets NAMESPACE draftline:: DESTINATION ${package_dir})
configure_package_config_file(cmake/draftline-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/draftline-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS draftline_installed_data)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/draftline-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/draftline-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/draftline-config-version.cmake DESTINATION ${package_dir})

install(TARGETS draftline)
install(DIRECTORY data scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/draftline)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
