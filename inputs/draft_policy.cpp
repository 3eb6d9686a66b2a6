// SPDX-License-Identifier: Apache-2.0
#include "inputs/draft_policy.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace draftline {

DraftPolicy read_draft_policy(const Reader& in) {
  DraftPolicy p;
  if (in.is_string()) {
    static constexpr std::array<std::string_view, 3> names{"fixed", "goodput", "oracle"};
    static constexpr std::array kinds{DraftPolicy::Kind::fixed, DraftPolicy::Kind::goodput, DraftPolicy::Kind::oracle};
    p.kind = kinds[in.choice(names)];
    return p;
  }
  p.kind = DraftPolicy::Kind::by_batch_size;
  const auto off = in.find("off_above"), table = in.find("draft_length_by_batch_size"),
             confidence = in.find("confidence");
  if (off.has_value() + table.has_value() + confidence.has_value() != 1)
    in.fail("give \"off_above\", \"draft_length_by_batch_size\" or \"confidence\"");
  if (confidence) {
    p.kind = DraftPolicy::Kind::confidence;
    p.place = confidence;
    p.concentration = confidence->at("concentration").number(0.01, 1e4);
    confidence->done();
  }
  if (off) p.rules = {{1, std::nullopt}, {off->positive_int(1 << 20) + 1, 0}};
  if (table) {
    for (const auto& [key, drafts] : table->entries()) {
      int batch = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), batch);
      if (error != std::errc() || end != key.data() + key.size() || batch < 1)
        drafts.fail("\"" + key + "\" is no batch size");
      p.rules.push_back({batch, drafts.integer(0), drafts});
    }
    std::sort(p.rules.begin(), p.rules.end(), [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
    if (p.rules.empty() || p.rules.front().batch_size != 1) table->fail("the first batch size must be \"1\"");
  }
  in.done();
  return p;
}

void check_drafts(const DraftPolicy& p, int draft_length, bool chain) {
  if (p.kind == DraftPolicy::Kind::confidence && !chain)
    p.place->fail("chooses among the drafts of a chain, and the method drafts a tree or whole windows");
  for (const DraftPolicy::Rule& r : p.rules)
    if (r.place && r.drafts > draft_length)
      r.place->fail("must be at most " + std::to_string(draft_length) + ", got " + std::to_string(*r.drafts));
}

}  // namespace draftline
