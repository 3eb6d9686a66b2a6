# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_UNITY compiles several sources of a library, or of a test program (tests/CMakeLists.txt), as one, which takes
# half the time from scratch. So names at a source's own level, `static` or in an unnamed namespace, differ within it. A
# build without it, as preset tidy's, sees a source that forgets an #include.
option(DRAFTLINE_UNITY "compile several sources as one" OFF)
if(DRAFTLINE_UNITY)
  foreach(room IN ITEMS core model decoder methods trace inputs predict sim probes measure papers reports gate cli)
    set_target_properties(draftline_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endforeach()
  # Whoever links one of these needs what reaches for a GPU (measure/decode_device), which most programs leave out.
  set(reach_for_a_gpu cuda_decoding.cpp validation_device.cpp)
  list(TRANSFORM reach_for_a_gpu PREPEND ${PROJECT_SOURCE_DIR}/measure/)
  set_source_files_properties(${reach_for_a_gpu} TARGET_DIRECTORY draftline_measure
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # which takes a source that another includes for a header, where this would matter
    foreach(room IN ITEMS measure reports)
      target_compile_options(draftline_${room} PRIVATE -Wno-subobject-linkage)
    endforeach()
  endif()
endif()
