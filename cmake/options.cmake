# SPDX-License-Identifier: Apache-2.0
# How our own code is compiled: every target of ours links draftline_options.
add_library(draftline_options INTERFACE)
target_include_directories(draftline_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(draftline_options INTERFACE -Wall -Wextra -Wconversion -Werror
  -ffp-contract=off)  # no fused multiply-add behind our back: the same bits from every compiler and processor

if(DRAFTLINE_SANITIZE)
  target_compile_options(draftline_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(draftline_options INTERFACE -fsanitize=address,undefined)
endif()

if(DRAFTLINE_TIDY)
  find_program(CLANG_TIDY NAMES clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY} --quiet)
endif()

# g++ 12 warns of overlaps in its own std::string (GCC bug 105651).
target_compile_options(draftline_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
