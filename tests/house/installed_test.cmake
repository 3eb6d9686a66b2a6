# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=folder -D EXAMPLES=examples -D COMPILER=c++ -D GENERATOR=Ninja -D FOLDER=scratch -P: installs what was
# built, builds the example against it, and demands that the example and the installed program print the same figures.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
set(installed ${FOLDER}/installed)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed} OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
foreach(file share/man/man1/draftline.1 share/bash-completion/completions/draftline
    share/zsh/site-functions/_draftline share/fish/vendor_completions.d/draftline.fish
    share/doc/draftline/docs/tutorial.md share/doc/draftline/README.md share/draftline/scenarios/best_tree.json)
  if(NOT EXISTS ${installed}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(READ ${installed}/share/man/man1/draftline.1 manual)
if(NOT manual MATCHES "\n.SS plan\n.*max.-devices")
  message(FATAL_ERROR "the manual page lacks an option of plan:\n${manual}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${EXAMPLES} -B ${FOLDER}/build
  -D CMAKE_PREFIX_PATH=${installed} -D CMAKE_CXX_COMPILER=${COMPILER} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/build/ask OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)

file(READ ${EXAMPLES}/ask.cpp source)
string(REGEX REPLACE ".*R\"\\(([^)]*)\\)\".*" "\\1" scenario "${source}")
file(WRITE ${FOLDER}/scenario.json "${scenario}")
execute_process(COMMAND ${installed}/bin/draftline run ${FOLDER}/scenario.json --json OUTPUT_VARIABLE document
  COMMAND_ERROR_IS_FATAL ANY)
foreach(point RANGE 2)
  string(JSON batch GET "${document}" results ${point} inputs batch_size)
  string(JSON speedup GET "${document}" results ${point} speedup value)
  string(SUBSTRING ${speedup} 0 4 speedup)  # the example prints six digits
  if(NOT printed MATCHES "batch ${batch}: a step of [0-9.]+ ms, ${speedup}[0-9]* times as fast")
    message(FATAL_ERROR "the program predicts ${speedup} at batch ${batch}, the example printed:\n${printed}")
  endif()
endforeach()
