// SPDX-License-Identifier: Apache-2.0
// A library that is used where it is and done without where it isn't: opened by name, its functions found by theirs. The
// emulator of the tests links another one in its place.
#pragma once
#include <string>
#include <vector>

namespace draftline {

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::vector<std::string>& names);  // the first that there is
  SharedLibrary(const SharedLibrary&) = delete;
  ~SharedLibrary();
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

}  // namespace draftline
