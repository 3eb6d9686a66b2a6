// SPDX-License-Identifier: Apache-2.0
// Random weights: a value depends only on the seed, the weight's name and its index, not on the order of loading.
// Matrices are normal with variance 1 / inputs, norms are near 1, embeddings have variance 1.
#pragma once
#include <cstdint>
#include <functional>

#include "decoder/weights.h"

namespace draftline {

class RandomWeights : public WeightSource {
 public:
  // Multiplies the standard deviation of a weight: layers with small weights change little, so that a drafter that
  // skips them often agrees with its target.
  using Scale = std::function<double(const std::string& name)>;
  explicit RandomWeights(std::uint64_t seed, Scale scale = {}) : seed_(seed), scale_(std::move(scale)) {}
  void load(const std::string& name, int in, int out, std::span<float> to) override;
  std::vector<NormalTerm> formula(const std::string& name, int in, int out) override;

 private:
  NormalTerm term(const std::string& name, int in) const;
  std::uint64_t seed_;
  Scale scale_;
};

// The weights of `base` with noise added: a draft network that sometimes agrees with its target. Weights whose names
// start with `prefix` are those of `base` without it; others are passed through unchanged.
class PerturbedWeights : public WeightSource {
 public:
  // `relative_noise`: standard deviation of the noise, relative to that of random weights; at 0 the draft is its
  // target.
  PerturbedWeights(WeightSource& base, std::string prefix, double relative_noise, std::uint64_t seed)
      : base_(base), prefix_(std::move(prefix)), noise_(relative_noise), random_(seed) {}
  void load(const std::string& name, int in, int out, std::span<float> to) override;
  std::vector<NormalTerm> formula(const std::string& name, int in, int out) override;

 private:
  WeightSource& base_;
  std::string prefix_;
  double noise_;
  RandomWeights random_;
};

}  // namespace draftline
