# SPDX-License-Identifier: Apache-2.0
# Read by CTest itself: one test for each test case that `program` lists. Catch2's own script breaks at names with a
# semicolon or an odd bracket, and our names are sentences. Set before: program, room, quiet_list, filter, properties.
if(NOT EXISTS ${program})
  add_test("${room}/${program} is not built" ${program})
  return()
endif()
execute_process(COMMAND ${program} ${quiet_list} OUTPUT_VARIABLE names ERROR_VARIABLE said)

# Lists split at semicolons and not between brackets: those three stand aside while the lines are a list.
string(ASCII 1 semicolon)
string(ASCII 2 opening)
string(ASCII 3 closing)
string(REPLACE ";" "${semicolon}" names "${names}")
string(REPLACE "[" "${opening}" names "${names}")
string(REPLACE "]" "${closing}" names "${names}")
string(REPLACE "\n" ";" names "${names}")

set(listed 0)
foreach(line IN LISTS names)
  if(line STREQUAL "")
    continue()
  endif()
  string(REPLACE "${semicolon}" ";" name "${line}")
  string(REPLACE "${opening}" "[" name "${name}")
  string(REPLACE "${closing}" "]" name "${name}")
  set(spec "${name}")
  foreach(special "\\" "," "[" "\"")
    string(REPLACE "${special}" "\\${special}" spec "${spec}")
  endforeach()
  string(REGEX REPLACE "^[-~]" "\\\\\\0" spec "${spec}")  # neither an option nor "all but"
  add_test("${room}/${name}" ${program} "${spec}" ${filter})
  set_tests_properties("${room}/${name}" PROPERTIES ${properties})
  math(EXPR listed "${listed} + 1")
endforeach()
if(listed EQUAL 0)
  add_test("${room}/${program} lists no test: ${said}" ${CMAKE_COMMAND} -E false)
endif()
