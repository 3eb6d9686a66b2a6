// SPDX-License-Identifier: Apache-2.0
// MagicDec with StreamingLLM's cache (Sadhukhan et al. 2025, section 4; Xiao et al. 2024, section 3.2): the target
// drafts over the first `sinks` entries of a text and its last ones, `budget` together. The authors' own cache counts
// positions within itself and is filled by a second pass over the prompt; here keys keep the text's positions, and the
// prompt's are copied.
#include "methods/drafting/ring_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct StreamingParameters : Parameters {
  Setting<int> budget = kUsualBudget, sinks = 16;  // as in the authors' code
};

}  // namespace

Entry magicdec_streaming() {
  using P = StreamingParameters;
  return {.name = "magicdec_streaming",
          .title = "the target drafts over the first and the last entries of its KV cache",
          .source = "sadhukhan2024magicdec",
          .locator = "section 4, StreamingLLM",
          .parameters = {budget(&P::budget, "KV entries of each sequence that drafts read"),
                         integer("sinks", &P::sinks, 0, 1 << 20, {.meaning = "of these the text's first"})},
          .make =
              [](Context& c) {
                return std::make_unique<RingTarget>(c, Compression{c.own<P>().budget, c.own<P>().sinks});
              },
          .examples = {R"("budget": 5, "sinks": 1, "draft_length": 2)"},
          .lengths = {.most = 64, .usual = kUsualDrafts},
          .consistent =
              [](const MethodSpec& spec) {
                const auto& p = spec.own<P>();
                return small_budget(p.budget, spec.drafts(), p.sinks);
              },
          .fits = caches_latents};
}

}  // namespace draftline::methods
