// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/library.h"

#include <dlfcn.h>

#include "core/errors.h"

namespace draftline::cuda {

// Once loaded it stays: its kernels' code is registered with the driver, and loading hundreds of megabytes anew is slow.
Library::Library(const std::vector<std::string>& names) {
  for (const std::string& n : names)
    if (handle_ = dlopen(n.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); handle_ != nullptr) return;
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  throw DeviceError("none of " + all +
                    " can be opened: --device cuda needs NVIDIA's cuBLASLt of CUDA 13 or 12 where the "
                    "loader finds it (LD_LIBRARY_PATH, or the folder of the CUDA toolkit in ld.so.conf)");
}
Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}
void* Library::symbol(const char* name) const {
  void* f = dlsym(handle_, name);
  if (f == nullptr)
    throw DeviceError(std::string("cuBLASLt has no ") + name + ": it is another version than CUDA 12 or 13");
  return f;
}

}  // namespace draftline::cuda
