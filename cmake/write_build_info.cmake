# SPDX-License-Identifier: Apache-2.0
# cmake -D SOURCE=tree -D OUTPUT=file.cpp -D VERSION=x.y.z -P write_build_info.cmake: writes the file if it changes.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
file(READ ${SOURCE}/cmake/commit.txt archived)
if(archived MATCHES "^([0-9a-f]+)")
  set(commit ${CMAKE_MATCH_1})
endif()

# A tree inside somebody else's repository is not at that repository's commit, so it must have its own .git.
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} rev-parse HEAD WORKING_DIRECTORY ${SOURCE}
    RESULT_VARIABLE failed OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT failed)
    set(commit ${head})
    if(NOT changes STREQUAL "")
      string(APPEND commit "-dirty")
    endif()
  endif()
endif()

# The rooms that predict: what else changes (the command line, tests, documents) moves no figure.
set(all "")
foreach(room core model decoder methods trace inputs predict sim papers reports)
  file(GLOB sources ${SOURCE}/${room}/*.h ${SOURCE}/${room}/*.cpp ${SOURCE}/${room}/priced/*.h ${SOURCE}/${room}/priced/*.cpp)
  list(SORT sources)
  foreach(source ${sources})
    file(SHA256 ${source} hash)
    string(APPEND all ${hash})
  endforeach()
endforeach()
string(SHA256 model "${all}")
string(SUBSTRING ${model} 0 16 model)
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in ${OUTPUT} @ONLY)
