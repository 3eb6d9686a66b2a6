# SPDX-License-Identifier: Apache-2.0
# DRAFTLINE_PYTHON: the Python package is built where Python's headers and pybind11 are found, but not with sanitizers,
# because the interpreter would have to load them first.
set(PYBIND11_FINDPYTHON ON)
if(NOT DEFINED DRAFTLINE_PYTHON)
  set(found OFF)
  if(NOT DRAFTLINE_SANITIZE AND NOT DRAFTLINE_FUZZ)
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
    find_package(pybind11 2.10 QUIET CONFIG)
    if(Python_Development.Module_FOUND AND pybind11_FOUND)
      set(found ON)
    endif()
  endif()
  option(DRAFTLINE_PYTHON "the Python package: needs Python's headers and pybind11 2.10 or newer" ${found})
endif()
if(DRAFTLINE_PYTHON)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
  find_package(pybind11 2.10 REQUIRED CONFIG)
endif()
