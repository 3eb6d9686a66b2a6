# SPDX-License-Identifier: Apache-2.0
# Runs the program BENCH in its short form: it must end well and print every line, each with figures above zero. Without its
# data it must say what is missing and end with another exit code than 0.
execute_process(COMMAND ${BENCH} --short RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "exit code ${code}\n${out}${err}")
endif()
set(above_zero "[0-9.]*[1-9][0-9.]*")
foreach(line
    "advise: +4 drafts of an 8B network in ${above_zero} s"
    "scenario: 100 rates read in ${above_zero} s, 1000 wrong batch sizes in ${above_zero} s"
    "suffix trees: ${above_zero} us to keep and ${above_zero} us to search a sequence's in a step, ${above_zero} drafts"
    "sweep: 10000 points in ${above_zero} s on one core, ${above_zero} us a point"
    "kernel times: a GEMM ${above_zero} ns, an attention ${above_zero} ns"
    "prices: 7 configurations, ${above_zero} ms each: ${above_zero} ms before the first run, ${above_zero} ms in it"
    "plan: 12 options, 12 of them feasible, in ${above_zero} s on one core, ${above_zero} ms each"
    "serving, plain +: +1000 requests, ${above_zero} refused, +${above_zero} steps in ${above_zero} s: ${above_zero} requests/s, ${above_zero} steps/s"
    "serving, EAGLE-3, k = 4: +1000 requests, ${above_zero} refused, +${above_zero} steps in ${above_zero} s: ${above_zero} requests/s, ${above_zero} steps/s"
    "serving, plain +: +10000 requests, ${above_zero} refused, +${above_zero} steps in ${above_zero} s: ${above_zero} requests/s, ${above_zero} steps/s"
    "serving, EAGLE-3, k = 4: +10000 requests, ${above_zero} refused, +${above_zero} steps in ${above_zero} s: ${above_zero} requests/s, ${above_zero} steps/s")
  if(NOT out MATCHES "(^|\n)${line}")
    message(FATAL_ERROR "no line \"${line}\" in\n${out}${err}")
  endif()
endforeach()

execute_process(COMMAND ${BENCH} --short --data nowhere RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(code EQUAL 0 OR NOT err MATCHES "^draftline_bench: .*unknown name")
  message(FATAL_ERROR "without data: exit code ${code}\n${out}${err}")
endif()
