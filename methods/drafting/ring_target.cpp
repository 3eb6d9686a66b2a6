// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/ring_target.h"

#include <algorithm>

#include "methods/drafting/drafted_chain.h"

namespace draftline::methods {

std::vector<RingOf> make_rings(Context& c, const Compression& how) {
  std::vector<RingOf> rings;
  const Window window{.tokens = how.budget, .ring = true, .sinks = how.sinks};
  for (const Cache& whole : c.target.caches)
    if (whole.window == Window{}) {
      const int capacity = std::min(how.budget, c.capacity) + c.drafts() + 1;
      rings.push_back(
          {whole, c.ops.cache(whole.layers, whole.kv_heads, whole.head_dim, capacity, window, whole.value_dim)});
    }
  return rings;
}

RingTarget::RingTarget(Context& c, const Compression& how)
    : selection_{make_rings(c, how)},
      selects_(how.chosen.has_value()),
      draft_(c.target.over(selection_.rings)),
      length_(c.drafts()) {
  if (how.chosen) selection_.window = how.chosen->window, selection_.pool = how.chosen->pool;
}

Proposal RingTarget::propose(Ops& ops, Session& s) {
  Tensor token = s.root;
  DraftedChain chain(ops, s);
  for (int j = 0; j < length_; ++j) {
    Stream x{draft_.embed(ops, token)};
    draft_.run(ops, x, ops.pass({ops.uniform(s.sequences, 1), s.slots, {}, j}));
    token = chain.next(draft_.logits(ops, draft_.final_norm(ops, x)));
  }
  return chain.proposal(length_);
}

void RingTarget::extend(Ops& ops, const Session& s, const Committed& c) {
  if (selects_ && c.rows.prompts) return;  // the target's pass has filled the rings
  for (const RingOf& r : selection_.rings) ops.keep_entries(r.whole, r.ring, c.last, c.rows, s.slots);
}

std::optional<Mistake> small_budget(int budget, int draft_length, int staying) {
  const int room = staying + draft_length + 1;
  if (budget >= room) return std::nullopt;
  return Mistake{"/budget", "must be at least " + std::to_string(room) + ": " + std::to_string(staying) +
                                " entries stay, and a step adds " + std::to_string(draft_length + 1)};
}

std::optional<Mistake> caches_latents(const Context& c) {
  const TransformerShape& target = c.target.shape;
  const auto chooses = [](const LayerShape& l) { return l.heads() != nullptr && l.heads()->blocks; };
  if (std::any_of(target.kinds.begin(), target.kinds.end(), chooses))
    return Mistake{"",
                   target.name + " chooses blocks of its cache itself: no compressed cache is modelled beside that"};
  if (!shares_keys(target)) return std::nullopt;
  return Mistake{"", target.name + " caches latents: of those no compressed cache is modelled"};
}

}  // namespace draftline::methods
