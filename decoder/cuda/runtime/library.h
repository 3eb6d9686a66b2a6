// SPDX-License-Identifier: Apache-2.0
// A shared library that is opened by name when it is first needed, so that the program starts without it. Its functions
// are found by name. The emulator of the tests links its own library instead.
#pragma once
#include <string>
#include <vector>

namespace draftline::cuda {

class Library {
 public:
  explicit Library(const std::vector<std::string>& names);  // opens the first of these that exists
  Library(const Library&) = delete;
  ~Library();
  bool here() const { return handle_ != nullptr; }
  // Finds a function. Returns false, and sets `f` to null, if the library has none of this name.
  template <class Function>
  bool find(const char* name, Function*& f) const {
    f = reinterpret_cast<Function*>(symbol(name));
    return f != nullptr;
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace draftline::cuda
