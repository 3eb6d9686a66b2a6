// SPDX-License-Identifier: Apache-2.0
#include "python/binding/limited_api.h"

#include <limits>

namespace draftline::python {

namespace {

void succeed(bool did) {
  if (!did) throw PythonError();
}

std::string content(const Object& bytes) {
  char* text = nullptr;
  Py_ssize_t length = 0;
  succeed(PyBytes_AsStringAndSize(bytes.get(), &text, &length) == 0);
  return {text, static_cast<std::size_t>(length)};
}

// For what a Python integer is too small or too large.
[[noreturn]] void raise_range(const char* name, const std::string& least, const std::string& most) {
  if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw PythonError();
  raise(PyExc_ValueError, std::string(name) + ": must be from " + least + " to " + most);
}

}  // namespace

void raise(PyObject* type, const std::string& message) {
  PyErr_SetObject(type, made(message).get());
  throw PythonError();
}

Object attribute(PyObject* of, const char* name) { return Object(PyObject_GetAttrString(of, name)); }

void read(PyObject* given, const char*, bool& value) {
  const int is_true = PyObject_IsTrue(given);
  succeed(is_true >= 0);
  value = is_true != 0;
}

void read(PyObject* given, const char* name, int& value) {
  constexpr int most = std::numeric_limits<int>::max();
  const long number = PyLong_AsLong(given);
  if (PyErr_Occurred() == nullptr && (number < -most || number > most)) PyErr_SetNone(PyExc_OverflowError);
  if (PyErr_Occurred() != nullptr) raise_range(name, std::to_string(-most), std::to_string(most));
  value = static_cast<int>(number);
}

void read(PyObject* given, const char* name, std::uint64_t& value) {
  value = PyLong_AsUnsignedLongLong(given);
  if (PyErr_Occurred() != nullptr) raise_range(name, "0", std::to_string(std::numeric_limits<std::uint64_t>::max()));
}

void read(PyObject* given, const char*, double& value) {
  value = PyFloat_AsDouble(given);
  succeed(PyErr_Occurred() == nullptr);
}

void read(PyObject* given, const char* name, std::string& value) {
  if (PyUnicode_Check(given) == 0) raise(PyExc_TypeError, std::string(name) + ": must be a str");
  value = content(Object(PyUnicode_AsUTF8String(given)));
}

void read(PyObject* given, const char* name, std::vector<std::string>& value) {
  const Py_ssize_t size = PySequence_Size(given);
  succeed(size >= 0);
  value.resize(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    read(Object(PySequence_GetItem(given, i)).get(), name, value[static_cast<std::size_t>(i)]);
  }
}

void read(PyObject* given, const char*, std::filesystem::path& value) {
  PyObject* bytes = nullptr;
  succeed(PyUnicode_FSConverter(given, &bytes) != 0);
  value = content(Object(bytes));
}

Object made(const std::string& text) {
  return Object(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict"));
}

Object made(const std::vector<std::string>& texts) {
  Object list(PyList_New(0));
  for (const std::string& one : texts) succeed(PyList_Append(list.get(), made(one).get()) == 0);
  return list;
}

}  // namespace draftline::python
