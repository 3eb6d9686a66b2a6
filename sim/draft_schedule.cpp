// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace draftline {

// The mean tokens of a step, or the most that it can emit where the mean depends on the context.
static double tokens_of_step(Recordings& recordings, const Setup& s, const MethodChoice& m, int drafts) {
  if (m.acceptance.by_context()) return drafts + 1;
  const auto mean = m.acceptance.mean_length({m.spec, recordings.method(s, m), drafts + 1});
  const auto* tokens = std::get_if<double>(&mean);
  return tokens != nullptr ? *tokens : drafts + 1;
}

DraftSchedule::DraftSchedule(Pricer& pricer, const Setup& s, const MethodChoice& m) : pricer_(pricer), setup_(s) {
  Recordings& recordings = pricer.recordings();
  const auto depth = recordings.chain_length(s, m);
  if (!depth) return;
  const Acceptance acceptance = m.acceptance.of_other_lengths(*depth);
  const int known = m.acceptance.longest_chain().value_or(*depth),
            longest = std::min(known, recordings.method(s, m).longest_chain().value_or(known));
  for (int k = 1; k <= longest; ++k) {
    const auto spec = m.spec.with_draft_length(k, *s.transformer);
    if (!spec) break;
    choices_.push_back({*spec, acceptance, m.drafter_device});
  }
  if (!choices_.empty()) most_tokens_ = tokens_of_step(recordings, s, choices_.back(), count(choices_));
}

Predictor& DraftSchedule::length(std::size_t index) {
  while (lengths_.size() <= index)
    lengths_.emplace_back(pricer_, setup_, choices_[lengths_.size()], Predictor::Intervals::left_out);
  return lengths_[index];
}

std::vector<double> DraftSchedule::speedups(int prompt_tokens, int batch_size) {
  std::vector<double> all(choices_.size() + 1);
  double best = all[0] = 1;
  for (std::size_t k = 1; k < all.size(); ++k) {
    const auto outcome = length(k - 1).at(batch_size, prompt_tokens, setup_.output_tokens);
    const auto* p = std::get_if<Prediction>(&outcome);
    if (p == nullptr) continue;
    all[k] = p->speedup_with_prefill;
    best = std::max(best, all[k]);
    const double bound = all[k] * std::max(1.0, most_tokens_ / p->acceptance_length);  // of all longer chains
    if (bound < (1 - kNear) * best) break;
  }
  return all;
}

std::optional<BestLength> DraftSchedule::best(int prompt_tokens, int batch_size) {
  const std::vector<double> all = speedups(prompt_tokens, batch_size);
  if (std::all_of(all.begin() + 1, all.end(), [](double x) { return x == 0; })) return std::nullopt;
  const auto highest = std::ranges::max_element(all);
  return BestLength{prompt_tokens, batch_size, to_int(highest - all.begin()), *highest};
}

using Seen = std::vector<std::pair<int, std::vector<double>>>;

// A length that is kept to where it loses 3 % is switched off where it begins to lose, if plain decoding stays near the
// best from there on.
static void switch_off_where_it_loses(std::vector<ScheduledLength>& all, const Seen& seen) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].draft_length != 0) continue;
    double lost = 0, most = 0;
    const auto before = at(all[i - 1].draft_length);
    const int from = all[i].from_batch;
    for (auto at = seen.rbegin(); at != seen.rend() && at->first > all[i - 1].from_batch; ++at) {
      if (at->first >= from) continue;
      if (at->second.front() < 0) break;  // a length gains more than what is near
      lost -= at->second[before];
      if (lost > most) most = lost, all[i].from_batch = at->first;
    }
  }
}

// A length is kept as long as it is near the best at each batch, which gives the fewest changes. Where no length is
// near the best up to the next batch, bisection finds the batch at which the last one ends.
std::vector<ScheduledLength> DraftSchedule::by_batch(int prompt_tokens, int largest) {
  constexpr double kNo = -std::numeric_limits<double>::infinity();
  std::vector<ScheduledLength> all;
  std::vector<double> gain;  // of the last stretch by draft length, sums of logarithms; kNo: not always near the best
  Seen seen;                 // batches that were looked at
  const auto near_best = [&](int batch) {  // logarithms of the speedups at a batch; kNo: not near the best
    std::vector<double> here = speedups(prompt_tokens, batch);
    const double best = *std::ranges::max_element(here);
    for (double& x : here) x = x < (1 - kNear) * best ? kNo : std::log(x);
    return here;
  };
  for (int last = 0; last < largest;) {
    int batch = std::min(last < 64 ? last + 1 : last + last / 32, largest);
    std::vector<double> here = near_best(batch);
    gain.resize(here.size(), kNo);
    std::vector<double> longer(here.size());
    std::transform(gain.begin(), gain.end(), here.begin(), longer.begin(), std::plus());
    if (*std::ranges::max_element(longer) == kNo) {
      while (batch - last > 1) {
        const int middle = last + (batch - last) / 2;
        std::vector<double> there = near_best(middle);
        if (there[at(all.back().draft_length)] == kNo) batch = middle, here = std::move(there);
        else last = middle;
      }
      longer = here;
      if (*std::max_element(here.begin() + 1, here.end()) > 0)
        longer.front() = kNo;  // switched off where nothing gains
      all.push_back({prompt_tokens, batch, batch, 0});
    }
    gain = std::move(longer);
    all.back().draft_length = to_int(std::ranges::max_element(gain) - gain.begin());
    seen.emplace_back(batch, std::move(here));
    last = batch;
  }
  switch_off_where_it_loses(all, seen);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].to_batch = i + 1 < all.size() ? all[i + 1].from_batch - 1 : largest;
  return all;
}

}  // namespace draftline
