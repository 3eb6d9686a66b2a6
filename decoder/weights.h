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

struct Weight {  // a handle; owns nothing
  int id = -1, in = 0, out = 0;
  DType dtype = DType::fp32;
};

// Normal numbers by place: value i is mean + spread * (draw i of a stream of core/rng), less `minus`, times
// `scale`; the value is rounded to fp32 first.
struct NormalTerm {
  std::uint64_t seed = 0, stream = 0;
  double mean = 0, spread = 1;
  float scale = 1, minus = 0;
};

// Where values come from: random numbers, a Hugging Face folder.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Fills `to` (in * out values). Throws InputErrors if the source has no such weight or another shape.
  virtual void load(const std::string& name, int in, int out, std::span<float> to) = 0;
  // Where the values are sums of normal numbers: which, so that a device can make them itself. Empty: load() them.
  virtual std::vector<NormalTerm> formula(const std::string&, int /*in*/, int /*out*/) { return {}; }
};

// The weights a network asked for. Quantisation touches the matrices of layers; embeddings, LM heads and vectors stay in
// the activations' format, as quantisers leave them.
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
  Bytes bytes() const { return bytes_; }  // resident: a tied LM head counts once

 private:
  Weight get(const std::string& name, int in, int out, DType, bool resident);
  DType matrices_, rest_;
  std::vector<std::string> names_;
  std::map<std::string, Weight> by_name_;
  Bytes bytes_;
};

}  // namespace draftline
