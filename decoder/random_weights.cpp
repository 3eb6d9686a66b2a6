// SPDX-License-Identifier: Apache-2.0
#include "decoder/random_weights.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"

namespace draftline {

static bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view e) { return name.ends_with(e); });
}

void RandomWeights::load(const std::string& name, int in, int out, std::span<float> to) {
  Rng rng(seed_, name);
  if (name.ends_with("id_offsets")) {  // identity: a reduced vocabulary is the first ids
    std::fill(to.begin(), to.end(), 0.0F);
    return;
  }
  const NormalTerm t = term(name, in);
  for (float& v : to) v = single(t.mean + t.spread * rng.normal());
  static_cast<void>(out);
}

NormalTerm RandomWeights::term(const std::string& name, int in) const {
  const double size = scale_ ? scale_(name) : 1.0;
  const bool norm = name.ends_with("norm"), bias = ends_with_any(name, {"bias", ".b"});
  const double spread = name.ends_with("embedding") ? 1 : norm || bias ? 0.1 : 1 / std::sqrt(1.0 * in);
  return {seed_, Rng(seed_, name).stream(), norm ? 1.0 : 0.0, spread * size};
}

std::vector<NormalTerm> RandomWeights::formula(const std::string& name, int in, int) {
  if (name.ends_with("id_offsets")) return {};
  return {term(name, in)};
}

void PerturbedWeights::load(const std::string& name, int in, int out, std::span<float> to) {
  if (!name.starts_with(prefix_)) return base_.load(name, in, out, to);
  const std::string own = name.substr(prefix_.size());
  base_.load(own, in, out, to);
  if (noise_ == 0) return;
  std::vector<float> noise(to.size());
  random_.load(name, in, out, noise);
  const float mean = own.ends_with("norm") ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += single(noise_) * (noise[i] - mean);
}

std::vector<NormalTerm> PerturbedWeights::formula(const std::string& name, int in, int out) {
  if (!name.starts_with(prefix_)) return base_.formula(name, in, out);
  const std::string own = name.substr(prefix_.size());
  auto terms = base_.formula(own, in, out);
  if (terms.empty() || noise_ == 0) return terms;
  for (NormalTerm t : random_.formula(name, in, out)) {
    t.scale = single(noise_);
    t.minus = own.ends_with("norm") ? 1.0F : 0.0F;
    terms.push_back(t);
  }
  return terms;
}

}  // namespace draftline
