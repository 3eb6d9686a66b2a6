// SPDX-License-Identifier: Apache-2.0
#include "sim/prefix_admission.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "core/errors.h"

namespace draftline {

std::vector<int> admit_prefixes(std::span<const double> survival, int drafts,
                                const std::function<double(int, double)>& time) {
  check(drafts > 0, "admit_prefixes: there are drafts");
  const int sequences = count(survival) / drafts;
  std::vector<int> lengths(at(sequences), 0);
  struct Next {  // the next draft of a sequence
    double survival;
    int sequence;
    bool operator<(const Next& o) const {
      return survival != o.survival ? survival < o.survival : sequence > o.sequence;
    }
  };
  std::priority_queue<Next> next;
  const auto offer = [&](int sequence) {
    const int length = lengths[at(sequence)];
    if (length == drafts) return;
    const double a = survival[at(sequence * drafts + length)];
    if (a > 0) next.push({a, sequence});
  };
  for (int s = 0; s < sequences; ++s) offer(s);
  double tokens = sequences, best = tokens / time(0, tokens);
  for (int rows = 1; !next.empty(); ++rows) {
    const Next draft = next.top();
    next.pop();
    tokens += draft.survival;
    const double rate = tokens / time(rows, tokens);
    if (rate <= best) break;
    best = rate;
    ++lengths[at(draft.sequence)];
    offer(draft.sequence);
  }
  return lengths;
}

StepCost::Line verifying(StepCost& cost, std::span<const int> lengths, const DecodeBatch& batch, double verified) {
  const auto decode = [&](int drafted) { return cost.decode({batch.sequences, drafted, batch.context}); };
  const auto shortest = std::ranges::upper_bound(lengths, 0);  // 0 is a plain step, which drafts nothing
  check(shortest != lengths.end(), "verifying: there are drafts");
  if (shortest + 1 == lengths.end()) return decode(*shortest);
  auto above = std::lower_bound(shortest + 1, lengths.end(), verified);
  if (above == lengths.end()) --above;
  const StepCost::Line low = decode(above[-1]), high = decode(*above);
  const double share = (verified - above[-1]) / (*above - above[-1]);
  const auto between = [&](Ticks a, Ticks b) { return std::max<Ticks>(0, a + std::llround(share * to_double(b - a))); };
  const Ticks drafting = decode(lengths.back()).drafting;
  const std::int64_t from = std::max(low.from, high.from);
  return {.from = from,
          .to = std::min(low.to, high.to),
          .start = between(low.at(from), high.at(from)) + drafting - between(low.drafting, high.drafting),
          .per_token = between(low.per_token, high.per_token),
          .host = between(low.host, high.host),
          .slack = between(low.slack, high.slack),
          .host_slack = between(low.host_slack, high.host_slack),
          .drafting = drafting};
}

}  // namespace draftline
