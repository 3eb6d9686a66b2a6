// SPDX-License-Identifier: Apache-2.0
#include "inputs/draft_policy.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace draftline {

namespace {

constexpr int kMostSequences = 1 << 20;

std::vector<DraftPolicy::Rule> read_thresholds(const Reader& table) {
  std::vector<DraftPolicy::Rule> rules;
  for (const auto& [key, drafts] : table.entries()) {
    int batch = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), batch);
    if (error != std::errc() || end != key.data() + key.size() || batch < 1)
      drafts.fail("\"" + key + "\" is not a batch size");
    rules.push_back({batch, drafts.integer(0), drafts});
  }
  std::sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  for (std::size_t i = 1; i < rules.size(); ++i)
    if (rules[i].batch_size == rules[i - 1].batch_size)
      rules[i].place->fail("batch size " + std::to_string(rules[i].batch_size) + " is given twice");
  if (rules.empty() || rules.front().batch_size != 1) table.fail("the first batch size must be \"1\"");
  return rules;
}

// vLLM's [[from, to, draft length], ..]. Between two ranges, and beyond the last, the range before goes on.
std::vector<DraftPolicy::Rule> read_ranges(const Reader& ranges) {
  std::vector<DraftPolicy::Rule> rules;
  int last = 0;
  for (const Reader& range : ranges.items()) {
    if (range.size() != 3) {
      range.fail("must be [from, to, draft length]");
      continue;
    }
    const int from = range.item(0).integer(1, kMostSequences), to = range.item(1).integer(from, kMostSequences);
    if (rules.empty() ? from != 1 : from <= last)
      range.item(0).fail(rules.empty() ? "the first range must begin at 1" : "ranges must ascend without overlap");
    else if (from > last + 1)
      range.note("no range has the batch sizes from " + std::to_string(last + 1) + " to " + std::to_string(from - 1) +
                 ", to which the range before is applied");
    last = to;
    rules.push_back({from, range.item(2).integer(0), range.item(2)});
  }
  if (rules.empty()) ranges.fail("at least one range is required");
  return rules;
}

}  // namespace

DraftPolicy read_draft_policy(const Reader& in) {
  DraftPolicy p;
  if (in.is_string()) {
    using Kind = DraftPolicy::Kind;
    static constexpr NamedValues<Kind, 3> kPolicies{
        {{"fixed", Kind::fixed}, {"goodput", Kind::goodput}, {"oracle", Kind::oracle}}};
    p.kind = in.value_in(kPolicies);
    return p;
  }
  p.kind = DraftPolicy::Kind::by_batch_size;
  const auto off = in.find("off_above"), table = in.find("draft_length_by_batch_size"),
             ranges = in.find("num_speculative_tokens_per_batch_size"), confidence = in.find("confidence");
  if (off.has_value() + table.has_value() + ranges.has_value() + confidence.has_value() != 1)
    in.fail(
        "give \"off_above\", \"draft_length_by_batch_size\" (or vLLM's \"num_speculative_tokens_per_batch_size\") or "
        "\"confidence\"");
  if (confidence) {
    p.kind = DraftPolicy::Kind::confidence;
    p.place = confidence;
    p.concentration = confidence->at("concentration").number(0.01, 1e4);
    confidence->done();
  }
  if (off) p.rules = {{1, std::nullopt}, {off->positive_int(kMostSequences) + 1, 0}};
  if (table) p.rules = read_thresholds(*table);
  if (ranges) p.rules = read_ranges(*ranges);
  in.done();
  return p;
}

std::vector<PlacedMistake> mistakes_of_drafts(const DraftPolicy& p, int draft_length, bool chain) {
  std::vector<PlacedMistake> all;
  if (p.kind == DraftPolicy::Kind::confidence && !chain)
    all.push_back({*p.place, "requires a method that drafts a chain, but the method drafts a tree or whole windows"});
  for (const DraftPolicy::Rule& r : p.rules)
    if (r.place && r.drafts > draft_length)
      all.push_back(
          {*r.place, "must be at most " + std::to_string(draft_length) + ", got " + std::to_string(*r.drafts)});
  return all;
}

}  // namespace draftline
