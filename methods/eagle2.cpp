// SPDX-License-Identifier: Apache-2.0
// EAGLE-2 (Li et al. 2024b, section 4): EAGLE's network with a tree grown by joint probability.
#include "methods/eagle.h"
#include "methods/entries.h"

namespace draftline::methods {

Entry eagle2() {
  return {"eagle2",
          "EAGLE's network, a tree grown by joint probability",
          "li2024eagle2",
          "section 4",
          Losslessness::lossless,
          "draft_length (a chain), or tree: \"default\" (10 wide, 5 passes, 59 nodes) or {top_k, passes, nodes}",
          [](const MethodSpec& spec, Context& c) -> std::unique_ptr<Method> {
            return std::make_unique<Eagle>(c, "eagle2.", read_draft_shape(spec, c.target.shape.vocabulary, 5));
          },
          {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"},
          {64}};
}

}  // namespace draftline::methods
