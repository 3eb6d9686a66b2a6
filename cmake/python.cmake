# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_PYTHON: the Python package is built where Python's headers are found, but not with sanitizers, because the
# interpreter would have to load them first.
if(NOT DEFINED DRAFTLINE_PYTHON)
  set(found OFF)
  if(NOT DRAFTLINE_SANITIZE AND NOT DRAFTLINE_FUZZ)
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
    set(found ${Python_Development.Module_FOUND})
  endif()
  option(DRAFTLINE_PYTHON "the Python package: needs Python's headers" ${found})
endif()
if(DRAFTLINE_PYTHON)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
endif()
