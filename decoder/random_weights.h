// SPDX-License-Identifier: Apache-2.0
// Weights from a seed: a value depends on the seed, the weight's name and its place alone, not on the order of loading.
// Matrices are normal with variance 1 / inputs, norms near 1, embeddings of unit size.
#pragma once
#include <cstdint>
#include <functional>

#include "decoder/weights.h"

namespace draftline {

class RandomWeights : public WeightSource {
 public:
  using Scale =
      std::function<double(const std::string& name)>;  // multiplies a weight's size: weak layers agree when skipped
  explicit RandomWeights(std::uint64_t seed, Scale scale = {}) : seed_(seed), scale_(std::move(scale)) {}
  void load(const std::string& name, int in, int out, std::span<float> to) override;
  std::vector<NormalTerm> formula(const std::string& name, int in, int out) override;

 private:
  NormalTerm term(const std::string& name, int in) const;
  std::uint64_t seed_;
  Scale scale_;
};

// A source with noise on top: the draft that sometimes agrees with its target. Names lose `prefix` on the way to `base`.
class PerturbedWeights : public WeightSource {
 public:
  // relative_noise 0: the target itself.
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
