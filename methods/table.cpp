// SPDX-License-Identifier: Apache-2.0
#include "methods/table.h"

#include <algorithm>
#include <array>

#include "methods/entries.h"

namespace draftline::methods {

std::span<const Entry> all() {
#define DRAFTLINE_ENTRY(method) method(),
  static const std::array table{DRAFTLINE_METHODS(DRAFTLINE_ENTRY)};
#undef DRAFTLINE_ENTRY
  return table;
}

const Entry* find(std::string_view name) {
  const auto entries = all();
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& e) { return e.name == name || std::ranges::count(e.also, name) > 0; });
  return it == entries.end() ? nullptr : &*it;
}

const Entry* named(const Reader& name) {
  const std::string text = name.text();
  const Entry* entry = find(text);
  if (entry == nullptr && name.is_string()) {
    std::vector<std::string> known;
    for (const Entry& e : all()) {
      known.emplace_back(e.name);
      known.insert(known.end(), e.also.begin(), e.also.end());
    }
    const auto near = nearest_word(text, known);
    name.fail("unknown method \"" + text + "\"" +
              (near ? "; did you mean \"" + *near + "\"?" : "; see `draftline list methods`"));
  }
  return entry;
}

// The parameter "tree", as people write it.
static std::string text_of_trees(const DraftLengths& lengths) {
  if (lengths.trees == TreeKind::grown)
    return "\"default\" (10 wide, " + std::to_string(lengths.passes) +
           " passes, 59 nodes) or {top_k, passes, nodes} (SGLang: {eagle_topk, num_steps, num_draft_tokens})";
  const bool own = lengths.tree_by_default;
  const int nodes = own ? lengths.official().tree.rows() - 1 : 0;
  return (own ? "\"default\" (" + std::to_string(nodes) + " nodes), " : "") + "{nodes} or {optimal}";
}

std::string parameters_text(const Entry& e) {
  std::string all;
  const auto add = [&](const std::string& text) { all += (all.empty() ? "" : "; ") + text; };
  const DraftLengths& l = e.lengths;
  if (e.draft_network) add("draft: a transformer of the same vocabulary");
  if (l.most > 0)
    add("draft_length" + (l.usual > 0 ? " (" + std::to_string(l.usual) + ")" : "") +
        (l.meaning.empty() ? "" : ": " + std::string(l.meaning)));
  if (l.trees != TreeKind::none) add("or tree: " + text_of_trees(l));
  if (const std::string own = e.parameters.text(); !own.empty()) add(own);
  if (e.checkpoint) add("checkpoint: the folder of a trained drafter, whose config.json says what it has");
  return all;
}

}  // namespace draftline::methods
