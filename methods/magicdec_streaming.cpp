// SPDX-License-Identifier: Apache-2.0
// MagicDec with StreamingLLM's cache (Sadhukhan et al. 2025, section 4; Xiao et al. 2024, section 3.2): the target
// drafts over the first `sinks` entries of a text and its last ones, `budget` together. The authors' own cache counts
// positions within itself and is filled by a second pass over the prompt; here keys keep the text's positions, and the
// prompt's are copied.
#include "methods/drafting/ring_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kUsualSinks = 16;  // as in the authors' code

int read_sinks(const MethodSpec& spec) {
  constexpr int kMost = 1 << 20;
  const auto given = spec.in().find("sinks");
  return given ? given->integer(0, kMost) : kUsualSinks;
}

std::unique_ptr<Method> make_magicdec_streaming(const MethodSpec& spec, Context& c) {
  check_keys(spec, c.target);
  const int length = spec.draft_length().value_or(kUsualDrafts), sinks = read_sinks(spec);
  return std::make_unique<RingTarget>(c, Compression{read_budget(spec, length, sinks), sinks}, length);
}

}  // namespace

Entry magicdec_streaming() {
  return {.name = "magicdec_streaming",
          .title = "the target drafts over the first and the last entries of its KV cache",
          .source = "sadhukhan2024magicdec",
          .locator = "section 4, StreamingLLM",
          .lossless = Losslessness::lossless,
          .parameters =
              "budget: KV entries of each sequence that drafts read (4096); sinks: of these the text's first "
              "(16); draft_length (7)",
          .make = make_magicdec_streaming,
          .examples = {R"("budget": 5, "sinks": 1, "draft_length": 2)"},
          .lengths = {.most = 64, .fit = [](const MethodSpec& spec, const TransformerShape&) {
                        return fits_budget(spec, read_sinks(spec));
                      }}};
}

}  // namespace draftline::methods
