// SPDX-License-Identifier: Apache-2.0
#include "reports/certainty.h"

#include <algorithm>

#include "core/quantity_text.h"

namespace draftline {

namespace {

std::string times(double speedup) { return significant(speedup) + "x"; }

// "batch 1, 64 and 128"
std::string batches_text(const std::vector<const BatchAdvice*>& all) {
  std::string text = "batch ";
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 < all.size() ? ", " : " and ") + std::to_string(all[i]->batch_size);
  return text;
}

}  // namespace

std::string_view name_of(Payoff v) {
  switch (v) {
    case Payoff::pays: return "pays";
    case Payoff::does_not_pay: return "does not pay";
    case Payoff::too_close: break;
  }
  return "too close to say";
}

std::optional<Interval> request_interval(const BatchAdvice& b) {
  return b.interval ? std::optional(b.interval->of(b.request_speedup)) : std::nullopt;
}

const BatchAdvice* undecided(const Advice& a) {
  for (const BatchAdvice& b : a.batches)
    if (verdict_on(b) == Payoff::too_close && a.batch_at_load.value_or(b.batch_size) == b.batch_size) return &b;
  return nullptr;
}

std::string deciding_figure(const BatchAdvice& b) {
  const auto i = request_interval(b);
  return (i ? "the 90 % interval of the request speedup is " + times(i->low) + " to " + times(i->high)
            : "the request speedup is " + times(b.request_speedup) + " without an interval, and within " +
                  times(kUnknownError) + " of 1") +
         "; a step needs " + significant(b.break_even_length) +
         " tokens to break even in decoding, and this acceptance yields " + significant(b.acceptance_length);
}

std::vector<std::string> certainty_sentences(const Advice& a) {
  std::vector<const BatchAdvice*> close;
  for (const BatchAdvice& b : a.batches)
    if (verdict_on(b) == Payoff::too_close) close.push_back(&b);
  if (close.empty()) return {};
  const BatchAdvice* b = undecided(a);
  if (close.size() == 1 && b == close.front())
    return {"Too close to say at " + batches_text(close) + ": " + deciding_figure(*b) + "."};
  std::vector<std::string> all{"Too close to say at " + batches_text(close) + "."};
  if (b != nullptr) all.push_back("At batch " + std::to_string(b->batch_size) + " " + deciding_figure(*b) + ".");
  return all;
}

std::string settling_command(const Scenario& s, const Advice& a, const BatchAdvice& b, bool acceptance) {
  if (acceptance)
    return "curl http://SERVER/metrics > metrics.txt, then \"acceptance\": {\"measured\": \"metrics.txt\"} "
           "(docs/recipes/your_acceptance.md)";
  const Point& p = a.point;
  return "draftline calibrate --served plain.json speculating.json --engine " + s.engines[p.engine]->name +
         " --device " + s.devices[p.device]->name + " --transformer " + s.transformers[p.transformer]->name +
         " --engine-out mine.json, with benchmarks of your server at --max-concurrency " +
         std::to_string(b.batch_size) + " (docs/recipes/your_server.md)";
}

}  // namespace draftline
