// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/runtime/library.h"

#include <dlfcn.h>

namespace draftline::cuda {

// The library is never unloaded: the driver has registered its kernels, and loading hundreds of megabytes again is
// slow.
Library::Library(const std::vector<std::string>& names) {
  for (const std::string& n : names)
    if (handle_ = dlopen(n.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); handle_ != nullptr) return;
}
Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}
void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

}  // namespace draftline::cuda
