// SPDX-License-Identifier: Apache-2.0
#include "sim/draft_chooser.h"

#include <algorithm>
#include <array>

#include "sim/prefix_admission.h"

namespace draftline {

static constexpr std::size_t kMostLengths = 65;

DraftChooser::DraftChooser(const DraftPolicy& policy, std::vector<int> lengths, StepCost& cost)
    : policy_(policy),
      lengths_(std::move(lengths)),
      cost_(cost),
      tried_(at(lengths_.empty() ? 0 : lengths_.back())),
      accepted_(tried_.size()) {
  check(lengths_.size() <= kMostLengths, "more draft lengths than any method has");
}

int most_drafts(const DraftPolicy& policy, std::span<const int> lengths, int sequences) {
  if (lengths.empty()) return 0;
  if (policy.kind != DraftPolicy::Kind::by_batch_size) return lengths.back();
  int drafts = 0;
  for (const DraftPolicy::Rule& r : policy.rules)
    if (r.batch_size <= sequences) drafts = r.drafts.value_or(lengths.back());
  return *std::prev(std::ranges::upper_bound(lengths, drafts));
}

double DraftChooser::expected(int drafts) const {
  // The prior, of a weight of kBelief drafts: half of the first drafts are accepted, and later positions have the rate
  // of the position before. This is slightly too high, so that longer drafts are tried.
  constexpr double kBelief = 8;
  double tokens = 1, survival = 1, rate = 0.5;
  for (std::size_t j = 0; j < at(drafts); ++j) {
    rate = (accepted_[j] + kBelief * rate) / (tried_[j] + kBelief);
    tokens += survival *= rate;
  }
  return tokens;
}

int DraftChooser::choose(int sequences, std::int64_t context, std::span<const int> would,
                         std::span<const Chunk> chunks) {
  if (policy_.kind == DraftPolicy::Kind::fixed || policy_.kind == DraftPolicy::Kind::by_batch_size)
    return most_drafts(sequences);
  if (plain_steps_ >= kTry && !looks_ahead() && lengths_.size() > 1) return lengths_[1];
  struct Option {
    int drafts;
    double emitted, time;
  };
  std::array<Option, kMostLengths> options;
  std::size_t n = 0;
  double rate = 0;  // tokens per picosecond of the best fixed length, by the recorded acceptance
  for (const int k : lengths_) {
    const DecodeBatch batch{sequences, k, context};
    const StepCost::Line line = cost_.decode(batch);
    const double tokens = sequences * expected(k), token = to_double(cost_.token());
    const auto alone = to_double(line.at(context));
    rate = std::max(rate, tokens / (alone + tokens * token));
    double emitted = tokens, time = alone;
    if (!chunks.empty()) {
      const StepCost::Prompts prompts = cost_.prefill(batch, chunks);
      time += to_double(line.longer(prompts.device, prompts.host));
    }
    if (looks_ahead()) {
      emitted = 0;
      for (const int w : would) emitted += std::min(w, k) + 1;
    }
    options[n++] = {k, emitted, time + emitted * token};
  }
  const auto worth = [&](const Option& o) { return o.emitted - rate * o.time; };
  return std::max_element(options.begin(), options.begin() + to_int64(n),
                          [&](const Option& a, const Option& b) { return worth(a) < worth(b); })
      ->drafts;
}

std::span<const int> DraftChooser::admit(int slots, std::int64_t context, std::span<const double> survival,
                                         int drafts) {
  const auto token = to_double(cost_.token());
  admitted_ = admit_prefixes(survival, drafts, [&](int rows, double tokens) {
    const auto line = verifying(cost_, lengths_, {slots, drafts, context}, to_double(rows) / slots);
    return to_double(line.at(context)) + tokens * token;
  });
  return admitted_;
}

void DraftChooser::record_acceptance(int drafts, std::span<const int> accepted) {
  plain_steps_ = 0;
  if (!learns()) return;
  constexpr double kRemembered = 2000;  // drafts of a position; then both counts are halved
  for (const int n : accepted)
    for (int j = 0; j <= std::min(n, drafts - 1); ++j) {
      auto &tried = tried_[at(j)], &held = accepted_[at(j)];
      tried += 1;
      if (n > j) held += 1;
      if (tried > kRemembered) tried *= 0.5, held *= 0.5;
    }
}

}  // namespace draftline
