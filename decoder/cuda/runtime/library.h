// SPDX-License-Identifier: Apache-2.0
// A library that is opened when it is first needed, by name, and its functions found by theirs: the program starts without it.
// The emulator of the tests links another one instead.
#pragma once
#include <string>
#include <vector>

namespace draftline::cuda {

class Library {
 public:
  explicit Library(const std::vector<std::string>& names);  // the first that there is
  Library(const Library&) = delete;
  ~Library();
  bool here() const { return handle_ != nullptr; }
  // False, and `f` null: there is no such function.
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
