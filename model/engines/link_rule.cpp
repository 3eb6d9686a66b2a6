// SPDX-License-Identifier: Apache-2.0
#include "model/engines/link_rule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.h"
#include "model/devices/origin.h"
#include "model/engines/engine_fields.h"
#include "model/order_statistics.h"

namespace draftline {

namespace {

const LinkTable* chosen_all_reduce(const Links& links, const EngineLinks& engine, int ranks, Bytes message) {
  for (const LinkRule& rule : engine.all_reduce)
    if (rule.holds(links, ranks, message))
      if (const LinkTable* table = links.find(rule.library, Collective::all_reduce, ranks)) return table;
  return links.any(Collective::all_reduce, ranks);
}

LinkRule read_link_rule(const Reader& in) {
  LinkRule rule;
  read_row(link_rule_fields(), in, rule);
  if (const auto up_to = in.find("up_to")) rule.below = up_to->quantity<Bytes>(0.0) + Bytes{1};  // whole bytes
  in.done();
  return rule;
}

}  // namespace

bool LinkRule::holds(const Links& links, int n, Bytes message) const {
  return (ranks.empty() || std::find(ranks.begin(), ranks.end(), n) != ranks.end()) && (!below || message < *below) &&
         (!switched || links.switched) && has_capability(compute_capability, links.compute_capability);
}

bool FusedAllReduce::applies(const Links& links, int ranks, std::string_view architecture) const {
  return ranks > 1 && std::ranges::find(architectures, architecture) != architectures.end() &&
         links.find(library, Collective::all_reduce, ranks) != nullptr;
}

EngineLinks EngineLinks::with_fused(Bytes row) const {
  LinkRule rule;
  rule.library = fused->library;
  if (fused->rows) rule.below = (*fused->rows + 1) * row;
  EngineLinks links{all_reduce, fused->rank_skew, {}};
  links.all_reduce.insert(links.all_reduce.begin(), rule);
  return links;
}

Seconds collective_time(const Links& links, const EngineLinks& engine, const CollectiveCall& call,
                        const std::string& device) {
  if (call.ranks <= 1) return {};
  const Seconds wait = expected_largest(call.ranks) * engine.rank_skew;
  Bytes message = call.message;
  if (call.collective != Collective::all_reduce) {
    if (const LinkTable* table = links.any(call.collective, call.ranks))
      return wait + links.time(*table, call.ranks, message);
    if (call.collective != Collective::all_to_all) message = 0.5 * message;
  }
  const LinkTable* table = chosen_all_reduce(links, engine, call.ranks, message);
  if (!table)
    throw InputErrors(device + ": no all-reduce of " + std::to_string(call.ranks) +
                      " devices is known; give \"links\" in its file");
  return wait + links.time(*table, call.ranks, message);
}

std::vector<const LinkTable*> tables_of_calls(const Links& links, const EngineLinks& engine, Collective c, int ranks) {
  if (c != Collective::all_reduce)
    if (const LinkTable* table = links.any(c, ranks)) return {table};
  std::vector<const LinkTable*> tables;
  for (const LinkRule& rule : engine.all_reduce) {
    const LinkTable* table = links.find(rule.library, Collective::all_reduce, ranks);
    if (table == nullptr || !rule.holds(links, ranks, Bytes{})) continue;
    tables.push_back(table);
    if (!rule.below) return tables;  // of larger messages too
  }
  if (const LinkTable* table = links.any(Collective::all_reduce, ranks)) tables.push_back(table);
  return tables;
}

EngineLinks read_engine_links(const Reader& in, std::vector<std::string>& guesses) {
  EngineLinks links;
  const auto note = [&](const Reader& entry, const char* name) {
    if (read_profile_origin(entry)) guesses.push_back(std::string("links/") + name);
    entry.done();
  };
  if (const auto all_reduce = in.find("all_reduce")) {
    for (const Reader& rule : all_reduce->at("rules").items()) links.all_reduce.push_back(read_link_rule(rule));
    note(*all_reduce, "all_reduce");
  }
  if (const auto skew = in.find("rank_skew")) {
    links.rank_skew = skew->at("value").quantity<Seconds>(0.0);
    note(*skew, "rank_skew");
  }
  if (const auto fused = in.find("fused_all_reduce")) {
    FusedAllReduce& all = links.fused.emplace();
    for (const Reader& name : fused->at("architectures").items()) all.architectures.push_back(name.text());
    all.library = fused->at("library").text();
    all.rank_skew = fused->at("rank_skew").quantity<Seconds>(0.0);
    if (const auto rows = fused->find("rows")) all.rows = rows->integer(1, 1 << 20);
    note(*fused, "fused_all_reduce");
  }
  in.done();
  return links;
}

}  // namespace draftline
