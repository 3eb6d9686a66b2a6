# SPDX-License-Identifier: Apache-2.0
# How our own code is compiled: every target of ours links draftline_options. Who links an installed library gets the
# path of its headers alone, not draftline_own_options.
add_library(draftline_options INTERFACE)
add_library(draftline_own_options INTERFACE)
target_include_directories(draftline_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/draftline>)
target_compile_features(draftline_options INTERFACE cxx_std_20)
target_link_libraries(draftline_options INTERFACE $<BUILD_INTERFACE:draftline_own_options>)
target_compile_options(draftline_own_options INTERFACE
  # no fused multiply-add behind our back: the same bits from every compiler and processor
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Werror;-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall;--expt-relaxed-constexpr>")

# CMake's default of -O3 compiles longer and gains nothing that draftline_bench shows; the loops that gain say so
# (decoder/CMakeLists.txt). Under the sanitizers -O1 lets the tests take a fraction of the time, the stacks stay readable,
# and -g1 names their lines at a smaller cost than -g. Whoever sets these variables gets what was asked for.
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()
if(DRAFTLINE_SANITIZE AND CMAKE_CXX_FLAGS_DEBUG STREQUAL "-g")
  set(CMAKE_CXX_FLAGS_DEBUG "-g1 -O1")
endif()
# For targets that read arguments, write text or state tests: what takes time is what they call.
set(draftline_compile_quickly $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)

# Warnings that cry wolf: g++ 12 sees overlaps in its own std::string (GCC bug 105651); g++ 13 and later take a reference
# that a temporary hands on, such as a cursor's, for one into the temporary.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(draftline_own_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(draftline_own_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

if(DRAFTLINE_SANITIZE)
  # Checks of undefined behaviour are nearly half of what a test costs to compile: what tests call has them. Those of
  # null and of alignment are a quarter of what a library costs: AddressSanitizer sees a null that is followed, and bytes
  # of files are copied into numbers, not read in place (core/packed.h).
  target_compile_options(draftline_own_options INTERFACE
    -fsanitize=address$<$<NOT:$<BOOL:$<TARGET_PROPERTY:draftline_is_test>>>:,undefined>
    -fno-sanitize=null,alignment -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(draftline_own_options INTERFACE -fsanitize=address,undefined)
endif()

if(DRAFTLINE_FUZZ)  # counts which branches an input takes; libFuzzer itself is linked by its targets (tests/fuzz)
  target_compile_options(draftline_own_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(draftline_own_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(DRAFTLINE_TIDY)
  find_program(CLANG_TIDY NAMES clang-tidy REQUIRED)
  list(JOIN draftline_rooms "|" ours)
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY} --quiet "--header-filter=/(${ours})/")
endif()
