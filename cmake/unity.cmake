# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_UNITY compiles up to 24 sources of a library, or of a test program (tests/CMakeLists.txt), as one. A build from
# scratch then takes a third of the time, but an edit of one source also compiles its neighbours: turn it off for repeated
# small edits. File-level names (`static`, or in an unnamed namespace) must differ within a library. Preset tidy builds
# without it and finds sources that lack an #include.
option(DRAFTLINE_UNITY "compile several sources as one" ON)
set(draftline_unity_batch 24)
if(DRAFTLINE_UNITY)
  foreach(room IN ITEMS core model decoder methods trace inputs predict sim probes measure papers reports api gate cli)
    set_target_properties(draftline_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${draftline_unity_batch})
  endforeach()
  # These need measure/decode_device, which most programs that link draftline_measure do not have.
  set(sources_that_use_a_gpu cuda_decoding.cpp validation_device.cpp)
  list(TRANSFORM sources_that_use_a_gpu PREPEND ${PROJECT_SOURCE_DIR}/measure/)
  set_source_files_properties(${sources_that_use_a_gpu} TARGET_DIRECTORY draftline_measure
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # warns of unnamed namespaces in included files, which are sources here
    foreach(room IN ITEMS measure reports)
      target_compile_options(draftline_${room} PRIVATE -Wno-subobject-linkage)
    endforeach()
  endif()
endif()
