// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/shared_library.h"

#include <dlfcn.h>

namespace draftline {

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
  for (const std::string& n : names)
    if (handle_ = dlopen(n.c_str(), RTLD_NOW | RTLD_LOCAL); handle_ != nullptr) return;
}
SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}
void* SharedLibrary::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

}  // namespace draftline
