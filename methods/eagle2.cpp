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

Entry entry_of(const Paper& paper) {
  return {
      .name = paper.name,
      .title = paper.title,
      .source = paper.source,
      .locator = paper.locator,
      .lossless = Losslessness::lossless,
      .parameters =
          "draft_length (a chain), or tree: \"default\" (10 wide, 5 passes, 59 nodes) or {top_k, passes, nodes} "
          "(SGLang: {eagle_topk, num_steps, num_draft_tokens}); "
          "draft_vocabulary: tokens of a head of its own (the target's head); checkpoint: a folder of trained weights",
      .make = [](const MethodSpec& spec, Context& c) -> std::unique_ptr<Method> {
        const auto vocabulary = read_draft_vocabulary(spec, c.target);
        const DraftShape shape = read_draft_shape(spec, vocabulary.value_or(c.target.shape.vocabulary), kEagle2Passes);
        return std::make_unique<Eagle>(c, std::string(spec.name()) + ".", shape,
                                       drafter_config(spec, c, DrafterKind::eagle), vocabulary);
      },
      .examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})",
                   R"("tree": {"top_k": 3, "passes": 2, "nodes": 9}, "draft_vocabulary": 9)"},
      .lengths = {.most = 64, .tree_by_default = true},
      .checkpoint = DrafterKind::eagle};
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
