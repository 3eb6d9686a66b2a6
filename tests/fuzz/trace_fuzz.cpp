// SPDX-License-Identifier: Apache-2.0
// An acceptance trace, as the lines of its text: they are packed, and the last line with counts and checksum is put
// behind them, so that a changed line is read too. What is a gzip file already is read as it is.
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/fingerprint.h"
#include "core/gzip.h"
#include "model/acceptance/draft_counts.h"
#include "tests/fuzz/input_file.h"
#include "trace/draft_outcomes.h"

using namespace draftline;
using namespace draftline::fuzz;

namespace {

std::string with_last_line(std::string_view text) {
  std::istringstream lines{std::string(text)};
  Fingerprint sum;
  std::string all;
  std::int64_t prompts = -1, positions = 0;  // the header is no prompt
  for (std::string line; std::getline(lines, line); ++prompts) {
    sum.add(line);
    all += line + "\n";
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (prompts >= 0 && json.is_object() && json.contains("tokens")) positions += std::ssize(json.at("tokens"));
  }
  const nlohmann::json last{{"prompts", prompts}, {"positions", positions}, {"checksum", to_hex(sum.value())}};
  return all + last.dump() + "\n";
}

void replay(const std::shared_ptr<const Trace>& trace, const DraftPlan& plan) {
  if (trace->refuses(plan)) return;
  is_figure(trace->mean_length(plan), "mean_length");
  check(trace->mean_length(plan) >= 1, "a step emits a token");
  const DraftOutcomes outcomes = DraftOutcomes::from_trace(trace, plan, true);
  DraftOutcomes::Text text = outcomes.text(0, 0);
  for (int position = 0; position < 8; ++position) {
    const int accepted = outcomes.accepted(text, position);
    check(accepted >= 0 && accepted <= outcomes.depth(), "more drafts are accepted than there are");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  told([&] {
    const std::string packed = is_gzip(bytes) ? std::string(bytes) : gzip(with_last_line(bytes), 1);
    const auto trace = std::make_shared<const Trace>(Trace::read(input_file("trace.jsonl.gz", packed)));
    for (const auto& level : trace->rank_acceptance())
      for (const double share : level) is_figure(share, "rank_acceptance");
    if (trace->has_drafts()) is_figure(DraftCounts::of(trace->shares_of_drafts()).mean(), "drafts");
    replay(trace, DraftPlan::chain(1));
    replay(trace, DraftPlan::chain(trace->header().depth));
    replay(trace, DraftPlan::recorded(trace->header()));
  });
  return 0;
}
