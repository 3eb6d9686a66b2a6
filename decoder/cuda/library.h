// SPDX-License-Identifier: Apache-2.0
// A shared library that is opened when it is first needed, so that the program starts without it.
#pragma once
#include <string>
#include <vector>

namespace draftline::cuda {

class Library {
 public:
  // The first of `names` that there is. Throws DeviceError.
  explicit Library(const std::vector<std::string>& names);
  Library(const Library&) = delete;
  ~Library();
  template <class Function>
  void find(const char* name, Function*& f) const {
    f = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;  // throws DeviceError if it has none
  void* handle_ = nullptr;
};

}  // namespace draftline::cuda
