// SPDX-License-Identifier: Apache-2.0
// EAGLE-2 (Li et al. 2024b, section 4): EAGLE's network with a tree grown by joint probability. HASS (Zhang et al.
// 2025) trains the same network on its own outputs; only its weights differ.
#include "methods/drafting/eagle.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

Entry eagle2_entry(Entry e) {
  e.parameters = head_parameters("the target's head");
  e.make = [](Context& c) {
    return std::make_unique<Eagle>(c, std::string(c.spec.name()) + ".", draft_shape(c.spec, most_candidates(c)));
  };
  e.examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})",
                R"("tree": {"top_k": 3, "passes": 2, "nodes": 9}, "draft_vocabulary": 9)"};
  e.lengths = {.most = 64, .trees = TreeKind::grown, .passes = 5, .tree_by_default = true};
  e.checkpoint = DrafterKind::eagle;
  e.engines = {.vllm = "eagle", .sglang = "EAGLE"};
  return e;
}

}  // namespace

Entry eagle2() {
  return eagle2_entry({.name = "eagle2",
                       .title = "EAGLE's network, a tree grown by joint probability",
                       .source = "li2024eagle2",
                       .locator = "section 4"});
}

Entry hass() {
  return eagle2_entry({.name = "hass",
                       .title = "EAGLE-2's drafter, trained on its own outputs",
                       .source = "zhang2025hass",
                       .locator = "sections 3 and 4"});
}

}  // namespace draftline::methods
