// SPDX-License-Identifier: Apache-2.0
// MagicDec with SnapKV's cache (Sadhukhan et al. 2025, section 4; Li et al. 2024, algorithm 1): the target drafts over
// `budget` entries of each text and KV head. A prompt's are those to which its last `window` rows attend most, by the
// mean over `pool` neighbours, and these rows' own. Entries of new tokens take the places of those that were attended
// to least, as in TriForce's retrieval cache; the authors' own grows by them instead.
#include "methods/drafting/ring_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

int read_window(const MethodSpec& spec) {
  constexpr int kMost = 1 << 16;
  const auto given = spec.in().find("window");
  return given ? given->integer(1, kMost) : Compression::Chosen{}.window;
}

std::unique_ptr<Method> make_magicdec_snapkv(const MethodSpec& spec, Context& c) {
  constexpr int kMostPooled = 1 << 10;
  const auto pool = spec.in().find("pool");
  Compression::Chosen chosen{.window = read_window(spec)};
  if (pool) chosen.pool = pool->integer(1, kMostPooled);
  check_keys(spec, c.target);
  const int length = spec.draft_length().value_or(kUsualDrafts), budget = read_budget(spec, length, chosen.window);
  return std::make_unique<RingTarget>(c, Compression{.budget = budget, .chosen = chosen}, length);
}

}  // namespace

Entry magicdec_snapkv() {
  return {.name = "magicdec_snapkv",
          .title = "the target drafts over the entries of its KV cache to which the prompt's end attends most",
          .source = "sadhukhan2024magicdec",
          .locator = "section 4, SnapKV",
          .lossless = Losslessness::lossless,
          .parameters =
              "budget: KV entries of each sequence that drafts read (4096); window: the prompt's last rows, "
              "whose attention chooses (32); pool: neighbours over which it is averaged (5); draft_length "
              "(7)",
          .make = make_magicdec_snapkv,
          .examples = {R"("budget": 6, "window": 1, "pool": 3, "draft_length": 3)"},
          .lengths = {.most = 64, .fit = [](const MethodSpec& spec, const TransformerShape&) {
                        return fits_budget(spec, read_window(spec));
                      }}};
}

}  // namespace draftline::methods
