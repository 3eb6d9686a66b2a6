# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=folder -D FOLDER=scratch -P: makes the Debian packages of what was built, unpacks them, and demands that
# the program answers from there, that the packages name what they need, and that each required file is in one of them.
cmake_minimum_required(VERSION 3.25)
find_program(shlibdeps dpkg-shlibdeps)
if(NOT shlibdeps)
  message("skipped: dpkg-shlibdeps is missing")
  return()
endif()
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -B ${FOLDER} OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB packages ${FOLDER}/*.deb)
list(LENGTH packages number)
if(NOT number EQUAL 2)
  message(FATAL_ERROR "expected draftline and draftline-dev, got: ${packages}")
endif()
set(seen)
foreach(package IN LISTS packages)
  execute_process(COMMAND dpkg-deb --field ${package} Package Depends OUTPUT_VARIABLE fields
    COMMAND_ERROR_IS_FATAL ANY)
  if(package MATCHES "/draftline_" AND NOT fields MATCHES "Package: draftline\n.*libtbb")
    message(FATAL_ERROR "${package} does not need oneTBB's library: ${fields}")
  endif()
  if(package MATCHES "/draftline-dev_" AND NOT fields MATCHES "Depends: draftline \\(= [0-9.]+\\)")
    message(FATAL_ERROR "${package} does not need the draftline of its version, which has data/: ${fields}")
  endif()
  execute_process(COMMAND dpkg-deb --fsys-tarfile ${package} COMMAND tar --list OUTPUT_VARIABLE list
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" files "${list}")
  list(FILTER files EXCLUDE REGEX "^$|/$")
  foreach(file IN LISTS files)
    if(file IN_LIST seen)
      message(FATAL_ERROR "both packages have ${file}")
    endif()
  endforeach()
  list(APPEND seen ${files})
  execute_process(COMMAND dpkg-deb --extract ${package} ${FOLDER}/root COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(required bin/draftline share/draftline/data/sources.json share/draftline/data/devices/h100-sxm.json
    share/draftline/data/traces/reference/prompt_lookup/code.jsonl.gz
    share/draftline/scenarios/best_tree.json share/man/man1/draftline.1 share/bash-completion/completions/draftline
    share/zsh/site-functions/_draftline share/zsh/vendor-completions/_draftline
    share/fish/vendor_completions.d/draftline.fish share/doc/draftline/LICENSE share/doc/draftline/copyright
    share/doc/draftline/README.md share/doc/draftline/CHANGELOG.md share/doc/draftline/docs/tutorial.md
    share/doc/draftline/docs/recipes/install.md include/draftline/api/answer.h include/draftline/core/reader.h
    "lib/.*libdraftline_api\\.a" "lib/.*libdraftline_core\\.a" "lib/.*cmake/draftline/draftline-config\\.cmake"
    "lib/.*cmake/draftline/draftline-config-version\\.cmake" "lib/.*cmake/draftline/draftline-targets\\.cmake")
  set(found ${seen})
  list(FILTER found INCLUDE REGEX "^\\./usr/${required}$")
  if(NOT found)
    message(FATAL_ERROR "no package has ${required}")
  endif()
endforeach()
execute_process(COMMAND ${FOLDER}/root/usr/bin/draftline run ${FOLDER}/root/usr/share/draftline/scenarios/best_tree.json
  OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
if(NOT answer MATCHES "speedup")
  message(FATAL_ERROR "the packaged program answered:\n${answer}")
endif()
