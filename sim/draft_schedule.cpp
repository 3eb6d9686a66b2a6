// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace draftline {

DraftSchedule::DraftSchedule(Predictor& predictor, const Setup& s, const MethodChoice& m)
    : predictor_(predictor), setup_(s) {
  const Method& method = predictor.method(s, m);
  const int depth = method.usual_depth();
  if (m.spec.draft_length() != depth || predictor.verified_rows(s, m) != depth + 1) return;  // no chain
  const Acceptance acceptance = m.acceptance.of_other_lengths(depth);
  const int known = m.acceptance.longest_chain().value_or(depth),
            longest = std::min(known, method.longest_chain().value_or(known));
  for (int k = 1; k <= longest; ++k) {
    const auto spec = m.spec.with_draft_length(k, *s.transformer);
    if (!spec) break;
    lengths_.push_back({*spec, acceptance, m.drafter_device});
  }
}

std::vector<double> DraftSchedule::speedups(int prompt_tokens, int batch_size) {
  Setup s = setup_;
  s.prompt_tokens = prompt_tokens;
  s.batch_size = batch_size;
  std::vector<double> all{1};
  for (const MethodChoice& one : lengths_) {
    const auto outcome = predictor_.predict(s, one);
    const auto* p = std::get_if<Prediction>(&outcome);
    all.push_back(p != nullptr ? p->speedup_with_prefill : 0);
  }
  return all;
}

std::optional<BestLength> DraftSchedule::best(int prompt_tokens, int batch_size) {
  const std::vector<double> all = speedups(prompt_tokens, batch_size);
  if (std::all_of(all.begin() + 1, all.end(), [](double x) { return x == 0; })) return std::nullopt;
  const auto highest = std::max_element(all.begin(), all.end());
  return BestLength{prompt_tokens, batch_size, static_cast<int>(highest - all.begin()), *highest};
}

// A length is kept as long as it is near the best at each batch, which gives the fewest changes. Where no length is
// near the best up to the next batch, bisection finds the batch at which the last one ends.
std::vector<ScheduledLength> DraftSchedule::by_batch(int prompt_tokens, int largest) {
  constexpr double kNo = -std::numeric_limits<double>::infinity();
  std::vector<ScheduledLength> all;
  std::vector<double> gain;  // of the last stretch by draft length, sums of logarithms; kNo: not always near the best
  const auto near_best = [&](int batch) {  // logarithms of the speedups at a batch; kNo: not near the best
    std::vector<double> here = speedups(prompt_tokens, batch);
    const double best = *std::max_element(here.begin() + 1, here.end());
    for (double& x : here) x = x < std::max(1.0, (1 - kNear) * best) ? kNo : std::log(x);
    if (best > 1) here.front() = kNo;
    return here;
  };
  for (int last = 0; last < largest;) {
    int batch = std::min(last < 64 ? last + 1 : last + last / 32, largest);
    std::vector<double> here = near_best(batch);
    gain.resize(here.size(), kNo);
    std::vector<double> longer(here.size());
    std::transform(gain.begin(), gain.end(), here.begin(), longer.begin(), std::plus());
    if (*std::max_element(longer.begin(), longer.end()) == kNo) {
      while (batch - last > 1) {
        const int middle = last + (batch - last) / 2;
        std::vector<double> there = near_best(middle);
        if (there[static_cast<std::size_t>(all.back().draft_length)] == kNo) batch = middle, here = std::move(there);
        else last = middle;
      }
      longer = here;
      all.push_back({prompt_tokens, batch, batch, 0});
    }
    gain = std::move(longer);
    all.back().draft_length = static_cast<int>(std::max_element(gain.begin(), gain.end()) - gain.begin());
    last = batch;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].to_batch = i + 1 < all.size() ? all[i + 1].from_batch - 1 : largest;
  return all;
}

}  // namespace draftline
