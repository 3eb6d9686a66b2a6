# SPDX-License-Identifier: Apache-2.0
# cmake -D program=FILE -D words=FOLDER -P: writes what `program` prints of its options into the folder `words`: a manual page, and a completion of each shell.
file(MAKE_DIRECTORY ${words})
function(print to)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_FILE ${words}/${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
print(draftline.1 man)
print(draftline completion bash)
print(_draftline completion zsh)
print(draftline.fish completion fish)
