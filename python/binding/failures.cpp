// SPDX-License-Identifier: Apache-2.0
#include "python/binding/failures.h"

#include <new>

#include "core/errors.h"
#include "core/printable.h"

namespace draftline::python {

namespace {

// An exception of python/draftline/_errors.py.
void set_error(const char* name, const Object& argument) {
  const Object module(PyImport_ImportModule("draftline._errors"));
  const Object type = attribute(module.get(), name);
  const Object error(PyObject_CallFunctionObjArgs(type.get(), argument.get(), nullptr));
  PyErr_SetObject(type.get(), error.get());
}

void leave_ours_to_python() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const InputErrors& e) {
    std::vector<std::string> messages;
    for (const std::string& message : e.messages()) messages.push_back(on_a_line(message));
    set_error("InputError", made(messages));
  } catch (const DeviceError& e) { set_error("DeviceError", made(on_a_line(e.what()))); } catch (const OutputError& e) {
    set_error("OutputError", made(on_a_line(e.what())));
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& e) {
    set_error("Bug", made(on_a_line(e.what())));
  }
}

}  // namespace

std::string on_a_line(const std::string& message) { return printable(message, message.npos); }

void leave_to_python() {
  try {
    leave_ours_to_python();
  } catch (...) {  // Python holds why the exception could not be made
  }
}

}  // namespace draftline::python
