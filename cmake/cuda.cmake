# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_CUDA: on where nvcc is found, but not with sanitizers; nothing needs it.
include(CheckLanguage)
if(NOT DEFINED DRAFTLINE_CUDA)
  set(found OFF)
  if(NOT DRAFTLINE_SANITIZE)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      set(found ON)
    endif()
  endif()
  option(DRAFTLINE_CUDA "the decoder on CUDA: needs nvcc 12.8 or newer" ${found})
endif()
if(NOT DRAFTLINE_CUDA)
  return()
endif()

set(DRAFTLINE_CUDA_ARCHITECTURES own CACHE STRING
  "GPUs to compile kernels for: own (this machine's, 90 where it has none), all, or capabilities such as 80-real;90")
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "DRAFTLINE_CUDA is ON, but there is no nvcc. Put the CUDA toolkit's bin folder on PATH or set "
    "CUDACXX. Everything but the decoder on CUDA builds without it: configure with -DDRAFTLINE_CUDA=OFF.")
endif()
if(DRAFTLINE_CUDA_ARCHITECTURES STREQUAL all)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100)  # newer GPUs translate the PTX of the last
elseif(DRAFTLINE_CUDA_ARCHITECTURES STREQUAL own)
  find_program(NVIDIA_SMI nvidia-smi)
  mark_as_advanced(NVIDIA_SMI)
  set(listed)
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE listed ERROR_QUIET)
  endif()
  string(REGEX MATCHALL "[0-9]+[.][0-9]" capabilities "${listed}")
  list(REMOVE_DUPLICATES capabilities)
  list(TRANSFORM capabilities REPLACE "[.](.)" "\\1-real" OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
  list(FILTER CMAKE_CUDA_ARCHITECTURES EXCLUDE REGEX "^[1-7]?[0-9]-")  # the decoder needs 80
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
else()
  set(CMAKE_CUDA_ARCHITECTURES ${DRAFTLINE_CUDA_ARCHITECTURES})
endif()
message(STATUS "CUDA kernels for ${CMAKE_CUDA_ARCHITECTURES}; "
  "-DDRAFTLINE_CUDA_ARCHITECTURES=all compiles for every GPU that can run them")
enable_language(CUDA)
find_package(CUDAToolkit 12.8 REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 has no C++20 option for nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
