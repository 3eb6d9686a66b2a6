// SPDX-License-Identifier: Apache-2.0
#include "inputs/engine_defaults.h"

namespace draftline {

namespace {

bool take_chain(MethodChoice& m, const Engine& e, const TransformerShape& target) {
  if (!e.chain || !m.spec.drafts_default_tree()) return false;
  const auto chain = m.spec.with_draft_length(*e.chain, target);
  if (!chain) return false;
  m.spec = *chain;
  m.in->note(e.name + " " + e.version + " verifies only chains, so " + std::string(m.spec.name()) + " drafts " +
             std::to_string(*e.chain) +
             " tokens; give \"draft_length\" for another length, or \"tree\": \"default\" for the tree");
  return true;
}

bool divide(MethodChoice& m, const Engine& e) {
  if (!e.shards_drafts || !m.spec.entry().draft_network || m.spec.shard_draft() || m.drafter_device) return false;
  m.spec = m.spec.with_shard_draft(ShardDraft::if_possible);
  return true;
}

}  // namespace

void take_engine_defaults(Scenario& s) {
  if (s.transformers.empty() || !s.transformers.front()) return;
  for (const auto& engine : s.engines) {
    std::vector<MethodChoice> methods = s.methods;
    bool changed = false;
    for (MethodChoice& m : methods)
      if (engine) {
        changed |= take_chain(m, *engine, *s.transformers.front());
        changed |= divide(m, *engine);
      }
    s.methods_of_engine.push_back(changed ? std::move(methods) : std::vector<MethodChoice>{});
  }
}

}  // namespace draftline
