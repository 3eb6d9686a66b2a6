# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_UNITY compiles several sources of a library as one, which takes half the time from scratch. So names at a
# source's own level, `static` or in an unnamed namespace, differ within a library. Preset dev compiles each source by
# itself, so that one that forgets an #include is seen. Not `measure`: of its sources programs link some, as those that
# reach for a GPU need what only they bring (measure/decode_device).
option(DRAFTLINE_UNITY "compile several sources of a library as one" OFF)
if(DRAFTLINE_UNITY)
  foreach(room IN ITEMS core model decoder methods trace inputs predict sim probes papers reports gate)
    set_target_properties(draftline_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # which takes a source that another includes for a header, where this would matter
    target_compile_options(draftline_reports PRIVATE -Wno-subobject-linkage)
  endif()
endif()
