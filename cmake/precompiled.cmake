# SPDX-License-Identifier: Apache-2.0
# Parsing the headers of the standard library and of third parties takes a third of the program's compile time.
# DRAFTLINE_PRECOMPILE parses them once for targets with the same compiler options. Preset tidy builds without it and
# finds sources that lack an #include.
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
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # does not treat precompiled headers as system headers, and warns of them
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()
