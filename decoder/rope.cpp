// SPDX-License-Identifier: Apache-2.0
#include "decoder/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace draftline {

std::vector<float> rope_frequencies(const Rope& rope) {
  std::vector<float> f;
  for (int i = 0; i < rope.columns; i += 2) {
    double w = std::pow(rope.theta, -static_cast<double>(i) / rope.columns);
    if (const auto& s = rope.scaling) {
      if (s->kind == RopeScaling::Kind::linear) {
        w /= s->factor;
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
