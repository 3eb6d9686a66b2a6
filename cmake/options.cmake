# SPDX-License-Identifier: Apache-2.0
# How our own code is compiled: each of our targets links draftline_options. A target that links an installed library gets
# only the path of its headers, not draftline_own_options.
add_library(draftline_options INTERFACE)
add_library(draftline_own_options INTERFACE)
target_include_directories(draftline_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/draftline>)
target_compile_features(draftline_options INTERFACE cxx_std_20)
target_link_libraries(draftline_options INTERFACE $<BUILD_INTERFACE:draftline_own_options>)
target_compile_options(draftline_own_options INTERFACE
  # No fused multiply-add, so that results have the same bits with every compiler and processor.
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Werror;-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall;--expt-relaxed-constexpr>")

# CMake's default of -O3 takes longer to compile and draftline_bench shows no gain; decoder/CMakeLists.txt names the loops
# that gain. With the sanitizers, -O1 makes the tests several times faster than -O0 and keeps stacks readable, and -g1
# gives line numbers at a smaller cost than -g. Variables that the user sets are left as they are.
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()
if(DRAFTLINE_SANITIZE AND CMAKE_CXX_FLAGS_DEBUG STREQUAL "-g")
  set(CMAKE_CXX_FLAGS_DEBUG "-g1 -O1")
endif()
# For targets that read arguments, write text or state tests: their time is spent in the libraries that they call.
set(draftline_compile_quickly $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)

# clang's -Wconversion holds signs of integers too, which g++'s leaves to -Wsign-conversion in C++.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(draftline_own_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-sign-conversion>)
endif()

# False warnings: g++ 12 reports overlaps in its own std::string (GCC bug 105651); g++ 13 and later report a reference that
# a temporary returns, such as a cursor, as a reference into the temporary.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(draftline_own_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(draftline_own_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

if(DRAFTLINE_PYTHON)  # its extension module is a shared library of all libraries; with hidden symbols nothing is slower
  target_compile_options(draftline_own_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fvisibility=hidden;-fvisibility-inlines-hidden>)
endif()

if(DRAFTLINE_SANITIZE)
  # Checks of undefined behaviour take nearly half of a test's compile time, so only the libraries have them. Checks of
  # null and of alignment take a quarter of a library's: AddressSanitizer finds a null that is dereferenced, and bytes of
  # files are copied into numbers, not read in place (core/packed.h).
  target_compile_options(draftline_own_options INTERFACE
    -fsanitize=address$<$<NOT:$<BOOL:$<TARGET_PROPERTY:draftline_is_test>>>:,undefined>
    -fno-sanitize=null,alignment -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(draftline_own_options INTERFACE -fsanitize=address,undefined)
endif()

if(DRAFTLINE_FUZZ)  # counts the branches that an input takes; tests/fuzz links libFuzzer itself
  target_compile_options(draftline_own_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(draftline_own_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(DRAFTLINE_TIDY)
  find_program(CLANG_TIDY NAMES clang-tidy REQUIRED)
  list(JOIN draftline_rooms "|" ours)
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY} --quiet "--header-filter=/(${ours})/")
endif()
