// SPDX-License-Identifier: Apache-2.0
#include "methods/draft_tree.h"

#include <nlohmann/json.hpp>

#include "decoder/token_tree.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

constexpr int kMostRanks = 64;

Json json_of(const DraftTree::Official&) { return "default"; }
Json json_of(const DraftTree::Paths& t) { return {{"nodes", t.nodes}}; }
Json json_of(const DraftTree::Optimal& t) { return {{"optimal", {{"budget", t.budget}}}}; }
Json json_of(const DraftTree::Grown& t) {
  if (t.in_words_of_sglang)
    return {{"eagle_topk", t.top_k}, {"num_steps", t.passes + 1}, {"num_draft_tokens", t.nodes + 1}};
  return {{"top_k", t.top_k}, {"passes", t.passes}, {"nodes", t.nodes}};
}

DraftTree::Optimal read_optimal(const Reader& tree, const Reader& object) {
  const Reader in = tree.at("optimal");
  DraftTree::Optimal optimal{in.at("budget").integer(1, 1023)};
  in.done();
  tree.done();
  const auto acceptance = object.find("acceptance");
  if (acceptance && acceptance->is_object())
    if (const auto ranks = acceptance->find("ranks")) optimal.ranks = read_rank_acceptance(*ranks);
  return optimal;
}

DraftTree::Grown read_grown(const Reader& in) {
  DraftTree::Grown tree;
  tree.in_words_of_sglang = in.has("num_steps");
  if (tree.in_words_of_sglang) {
    tree.top_k = in.at("eagle_topk").integer(1, kMostRanks);
    tree.passes = in.at("num_steps").integer(1, 32) - 1;
    tree.nodes = in.at("num_draft_tokens").integer(2, 1024) - 1;
  } else {
    tree.top_k = in.at("top_k").integer(1, kMostRanks);
    tree.passes = in.at("passes").integer(0, 31);
    tree.nodes = in.at("nodes").integer(1, 1023);
  }
  in.done();
  return tree;
}

}  // namespace

Json DraftTree::json() const {
  return std::visit([](const auto& t) { return json_of(t); }, form);
}

DraftTree read_draft_tree(const Reader& object, TreeKind kind, int levels) {
  const Reader in = object.at("tree");
  if (in.is_object() && kind == TreeKind::grown) return {read_grown(in)};
  if (in.is_object() && in.has("optimal")) return {read_optimal(in, object)};
  if (in.is_object()) return {DraftTree::Paths{read_rank_paths(in, {levels, kMostRanks})}};
  if (in.text() != "default")
    in.fail(kind == TreeKind::ranks
                ? "must be \"default\", {\"nodes\": [paths of ranks]} or {\"optimal\": {\"budget\": n}}"
                : "must be \"default\", {\"top_k\": n, \"passes\": n, \"nodes\": n} or SGLang's {\"eagle_topk\": n, "
                  "\"num_steps\": n, \"num_draft_tokens\": n}");
  return {DraftTree::Official{}};
}

}  // namespace draftline
