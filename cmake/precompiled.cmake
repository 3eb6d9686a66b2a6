# SPDX-License-Identifier: Apache-2.0
# A third of what the program costs to compile is parsing the headers of the standard library and of third parties.
# DRAFTLINE_PRECOMPILE parses them once for targets that are compiled alike. A build without it, as preset tidy's, sees a
# source that forgets an #include.
option(DRAFTLINE_PRECOMPILE "parse the headers of the standard library once a build" ON)

# draftline_precompile(TARGET HEADER x.h) compiles cmake/precompiled/x.h for it; draftline_precompile(TARGET FROM owner)
# shares the owner's.
function(draftline_precompile target how from)
  if(NOT DRAFTLINE_PRECOMPILE)
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
