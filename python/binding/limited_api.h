// SPDX-License-Identifier: Apache-2.0
// Python's limited C API (PEP 384): owners of references, values in both directions, and exceptions. Every Python from
// 3.9 on has this API, so one wheel serves all of them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace draftline::python {

struct PythonError {};  // thrown where Python holds the exception that is to be raised

// Owns a reference. Throws if it is made of nullptr, which the API returns after an error.
class Object {
 public:
  explicit Object(PyObject* made) : object_(made) {
    if (made == nullptr) throw PythonError();
  }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&&) = delete;
  ~Object() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

// Other threads of Python run while this lives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
  ~GilReleased() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

[[noreturn]] void raise(PyObject* type, const std::string& message);
Object attribute(PyObject* of, const char* name);

// From Python. `name` is that of the value in messages.
void read(PyObject*, const char* name, bool&);
void read(PyObject*, const char* name, int&);
void read(PyObject*, const char* name, std::uint64_t&);
void read(PyObject*, const char* name, double&);
void read(PyObject*, const char* name, std::string&);
void read(PyObject*, const char* name, std::vector<std::string>&);
void read(PyObject*, const char* name, std::filesystem::path&);  // str, bytes or os.PathLike

// To Python.
Object made(const std::string&);
Object made(const std::vector<std::string>&);

}  // namespace draftline::python
