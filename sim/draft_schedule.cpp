// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_schedule.h"

#include <algorithm>

namespace draftline {

DraftSchedule::DraftSchedule(Predictor& predictor, const Setup& s, const MethodChoice& m)
    : predictor_(predictor), setup_(s) {
  const Method& method = predictor.method(s, m);
  const int depth = method.usual_depth();
  if (m.spec.draft_length() != depth || predictor.verified_rows(s, m) != depth + 1) return;  // no chain
  const Acceptance acceptance = m.acceptance.of_other_lengths(depth);
  const int known = m.acceptance.longest_chain().value_or(depth),
            longest = std::min(known, method.longest_chain().value_or(known));
  for (int k = 1; k <= longest; ++k)
    if (const auto spec = m.spec.with_draft_length(k, *s.transformer))
      lengths_.push_back({*spec, acceptance, m.drafter_device});
}

std::optional<BestLength> DraftSchedule::best(int prompt_tokens, int batch_size, int least, int most) {
  Setup s = setup_;
  s.prompt_tokens = prompt_tokens;
  s.batch_size = batch_size;
  std::optional<BestLength> best;
  for (const MethodChoice& one : lengths_) {
    const int k = *one.spec.draft_length();
    if (k < least || k > most) continue;
    const auto outcome = predictor_.predict(s, one);
    const auto* p = std::get_if<Prediction>(&outcome);
    if (p == nullptr) continue;
    if (!best) best = BestLength{prompt_tokens, batch_size, 0, least == 0 ? 1.0 : 0.0};
    if (p->speedup_with_prefill > best->speedup) best->draft_length = k, best->speedup = p->speedup_with_prefill;
  }
  return best;
}

std::vector<ScheduledLength> DraftSchedule::by_batch(int prompt_tokens, const std::vector<int>& batches) {
  std::vector<ScheduledLength> all;
  std::optional<BestLength> last;
  for (const int batch : batches) {
    const auto next = best(prompt_tokens, batch);
    if (!next) break;
    if (last) changes_between(*last, *next, all);
    else all.push_back({prompt_tokens, 1, 1, next->draft_length});
    last = next;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].to_batch = i + 1 < all.size() ? all[i + 1].from_batch - 1 : last->batch_size;
  return all;
}

void DraftSchedule::changes_between(const BestLength& low, const BestLength& high, std::vector<ScheduledLength>& all) {
  if (low.draft_length == high.draft_length) return;
  if (high.batch_size - low.batch_size > 1) {
    const auto [least, most] = std::minmax(low.draft_length, high.draft_length);
    if (const auto middle = best(low.prompt_tokens, (low.batch_size + high.batch_size) / 2, least, most)) {
      changes_between(low, *middle, all);
      changes_between(*middle, high, all);
      return;
    }
  }
  all.push_back({high.prompt_tokens, high.batch_size, high.batch_size, high.draft_length});
}

}  // namespace draftline
