// SPDX-License-Identifier: Apache-2.0
// The parameter "tree": which tree is drafted, where no chain is. A tree of ranks has a shape that does not depend on
// the text (decoder/token_tree); a grown one grows by joint probability (methods/drafting/feature_drafter).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "core/reader.h"
#include "model/acceptance/tree_search.h"

namespace draftline {

enum class TreeKind { none, ranks, grown };  // that a method drafts

struct DraftTree {
  struct Official {};  // "default": the tree of the authors' code
  struct Paths {       // {"nodes": [paths of ranks]}
    std::vector<std::vector<int>> nodes;
  };
  struct Optimal {  // {"optimal": {"budget": n}}: the best tree of so many drafts
    int budget = 1;
    RankAcceptance ranks = {};  // of the method's own "acceptance", where it gives them; empty if not
  };
  struct Grown {  // {"top_k", "passes", "nodes"}, or SGLang's {"eagle_topk", "num_steps", "num_draft_tokens"}
    int top_k = 1, passes = 0, nodes = 1;
    bool in_words_of_sglang = false;  // which count the first pass and the root
  };
  std::variant<Official, Paths, Optimal, Grown> form;

  nlohmann::json json() const;  // what stands in the file
};

// The tree of a method's object that has "tree". `levels`: the most that are drafted. Mistakes are noted.
DraftTree read_draft_tree(const Reader& object, TreeKind, int levels);

}  // namespace draftline
