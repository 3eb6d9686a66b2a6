// SPDX-License-Identifier: Apache-2.0
// Functions that Python calls: exceptions of C++ become those of python/draftline/_errors.py.
#pragma once
#include "python/binding/limited_api.h"

namespace draftline::python {

std::string on_a_line(const std::string& message);

// Within a handler: leaves the exception to Python.
void leave_to_python();

// What `function`, which returns an Object, returns to Python.
template <class Function>
PyObject* returned(Function function) {
  try {
    return function().release();
  } catch (...) {
    leave_to_python();
    return nullptr;
  }
}

}  // namespace draftline::python
