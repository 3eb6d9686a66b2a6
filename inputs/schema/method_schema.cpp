// SPDX-License-Identifier: Apache-2.0
// The schema of a scenario's methods, from the table of methods and the parameters that each declares.
#include "inputs/schema/schema_parts.h"

namespace draftline::schema {

namespace {

constexpr int kMostRanks = 64, kMostNodes = 1023;

Json tree_of_ranks() {
  return any_of({object({needed("nodes", list(list(integer(0, kMostRanks - 1))),
                                "paths of ranks, such as [[0], [1], [0, 0]]: each node is the ranks on its way")}),
                 object({needed("optimal", object({needed("budget", integer(1, kMostNodes), "number of drafts")}),
                                "the best tree of so many drafts, by the ranks of the acceptance")})});
}

Json grown_tree() {
  return if_given("num_steps",
                  object({needed("eagle_topk", integer(1, kMostRanks), "SGLang's width of a step"),
                          needed("num_steps", integer(1, 32), "SGLang's steps of the drafter"),
                          needed("num_draft_tokens", integer(2, kMostNodes + 1), "SGLang's nodes, root included")}),
                  object({needed("top_k", integer(1, kMostRanks), "children of a node"),
                          needed("passes", integer(0, 31), "passes of the drafter after the first"),
                          needed("nodes", integer(1, kMostNodes), "drafts that are verified")}));
}

Json or_default(const Json& tree) { return any_of({Json{{"const", "default"}}, tree}); }

Json drafter_device() {
  return object({needed("device", defined("device"), "the drafter's device"),
                 needed("latency", quantity<Seconds>(Zero::yes), "time of a message between the two engines' hosts"),
                 optional("engine", defined("engine"), "the drafter's engine; by default the target's"),
                 optional("bandwidth", quantity<BytesPerSecond>(), "of the link; by default without limit")});
}

Keys keys_of(const methods::Entry& e) {
  Keys keys{optional("acceptance", defined("acceptance"), "how many drafts the target accepts")};
  const auto& lengths = e.lengths;
  if (lengths.most > 0) {
    Json drafts = integer(1, lengths.most);
    if (lengths.usual > 0) drafts["default"] = lengths.usual;
    const std::string what =
        lengths.meaning.empty() ? "tokens drafted per sequence and step" : std::string(lengths.meaning);
    keys.push_back(optional("draft_length", drafts, what).also("num_speculative_tokens"));
  }
  if (lengths.trees != TreeKind::none)
    keys.push_back(optional("tree", defined(lengths.trees == TreeKind::grown ? "grown_tree" : "tree_of_ranks"),
                            "a tree of drafts, in place of a draft length"));
  if (e.draft_network) {
    keys.push_back(needed("draft", defined("transformer"), "the draft network: a name, a file or an object of shapes"));
    keys.push_back(optional("shard_draft", boolean(),
                            "true: it is divided among the target's devices; by default as "
                            "the engine does"));
    keys.push_back(optional("drafter_device", defined("drafter_device"), "the draft network runs on another device"));
  }
  if (e.checkpoint)
    keys.push_back(optional("checkpoint", text(false), "folder of a published drafter, whose config.json is read"));
  return std::move(keys) + e.parameters.keys();
}

}  // namespace

std::vector<std::pair<std::string_view, Json>> parts_of_methods() {
  return {{"tree_of_ranks", or_default(tree_of_ranks())},
          {"grown_tree", or_default(grown_tree())},
          {"drafter_device", drafter_device()}};
}

Json method() {
  std::vector<Case> cases;
  for (const methods::Entry& e : methods::all()) {
    Case& c = cases.emplace_back(Case{{e.name}, keys_of(e)});
    c.words.insert(c.words.end(), e.also.begin(), e.also.end());
  }
  return by_word("name", "the method, as `draftline list methods` names it", cases);
}

}  // namespace draftline::schema
