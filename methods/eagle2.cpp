// SPDX-License-Identifier: Apache-2.0
// EAGLE-2 (Li et al. 2024b, section 4): EAGLE's network with a tree grown by joint probability. HASS (Zhang et al.
// 2025) trains the same network on its own outputs; only its weights differ.
#include "methods/drafting/eagle.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct Paper {
  std::string_view name, title, source, locator;
};

struct EagleTreeParameters : Parameters {
  std::optional<int> draft_vocabulary;
};

Entry entry_of(const Paper& paper) {
  using P = EagleTreeParameters;
  return {
      .name = paper.name,
      .title = paper.title,
      .source = paper.source,
      .locator = paper.locator,
      .lossless = Losslessness::lossless,
      .parameters = ParameterList::of<P>({draft_vocabulary(&P::draft_vocabulary, "the target's head")}),
      .make = made_of<P>([](const P& p, Context& c) {
        return std::make_unique<Eagle>(c, std::string(c.spec.name()) + ".", draft_shape(c.spec, most_candidates(c)),
                                       drafter_config(c), p.draft_vocabulary);
      }),
      .examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})",
                   R"("tree": {"top_k": 3, "passes": 2, "nodes": 9}, "draft_vocabulary": 9)"},
      .lengths = {.most = 64, .trees = TreeKind::grown, .passes = 5, .tree_by_default = true},
      .checkpoint = DrafterKind::eagle,
      .engines = {.vllm = "eagle", .sglang = "EAGLE"}};
}

}  // namespace

Entry eagle2() {
  return entry_of({.name = "eagle2",
                   .title = "EAGLE's network, a tree grown by joint probability",
                   .source = "li2024eagle2",
                   .locator = "section 4"});
}

Entry hass() {
  return entry_of({.name = "hass",
                   .title = "EAGLE-2's drafter, trained on its own outputs",
                   .source = "zhang2025hass",
                   .locator = "sections 3 and 4"});
}

}  // namespace draftline::methods
