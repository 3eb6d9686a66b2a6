// SPDX-License-Identifier: Apache-2.0
#include "predict/link_errors.h"

#include <algorithm>

#include "predict/setup_warnings.h"

namespace draftline {
namespace {

// "" if their error is known.
std::string why_unknown(const Setup& s, int ranks, const std::vector<const LinkTable*>& tables) {
  if (has_extended_links(s)) return "groups of so many devices were not measured";
  for (const LinkTable* t : tables) {
    if (!t->origin.borrowed_from.empty()) return "the times are those of " + t->origin.borrowed_from;
    if (t->origin.kind == "guess") return "the times are a guess";
  }
  if (std::ranges::any_of(tables, [](const LinkTable* t) { return t->origin.kind == "measured"; })) return {};
  return "the times of " + std::to_string(ranks) + " devices are derived";
}

}  // namespace

void set_link_errors(KnownErrors& errors, const Setup& s) {
  const int ranks = std::max(2, s.parallel.devices);  // a drafter may have a device of its own
  const auto row = row_of_fused_all_reduce(s);
  const EngineLinks links = row ? s.engine->links.with_fused(*row) : s.engine->links;
  std::vector<const LinkTable*> tables;
  for (const Collective c : collectives_of(s)) {
    const auto more = tables_of_calls(s.device->links, links, c, ranks);
    tables.insert(tables.end(), more.begin(), more.end());
  }
  if (tables.empty()) return;
  std::optional<RatioInterval>& widest = errors.of[KernelKind::communication];
  errors.why[KernelKind::communication] = why_unknown(s, ranks, tables);
  if (!errors.why[KernelKind::communication].empty()) return;
  for (const LinkTable* t : tables)
    if (const auto& one = t->origin.interval)
      widest =
          RatioInterval{std::min(widest ? widest->low : 1, one->low), std::max(widest ? widest->high : 1, one->high)};
}

}  // namespace draftline
