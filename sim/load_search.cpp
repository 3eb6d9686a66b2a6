// SPDX-License-Identifier: Apache-2.0
#include "sim/load_search.h"

#include <algorithm>
#include <cmath>

namespace draftline {

// The load at which a line through two loads reaches the margin 1. Queues make latencies grow as 1 / (capacity - load),
// so margins fall along a line. Where the latencies themselves grow along a line, the load is a bound from below.
double LoadSearch::by_line() const {
  const Tried& other = missed_ && missed_->margin ? *missed_ : before_;
  const double unknown = missed_ ? std::sqrt(served_.rate * missed_->rate) : far_ * served_.rate;
  if (!served_.margin || !other.margin) return unknown;
  const double slope = (*other.margin - *served_.margin) / (other.rate - served_.rate);
  return slope < 0 ? served_.rate + (1 - *served_.margin) / slope : unknown;
}

double LoadSearch::next() const {
  const double low = kPrecise * served_.rate, high = missed_ ? missed_->rate / kPrecise : far_ * served_.rate;
  if (missed_ && (low >= high || same_side_ > 1)) return std::sqrt(served_.rate * missed_->rate);
  // Beyond what is expected after a load that was served, and short of it after one that was not, so that both bounds
  // close in.
  const double aside = std::sqrt(kPrecise);
  return std::clamp(last_served_ ? by_line() * aside : by_line() / aside, std::min(low, high), std::max(low, high));
}

void LoadSearch::record(Tried tried, bool serves) {
  same_side_ = serves == last_served_ ? same_side_ + 1 : 0;
  last_served_ = serves;
  if (!serves) {
    missed_ = tried;
    return;
  }
  before_ = served_;
  served_ = tried;
  far_ = std::max(far_, 2.0);
}

}  // namespace draftline
