# SPDX-License-Identifier: Apache-2.0
# `cmake --install` writes two components. program: the program with data/, scenarios/, docs/, its manual page and
# completions. development: the library with its headers for find_package(draftline). cmake/package.cmake makes a Debian
# package of each. tests/house builds examples/ from an installed tree.
include(CMakePackageConfigHelpers)
set(draftline_installed_data ${CMAKE_INSTALL_DATADIR}/draftline/data)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/draftline)
set(library options build_info)
foreach(room IN LISTS draftline_rooms)
  if(NOT room MATCHES "^(gate|cli)$")
    list(APPEND library ${room})
    install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/draftline COMPONENT development
      FILES_MATCHING PATTERN "*.h" PATTERN cuda EXCLUDE)
  endif()
endforeach()
foreach(room IN LISTS library)
  set_target_properties(draftline_${room} PROPERTIES EXPORT_NAME ${room})
endforeach()
list(TRANSFORM library PREPEND draftline_)
install(TARGETS ${library} EXPORT draftline-targets COMPONENT development)
install(EXPORT draftline-targets NAMESPACE draftline:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/draftline-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/draftline-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS draftline_installed_data)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/draftline-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/draftline-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/draftline-config-version.cmake DESTINATION ${package_dir}
  COMPONENT development)

install(TARGETS draftline COMPONENT program)
install(DIRECTORY data scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/draftline COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES COPYRIGHT DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)  # as Debian names it

# The built program prints its manual page and completions.
set(words ${CMAKE_CURRENT_BINARY_DIR}/words)
add_custom_command(
  OUTPUT ${words}/draftline.1 ${words}/draftline ${words}/_draftline ${words}/draftline.fish
  COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:draftline> -D words=${words}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_words.cmake
  DEPENDS draftline ${PROJECT_SOURCE_DIR}/cmake/write_words.cmake VERBATIM)
add_custom_target(draftline_words ALL DEPENDS ${words}/draftline.1)
install(FILES ${words}/draftline.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${words}/draftline DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
# Below /usr Debian's zsh reads the second folder alone, zsh of other systems the first.
foreach(folder IN ITEMS site-functions vendor-completions)
  install(FILES ${words}/_draftline DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder} COMPONENT program)
endforeach()
install(FILES ${words}/draftline.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT program)
