# SPDX-License-Identifier: Apache-2.0
# Other people's libraries, all from Debian 12 (tools/packages.txt); newer versions elsewhere do as well.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # CMake 3.30: Boost is found by its own configuration
endif()
find_package(Boost 1.74 REQUIRED)  # headers only
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(MPI QUIET COMPONENTS CXX)  # optional: one sweep on several machines
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)

if(DRAFTLINE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "DRAFTLINE_CUDA is ON, but there is no nvcc. Put the CUDA toolkit's bin folder on PATH or set "
      "CUDACXX. Everything this version does also builds without: configure with -DDRAFTLINE_CUDA=OFF.")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA ${CUDAToolkit_VERSION} found; no part of this version uses it yet")
endif()
