// SPDX-License-Identifier: Apache-2.0
#include "inputs/engine_defaults.h"

#include <algorithm>

#include "core/notes.h"

namespace draftline {

namespace {

void take_chain(MethodChoice& m, const Engine& e, const TransformerShape& target) {
  if (!m.spec.drafts_default_tree()) return;
  const auto chain = m.spec.with_draft_length(*e.chain, target);
  if (!chain) return;
  m.spec = *chain;
  tell_listener(m.spec.in().place() + ": " + e.name + " " + e.version + " verifies chains alone, so " +
                std::string(m.spec.name()) + " drafts " + std::to_string(*e.chain) +
                " tokens; say otherwise with \"draft_length\", or a tree with \"tree\": \"default\"");
}

void divide(MethodChoice& m, const std::vector<int>& ranks, Catalogue& catalogue) {
  if (!m.spec.entry().draft_network || m.spec.says_shard_draft()) return;
  const auto draft = m.spec.in().find("draft");
  const auto shape = draft ? catalogue.transformer(*draft) : nullptr;
  if (shape && std::none_of(ranks.begin(), ranks.end(), [&](int n) { return refuses_shards(*shape, n); }))
    m.spec = m.spec.with_sharded_draft();
}

}  // namespace

void take_engine_defaults(Scenario& s, Catalogue& catalogue) {
  if (s.engines.empty() || s.transformers.empty()) return;
  const auto all = [&](auto does) { return std::all_of(s.engines.begin(), s.engines.end(), does); };
  if (all([](const auto& e) { return e && e->chain; }) && s.transformers.front())
    for (MethodChoice& m : s.methods) take_chain(m, *s.engines.front(), *s.transformers.front());
  const bool several = std::any_of(s.tensor_parallel.begin(), s.tensor_parallel.end(), [](int n) { return n > 1; });
  if (several && all([](const auto& e) { return e && e->shards_drafts; }))
    for (MethodChoice& m : s.methods) divide(m, s.tensor_parallel, catalogue);
}

}  // namespace draftline
