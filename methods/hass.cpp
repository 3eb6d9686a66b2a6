// SPDX-License-Identifier: Apache-2.0
// HASS (Zhang et al. 2025): EAGLE-2's network and dynamic tree, trained on its own outputs.
#include "methods/eagle.h"
#include "methods/entries.h"

namespace draftline::methods {

Entry hass() {
  return {"hass",
          "EAGLE-2's drafter, trained on its own outputs",
          "zhang2025hass",
          "sections 3 and 4",
          Losslessness::lossless,
          "draft_length (a chain), or tree: \"default\" (10 wide, 5 passes, 59 nodes) or {top_k, passes, nodes}",
          [](const MethodSpec& spec, Context& c) -> std::unique_ptr<Method> {
            return std::make_unique<Eagle>(c, "hass.", read_draft_shape(spec, c.target.shape.vocabulary, 5));
          },
          {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"},
          {64}};
}

}  // namespace draftline::methods
