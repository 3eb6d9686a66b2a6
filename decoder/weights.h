// SPDX-License-Identifier: Apache-2.0
// Names, shapes and, where something is computed, values of a network's weights. A matrix is [in, out], row-major:
// x [rows, in] x w [in, out]. Names are ours ("layers.3.qkv"); a source maps them to its own.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/dtype.h"

namespace draftline {

struct Weight {  // a handle; owns nothing
  int id = -1, in = 0, out = 0;
  DType dtype = DType::fp32;
};

// Where values come from: random numbers, a Hugging Face folder.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Fills `to` (in * out values). Throws InputErrors if the source has no such weight or another shape.
  virtual void load(const std::string& name, int in, int out, std::span<float> to) = 0;
};

}  // namespace draftline
