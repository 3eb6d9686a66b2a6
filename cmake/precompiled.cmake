# SPDX-License-Identifier: Apache-2.0
# A third of what the program costs to compile is parsing the headers of the standard library and of third parties.
# DRAFTLINE_PRECOMPILE parses them once for targets that are compiled alike: ON for all, `tests` for tests and the command
# line alone, which read the largest headers. Preset dev has the latter, so that a library's source that forgets an
# #include is seen.
set(DRAFTLINE_PRECOMPILE OFF CACHE STRING "parse the headers of the standard library once a build: OFF, tests or ON")

# draftline_precompile(TARGET HEADER x.h) compiles cmake/precompiled/x.h for it; draftline_precompile(TARGET FROM owner)
# shares the owner's.
function(draftline_precompile target how from)
  if(NOT DRAFTLINE_PRECOMPILE OR (DRAFTLINE_PRECOMPILE STREQUAL "tests" AND NOT target MATCHES "_(tests|catch|cli)$"))
    return()
  endif()
  if(how STREQUAL HEADER)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${from})
  else()
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # which forgets of what it has precompiled that it is the system's, and warns
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()
