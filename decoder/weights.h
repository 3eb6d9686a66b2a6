// SPDX-License-Identifier: Apache-2.0
// Names and shapes of a network's weights, and their values for backends that compute. A matrix is [in, out],
// row-major:
// x [rows, in] x w [in, out]. Names are ours ("layers.3.qkv"); a source maps them to its own.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/int_indexed.h"
#include "model/transformers/precision.h"

namespace draftline {

// The scalars of ops are in single precision.
constexpr float single(double v) { return static_cast<float>(v); }
// A size that accounting has as a double.
constexpr std::size_t whole(Bytes b) { return static_cast<std::size_t>(b.value); }

struct Weight {  // a handle that owns nothing
  int id = -1, in = 0, out = 0;
  DType dtype = DType::fp32;
  const LinearFormat* format = nullptr;  // of a matrix; owned by the store
  double elements() const { return 1.0 * in * out; }
  // Bits of scales per weight, for `count` matrices below each other.
  double scale_bits(int count = 1) const;
  Scaling scaling() const { return format == nullptr ? Scaling::rows : format->scaling(); }
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
  // The terms of the sum if the values are sums of normal numbers, so that a device can generate them. Empty: they must
  // be loaded.
  virtual std::vector<NormalTerm> formula(const std::string&, int /*in*/, int /*out*/) { return {}; }
};

// All requested weights, each in the format of its class (model/transformers/precision): the target's first, then a
// drafter's.
class WeightStore {
 public:
  explicit WeightStore(Precision p) : precision_(std::make_shared<const Precision>(std::move(p))) {}
  explicit WeightStore(DType all) : WeightStore(Precision(all)) {}
  void drafter_follows() { drafts_ = true; }  // weights requested from now on are a drafter's
  // Drafting layers in a target's checkpoint have the target's formats, unless a drafter's format was given.
  void native_layers(bool follow) { native_ = follow && !precision_->draft_given; }

  Weight attention(const std::string& name, int in, int out) { return matrix(name, in, out, precision_->attention); }
  Weight matrix(const std::string& name, int in, int out) { return matrix(name, in, out, precision_->mlp); }
  // `count` matrices [in, out], one below the other
  Weight experts(const std::string& name, int count, int in, int out) {
    return matrix(name, in, out, precision_->experts, count);
  }
  // A tied LM head shares the embedding's bytes, unless it has another format.
  Weight lm_head(const std::string& name, int in, int out, bool tied = false);
  Weight embedding(const std::string& name, int in, int out) {
    const bool fresh = !by_name_.contains(name);
    const Weight w = get(name, in, out, drafts_ ? precision_->activations : precision_->embedding, true);
    if (fresh && !drafts_) bytes_ += precision_->embedding_scales.of(out, in);
    return w;
  }
  Weight table(const std::string& name, int in, int out) { return get(name, in, out, precision_->activations, true); }
  Weight vector(const std::string& name, int n) { return get(name, 1, n, precision_->activations, true); }

  const std::vector<std::string>& names() const { return names_; }  // in the order of requests
  const std::map<std::string, Weight>& by_name() const { return by_name_; }
  const std::string& name(Weight w) const { return names_[at(w.id)]; }
  Bytes bytes() const { return bytes_; }  // resident bytes, with scales
  const Precision& precision() const { return *precision_; }

 private:
  Weight matrix(const std::string& name, int in, int out, const LinearFormat& target, int count = 1);
  Weight get(const std::string& name, int in, int out, DType, bool resident);
  std::shared_ptr<const Precision> precision_;
  bool drafts_ = false, native_ = false;
  std::vector<std::string> names_;
  std::map<std::string, Weight> by_name_;
  Bytes bytes_;
};

}  // namespace draftline
