// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_policy.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace draftline {

static constexpr std::size_t kMostLengths = 65;

DraftPolicy read_draft_policy(const Reader& in) {
  DraftPolicy p;
  if (in.is_string()) {
    static constexpr std::array<std::string_view, 3> names{"fixed", "goodput", "oracle"};
    static constexpr std::array kinds{DraftPolicy::Kind::fixed, DraftPolicy::Kind::goodput, DraftPolicy::Kind::oracle};
    p.kind = kinds[in.choice(names)];
    return p;
  }
  p.kind = DraftPolicy::Kind::by_batch_size;
  const auto off = in.find("off_above"), table = in.find("draft_length_by_batch_size");
  if (off.has_value() == table.has_value()) in.fail("give \"off_above\" or \"draft_length_by_batch_size\"");
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

void check_drafts(const DraftPolicy& p, int draft_length) {
  for (const DraftPolicy::Rule& r : p.rules)
    if (r.place && r.drafts > draft_length)
      r.place->fail("must be at most " + std::to_string(draft_length) + ", got " + std::to_string(*r.drafts));
}

DraftChooser::DraftChooser(const DraftPolicy& policy, std::vector<int> lengths, StepCost& cost)
    : policy_(policy),
      lengths_(std::move(lengths)),
      cost_(cost),
      tried_(static_cast<std::size_t>(lengths_.empty() ? 0 : lengths_.back())),
      accepted_(tried_.size()) {
  check(lengths_.size() <= kMostLengths, "more draft lengths than any method has");
}

double DraftChooser::expected(int drafts) const {
  // Before there is evidence, half of the first drafts are accepted, and of each later position as many as of the one
  // before: a little too many, so that longer drafts are tried.
  constexpr double kBelief = 8;
  double tokens = 1, survival = 1, rate = 0.5;
  for (std::size_t j = 0; j < static_cast<std::size_t>(drafts); ++j) {
    rate = (accepted_[j] + kBelief * rate) / (tried_[j] + kBelief);
    tokens += survival *= rate;
  }
  return tokens;
}

int DraftChooser::choose(int sequences, std::int64_t context, std::span<const int> would,
                         std::span<const Chunk> chunks) {
  if (policy_.kind == DraftPolicy::Kind::fixed) return lengths_.back();
  if (policy_.kind == DraftPolicy::Kind::by_batch_size) {
    int drafts = 0;
    for (const DraftPolicy::Rule& r : policy_.rules)
      if (r.batch_size <= sequences) drafts = r.drafts.value_or(lengths_.back());
    return *std::prev(std::upper_bound(lengths_.begin(), lengths_.end(), drafts));
  }
  if (plain_steps_ >= kTry && !looks_ahead() && lengths_.size() > 1) return lengths_[1];
  struct Option {
    int drafts;
    double emitted, time;
  };
  std::array<Option, kMostLengths> options;
  std::size_t n = 0;
  double rate = 0;  // of the best fixed length, by what was seen
  for (const int k : lengths_) {
    const StepCost::Line line = cost_.decode(sequences, k, context);
    const double tokens = sequences * expected(k), token = static_cast<double>(cost_.token());
    const auto alone = static_cast<double>(line.at(context));
    rate = std::max(rate, tokens / (alone + tokens * token));
    double emitted = tokens, time = alone;
    if (!chunks.empty())
      time += static_cast<double>(std::max<Ticks>(0, cost_.prefill(sequences, k, chunks) - line.slack));
    if (looks_ahead()) {
      emitted = 0;
      for (const int w : would) emitted += std::min(w, k) + 1;
    }
    options[n++] = {k, emitted, time + emitted * token};
  }
  const auto worth = [&](const Option& o) { return o.emitted - rate * o.time; };
  return std::max_element(options.begin(), options.begin() + static_cast<std::ptrdiff_t>(n),
                          [&](const Option& a, const Option& b) { return worth(a) < worth(b); })
      ->drafts;
}

void DraftChooser::record_acceptance(int drafts, std::span<const int> accepted) {
  plain_steps_ = 0;
  if (!learns()) return;
  constexpr double kRemembered = 2000;  // drafts, of each position
  for (const int n : accepted)
    for (int j = 0; j <= std::min(n, drafts - 1); ++j) {
      auto &tried = tried_[static_cast<std::size_t>(j)], &held = accepted_[static_cast<std::size_t>(j)];
      tried += 1;
      if (n > j) held += 1;
      if (tried > kRemembered) tried *= 0.5, held *= 0.5;
    }
}

}  // namespace draftline
