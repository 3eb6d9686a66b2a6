// SPDX-License-Identifier: Apache-2.0
#include "decoder/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace draftline {

namespace {

// Short waves are kept, long ones stretched, those between blended: `kept` is the share of a wave that stays.
double blended(double w, double factor, double kept) { return (1 - kept) * w / factor + kept * w; }

// The pair of columns, as a fraction, whose wave turns so often in YaRN's original context.
double pair_of_turns(double turns, const Rope& rope) {
  const double context = rope.scaling->original_context;
  return rope.columns * std::log(context / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
}

double kept_by_yarn(int pair, const Rope& rope) {
  const RopeScaling& s = *rope.scaling;
  double first = pair_of_turns(s.beta_fast, rope), last = pair_of_turns(s.beta_slow, rope);
  if (s.whole_columns) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0);
  last = std::min(last, rope.columns - 1.0);
  if (first == last) last += 0.001;  // as transformers avoids a division by zero
  return 1 - std::clamp((pair - first) / (last - first), 0.0, 1.0);
}

double stretched(double w, int pair, const Rope& rope) {
  const RopeScaling& s = *rope.scaling;
  switch (s.kind) {
    case RopeScaling::Kind::linear: return w / s.factor;
    case RopeScaling::Kind::llama3: {
      const double wave = 2 * std::numbers::pi / w, turns = s.original_context / wave;
      if (s.low_frequency_factor == s.high_frequency_factor)  // Llama 4: no wave is blended
        return turns < s.low_frequency_factor ? w / s.factor : w;
      return blended(
          w, s.factor,
          std::clamp((turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor), 0.0, 1.0));
    }
    case RopeScaling::Kind::yarn: return blended(w, s.factor, kept_by_yarn(pair, rope));
    case RopeScaling::Kind::proportional: return pair < std::floor(s.turned * rope.columns / 2) ? w / s.factor : 0;
    case RopeScaling::Kind::longrope: return w / (s.long_text ? s.long_factors : s.short_factors).at(at(pair));
  }
  return w;
}

}  // namespace

std::vector<float> rope_frequencies(const Rope& rope) {
  std::vector<float> f;
  for (int i = 0; i < rope.columns; i += 2) {
    const double w = std::pow(rope.theta, -1.0 * i / rope.columns);
    f.push_back(single(rope.scaling ? stretched(w, i / 2, rope) : w));
  }
  return f;
}

float query_growth(const QueryGrowth& g, int position) {
  return single(1 + g.scale * std::log1p(std::floor((1.0 * position + g.offset) / g.every)));
}

}  // namespace draftline
