# SPDX-License-Identifier: Apache-2.0
# `cpack --config BUILD/CPackConfig.cmake` makes the Debian packages draftline and draftline-dev of what was built
# (tools/package). dpkg-shlibdeps finds the packages of the libraries that the program is linked to.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the draftline authors")
set(CPACK_PACKAGE_CONTACT "the draftline authors <draftline@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts the gain of speculative decoding")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME draftline)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME draftline-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "draftline (= ${PROJECT_VERSION}), libeigen3-dev, libboost-dev, nlohmann-json3-dev, libtbb-dev, zlib1g-dev, librandom123-dev")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Throughput, latency and memory of speculative decoding, for every method,\nGPU and batch size, from calibrated rooflines; without GPU or weights.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The library of draftline with its headers, for find_package(draftline).")
include(CPack)
