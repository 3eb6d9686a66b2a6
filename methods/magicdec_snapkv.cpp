// SPDX-License-Identifier: Apache-2.0
// MagicDec with SnapKV's cache (Sadhukhan et al. 2025, section 4; Li et al. 2024, algorithm 1): the target drafts over
// `budget` entries of each text and KV head. A prompt's are those to which its last `window` rows attend most, by the
// mean over `pool` neighbours, and these rows' own. Entries of new tokens take the places of those that were attended
// to least, as in TriForce's retrieval cache; the authors' own grows by them instead.
#include "methods/drafting/ring_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct SnapKvParameters : Parameters {
  Setting<int> budget = kUsualBudget, window = Compression::Chosen{}.window, pool = Compression::Chosen{}.pool;
};

}  // namespace

Entry magicdec_snapkv() {
  using P = SnapKvParameters;
  return {.name = "magicdec_snapkv",
          .title = "the target drafts over the entries of its KV cache to which the prompt's end attends most",
          .source = "sadhukhan2024magicdec",
          .locator = "section 4, SnapKV",
          .parameters = {budget(&P::budget, "KV entries of each sequence that drafts read"),
                         integer("window", &P::window, 1, 1 << 16,
                                 {.meaning = "the prompt's last rows, whose attention chooses"}),
                         integer("pool", &P::pool, 1, 1 << 10, {.meaning = "neighbours over which it is averaged"})},
          .make =
              [](Context& c) {
                const auto& p = c.own<P>();
                return std::make_unique<RingTarget>(
                    c, Compression{.budget = p.budget, .chosen = Compression::Chosen{p.window, p.pool}});
              },
          .examples = {R"("budget": 6, "window": 1, "pool": 3, "draft_length": 3)"},
          .lengths = {.most = 64, .usual = kUsualDrafts},
          .consistent =
              [](const MethodSpec& spec) {
                const auto& p = spec.own<P>();
                return small_budget(p.budget, spec.drafts(), p.window);
              },
          .fits = caches_latents};
}

}  // namespace draftline::methods
