// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_confidence.h"

#include <array>
#include <boost/math/distributions/beta.hpp>

#include "core/rng.h"

namespace draftline {

static constexpr int kQuantiles = 256;  // steps of a distribution

static std::vector<float> quantiles(double a, double b) {
  const boost::math::beta_distribution<> beta(a, b);
  std::vector<float> values;
  for (int i = 0; i < kQuantiles; ++i)
    values.push_back(static_cast<float>(boost::math::quantile(beta, (i + 0.5) / kQuantiles)));
  return values;
}

DraftConfidence::DraftConfidence(std::span<const double> conditional_rates, double concentration) {
  for (const double rate : conditional_rates) {
    if (rate <= 0 || rate >= 1) {  // nothing to guess
      const std::vector<float> sure(kQuantiles, static_cast<float>(rate));
      positions_.push_back({sure, sure, sure});
      continue;
    }
    const double a = concentration * rate, b = concentration * (1 - rate);
    positions_.push_back({quantiles(a + 1, b), quantiles(a, b + 1), quantiles(a, b)});
  }
}

void DraftConfidence::survival(const DraftOutcomes::Text& text, int position, int accepted,
                               std::vector<double>& to) const {
  double all = 1;
  std::array<std::uint32_t, 4> random{};
  for (int j = 0; j < drafts(); ++j) {
    const auto block = low_word(j / 4);
    if (j % 4 == 0)  // block 0 draws the outcome
      random = philox4x32_10({low_word(position), 1 + block, 0, 0}, {text.key[0], text.key[1]});
    const Position& p = positions_[at(j)];
    const auto& of = j < accepted ? p.accepted : j == accepted ? p.rejected : p.unknown;
    all *= of[random[at(j % 4)] % kQuantiles];
    to.push_back(all);
  }
}

}  // namespace draftline
