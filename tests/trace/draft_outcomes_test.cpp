// SPDX-License-Identifier: Apache-2.0
// Outcomes that are drawn from a trace: their mean is the trace's, however its texts differ.
#include "trace/draft_outcomes.h"

#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

using namespace draftline;

namespace {

constexpr int kLong = 800, kShort = 100;  // tokens

// A long text whose drafts are all accepted, and nine short ones whose drafts never are.
std::vector<TracedPrompt> unlike_texts(bool by_step) {
  std::vector<TracedPrompt> all(10);
  for (std::size_t i = 0; i < all.size(); ++i) {
    TracedPrompt& p = all[i];
    const int tokens = i == 0 ? kLong : kShort, accepted = i == 0 ? 3 : 0;
    p.prompt_tokens = 3;
    p.tokens.assign(static_cast<std::size_t>(tokens), 7);
    if (by_step) p.steps.assign(static_cast<std::size_t>(tokens / (accepted + 1)), accepted + 1);
    else
      for (int place = 0; place < 3 * tokens; ++place) {
        p.ranks.push_back(accepted > 0 ? 0 : kNoRank);
        p.probabilities.push_back(accepted > 0 ? 0.5 : 0);
      }
  }
  return all;
}

std::shared_ptr<const Trace> trace_of(const std::vector<TracedPrompt>& prompts, bool by_step, int depth = 3) {
  static const FreshFolder folder;
  TraceHeader h;
  h.target = "tiny";
  h.weights = "random";
  h.method = by_step ? R"({"name":"suffix_decoding"})" : R"({"name":"medusa"})";
  h.depth = depth;
  if (by_step) h.steps_because = "drafts that depend on the text";
  write_trace(folder.path() / "t.jsonl.gz", h, prompts);
  return std::make_shared<Trace>(Trace::read(folder.path() / "t.jsonl.gz"));
}

}  // namespace

TEST_CASE("requests of equal lengths take the trace's mean of tokens in a step, though its texts differ in both") {
  const bool by_step = GENERATE(false, true);
  INFO(by_step);
  const auto trace = trace_of(unlike_texts(by_step), by_step);
  const DraftPlan plan = DraftPlan::chain(3);
  const DraftOutcomes outcomes = DraftOutcomes::from_trace(trace, plan, false);
  double tokens = 0, steps = 0;
  for (int request = 0; request < 20'000; ++request) {
    DraftOutcomes::Text text = outcomes.text(1, request);
    for (int position = 0; position < 60; ++steps) {
      const int emitted = 1 + outcomes.accepted(text, position);
      position += emitted;
      tokens += emitted;
    }
  }
  CHECK(trace->mean_length(plan) == Approx(1700.0 / (200 + 900)).epsilon(0.01));
  CHECK(tokens / steps == Approx(trace->mean_length(plan)).epsilon(0.02));
}

TEST_CASE("a step of more accepted drafts than a byte counts is replayed as it was recorded") {
  TracedPrompt p;
  p.prompt_tokens = 3;
  p.tokens.assign(307, 7);
  p.steps = {301, 5};
  const auto trace = trace_of({p}, true, 300);
  const DraftOutcomes outcomes = DraftOutcomes::from_trace(trace, DraftPlan::chain(300), true);
  DraftOutcomes::Text text = outcomes.text(1, 0);
  CHECK(outcomes.accepted(text, 0) == 300);
  CHECK(outcomes.accepted(text, 301) == 4);
  const auto rates = outcomes.conditional_rates();
  REQUIRE(rates.size() == 300);
  CHECK(rates[3] == 1);
  CHECK(rates[4] == 0.5);  // one of two steps goes on
  CHECK(rates[299] == 1);
}
