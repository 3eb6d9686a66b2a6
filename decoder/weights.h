// SPDX-License-Identifier: Apache-2.0
// Names, shapes and, where something is computed, values of a network's weights. A matrix is [in, out], row-major:
// x [rows, in] x w [in, out]. Names are ours ("layers.3.qkv"); a source maps them to its own.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/dtype.h"

namespace draftline {

struct Weight {  // a handle that owns nothing
  int id = -1, in = 0, out = 0;
  DType dtype = DType::fp32;
};

// A formula for random weights: value i is scale * (fp32(mean + spread * z_i) - minus), z_i being the i-th standard
// normal number of a stream of core/rng.
struct NormalTerm {
  std::uint64_t seed = 0, stream = 0;
  double mean = 0, spread = 1;
  float scale = 1, minus = 0;
};

// A source of values: random numbers, or a checkpoint in a Hugging Face folder.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Fills `to` (in * out values). Throws InputErrors if the source has no such weight or another shape.
  virtual void load(const std::string& name, int in, int out, std::span<float> to) = 0;
  // If the values are sums of normal numbers, the terms of the sum, so that a device can generate them itself. Empty:
  // they must be loaded.
  virtual std::vector<NormalTerm> formula(const std::string&, int /*in*/, int /*out*/) { return {}; }
};

// All weights that networks have asked for. Quantisation applies to the matrices of layers; embeddings, LM heads and
// vectors keep the format of activations, as quantisation tools leave them.
class WeightStore {
 public:
  WeightStore(DType matrices, DType rest) : matrices_(matrices), rest_(rest) {}
  explicit WeightStore(DType all) : WeightStore(all, all) {}

  Weight matrix(const std::string& name, int in, int out) { return get(name, in, out, matrices_, true); }
  Weight table(const std::string& name, int in, int out, bool resident = true) {
    return get(name, in, out, rest_, resident);
  }
  Weight vector(const std::string& name, int n) { return get(name, 1, n, rest_, true); }

  const std::string& name(Weight w) const { return names_[static_cast<std::size_t>(w.id)]; }
  Bytes bytes() const { return bytes_; }  // resident bytes; a tied LM head shares those of the embedding

 private:
  Weight get(const std::string& name, int in, int out, DType, bool resident);
  DType matrices_, rest_;
  std::vector<std::string> names_;
  std::map<std::string, Weight> by_name_;
  Bytes bytes_;
};

}  // namespace draftline
