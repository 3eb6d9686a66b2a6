// SPDX-License-Identifier: Apache-2.0
#include "decoder/weights.h"

#include "core/errors.h"
#include "model/work.h"

namespace draftline {

Weight WeightStore::get(const std::string& name, int in, int out, DType dtype, bool resident) {
  auto [it, fresh] = by_name_.try_emplace(name, Weight{static_cast<int>(names_.size()), in, out, dtype});
  if (fresh) {
    names_.push_back(name);
    if (resident) bytes_ += weight_bytes(dtype, static_cast<double>(in) * out);
  }
  check(it->second.in == in && it->second.out == out, "one weight, two shapes: " + name);
  return it->second;
}

}  // namespace draftline
