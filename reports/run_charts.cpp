// SPDX-License-Identifier: Apache-2.0
#include "reports/run_charts.h"

#include <algorithm>
#include <array>

#include "reports/run_figures.h"

namespace draftline {

namespace {

constexpr std::string_view kPlain = "autoregressive";
constexpr std::size_t kMostDrawn = 2'000;  // points of a grid with charts of each setup, for a page of a few MB

struct AlongWhat {
  std::string_view key;  // of the inputs
  const char* title;
};
constexpr std::array<AlongWhat, 4> kAlong{AlongWhat{"batch_size", "batch size"},
                                          {"prompt_tokens", "prompt tokens"},
                                          {"output_tokens", "output tokens"},
                                          {"draft_length", "draft length k"}};

std::vector<double> as_numbers(const std::vector<int>& values) { return {values.begin(), values.end()}; }

}  // namespace

RunCharts::Along RunCharts::along_of(const Scenario& s) {
  if (s.batch_sizes.size() > 1) return Along::batch_size;
  if (s.prompt_tokens.size() > 1) return Along::prompt_tokens;
  return s.output_tokens.size() > 1 ? Along::output_tokens : Along::draft_length;
}

// A chart's axes, by which list it is along.
static Chart speedup_chart(const Scenario& s, std::size_t along) {
  Chart c;
  c.title = "Decode speedup";
  c.x = {kAlong[along].title, false, to_digits<6>, true};
  const std::vector<int>* lists[] = {&s.batch_sizes, &s.prompt_tokens, &s.output_tokens};
  if (along < std::size(lists)) c.x.logarithmic = far_apart(as_numbers(*lists[along]));
  c.y = {"over plain decoding at the same batch size, with 90 % intervals"};
  c.level = 1;
  c.level_name = "plain decoding";
  return c;
}

static Chart rate_chart() {
  Chart c;
  c.title = "Throughput per device against the speed of a sequence";
  c.x = {"tokens/s per sequence"};
  c.y = {"tokens/s per device"};
  return c;
}

RunCharts::RunCharts(const Scenario& s)
    : scenario_(s),
      along_(along_of(s)),
      differing_(s, Format::html,
                 {"", "batch_size", "draft_length", "acceptance", "random_weights", kAlong[at(along_)].key}),
      speedups_(speedup_chart(s, at(along_))),
      rates_(rate_chart()),
      explorer_(s),
      steps_(s) {}

std::optional<double> RunCharts::place_of(const Point& p) const {
  switch (along_) {
    case Along::batch_size: return scenario_.batch_sizes[p.batch];
    case Along::prompt_tokens: return scenario_.prompt_tokens[p.prompt];
    case Along::output_tokens: return scenario_.output_tokens[p.output];
    case Along::draft_length: break;
  }
  return scenario_.method(p).spec.draft_length();
}

void RunCharts::add(const Outcome& o) {
  const auto* p = std::get_if<Prediction>(&o.result);
  if (p == nullptr) return;
  explorer_.add(o);
  steps_.add(o);
  const std::string setup = differing_.text(o.point),
                    series = method_text(scenario_, o.point, along_ != Along::draft_length);
  const MethodChoice& method = scenario_.method(o.point);
  if (const auto place = place_of(o.point); place && method.spec.name() != kPlain)
    speedups_.add(setup, series, {*place, p->speedup, speedup_interval(*p)});
  if (along_ != Along::batch_size) return;
  const int devices = scenario_.parallel[o.point.parallel].devices + (method.drafter_device ? 1 : 0),
            batch = scenario_.batch_sizes[o.point.batch];
  rates_.add(setup, series,
             {p->throughput.value / batch, p->throughput.value / devices, {}, "batch " + std::to_string(batch)});
}

// The charts of setups from `from` on, which the explorer of a page with scripts may replace.
static void show_charts(Page& page, const std::vector<Chart>& charts, std::size_t from, bool replaced) {
  page.is_replaced_by_explorer(replaced);
  for (std::size_t i = from; i < charts.size(); ++i) page.show(charts[i]);
  page.is_replaced_by_explorer(false);
}

void RunCharts::show_on(Page& page) const {
  explorer_.show_on(page);
  auto speedups = speedups_.charts(), rates = rates_.charts(false);  // along the batch sizes
  const bool explores = explorer_.explores(), first_alone = explores && scenario_.points() > kMostDrawn;
  const bool leaves_out = first_alone && speedups.size() > 1;
  if (first_alone)
    for (auto* charts : {&speedups, &rates}) charts->resize(std::min<std::size_t>(1, charts->size()));
  show_charts(page, speedups, 0, explores);
  if (!rates.empty()) page.show(rates.front());
  show_charts(page, rates, 1, explores);
  steps_.show_on(page);
  if (leaves_out) page.say("These charts show the first setup; the explorer and the table have all.");
  else page.say(rates_.left_out().empty() ? speedups_.left_out() : rates_.left_out());
}

}  // namespace draftline
