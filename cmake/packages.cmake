# SPDX-License-Identifier: Apache-2.0
# Third-party libraries, all from Debian 12 (tools/packages.txt); newer versions also work.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # CMake 3.30: Boost is found by its own configuration
endif()
find_package(Boost 1.74 REQUIRED)  # headers only
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(MPI QUIET COMPONENTS CXX)  # optional: a sweep on several machines
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
