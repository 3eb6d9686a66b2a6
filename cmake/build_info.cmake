# SPDX-License-Identifier: Apache-2.0
# Target draftline_build_info: core/build_info.h with the commit of this tree and the path of data/. Every build looks up
# the commit. A tarball of `git archive` has it in cmake/commit.txt; in other trees without git it is "unknown".
set(generated ${PROJECT_BINARY_DIR}/build_info)
set(write_build_info ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${generated}/build_info.cpp
  -D VERSION=${PROJECT_VERSION} -P ${CMAKE_CURRENT_LIST_DIR}/write_build_info.cmake)
execute_process(COMMAND ${write_build_info} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(draftline_commit COMMAND ${write_build_info} BYPRODUCTS ${generated}/build_info.cpp
  COMMENT "Looking up the commit")

add_library(draftline_build_info STATIC ${generated}/build_info.cpp)
add_dependencies(draftline_build_info draftline_commit)
target_link_libraries(draftline_build_info PUBLIC draftline_options)
set_target_properties(draftline_build_info PROPERTIES CXX_CLANG_TIDY "")

# The executable looks for data/ in this tree, or, once installed, relative to itself (bin/../share/draftline/data).
file(RELATIVE_PATH from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/draftline/data)
target_compile_definitions(draftline_build_info INTERFACE
  $<BUILD_INTERFACE:DRAFTLINE_DATA_DIR="${PROJECT_SOURCE_DIR}/data">
  $<BUILD_INTERFACE:DRAFTLINE_INSTALLED_DATA_DIR="${from_bin}">)
