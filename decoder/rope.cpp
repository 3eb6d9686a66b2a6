// SPDX-License-Identifier: Apache-2.0
#include "decoder/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace draftline {

Rope rope_of(const TransformerShape& s) {
  const int rotated = s.latent ? s.latent->rope_dim : static_cast<int>(s.head_dim * s.rotary_share) / 2 * 2;
  return {s.rope_theta, rotated, s.rope_scaling};
}

// How much of a pair's wave is stretched: those between two pairs, which turn beta_fast and beta_slow times within the
// original context, rise along a line.
static double yarn_share(const Rope& rope, int pair) {
  const RopeScaling& s = *rope.scaling;
  const auto pair_with = [&](double turns) {
    return rope.columns * std::log(s.original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  const double first = std::max(std::floor(pair_with(s.beta_fast)), 0.0);
  const double last = std::min(std::ceil(pair_with(s.beta_slow)), rope.columns - 1.0);
  return std::clamp((pair - first) / std::max(last - first, 0.001), 0.0, 1.0);
}

std::vector<float> rope_frequencies(const Rope& rope) {
  std::vector<float> f;
  for (int i = 0; i < rope.columns; i += 2) {
    double w = std::pow(rope.theta, -static_cast<double>(i) / rope.columns);
    if (const auto& s = rope.scaling) {
      if (s->kind == RopeScaling::Kind::linear) {
        w /= s->factor;
      } else if (s->kind == RopeScaling::Kind::yarn) {
        const double stretched = yarn_share(rope, i / 2);
        w = stretched * w / s->factor + (1 - stretched) * w;
      } else {  // llama3: long waves are stretched, short ones kept, those between blended
        const double wave = 2 * std::numbers::pi / w, turns = s->original_context / wave;
        const double blend = std::clamp(
            (turns - s->low_frequency_factor) / (s->high_frequency_factor - s->low_frequency_factor), 0.0, 1.0);
        w = (1 - blend) * w / s->factor + blend * w;
      }
    }
    f.push_back(static_cast<float>(w));
  }
  return f;
}

}  // namespace draftline
