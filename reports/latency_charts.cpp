// SPDX-License-Identifier: Apache-2.0
#include "reports/latency_charts.h"

#include "core/quantity_text.h"

namespace draftline {

namespace {

using Of = LatencyTargets::Target::Of;
constexpr std::array<Of, 3> kLatencies{Of::ttft, Of::tpot, Of::e2e};

Chart distribution(const char* title, Of of, const LatencyTargets& targets) {
  Chart c;
  c.title = title;
  c.x = {"latency", true, [](double s) { return to_text(Seconds{s}); }};
  c.y = {"share of requests", false, [](double share) { return significant(100 * share) + " %"; }};
  for (const LatencyTargets::Target& t : targets.targets)
    if (t.of == of) c.limits.push_back({t.limit.value, t.name});
  return c;
}

}  // namespace

LatencyCharts::LatencyCharts(const LatencyTargets& targets)
    : charts_{ChartSet(distribution("Time to first token", Of::ttft, targets)),
              ChartSet(distribution("Time per output token", Of::tpot, targets)),
              ChartSet(distribution("End-to-end latency", Of::e2e, targets))} {}

void LatencyCharts::add(const std::string& setup, const std::string& series, const ServingFigures& figures) {
  constexpr std::array kNamed{0.5, 0.9, 0.95, 0.99};
  constexpr int kShares = 50;
  for (std::size_t i = 0; i < kLatencies.size(); ++i) {
    const Histogram& latency = figures.latency(kLatencies[i]);
    if (latency.count() == 0) continue;
    const auto add = [&](double share, bool dot) {
      ChartPoint p{latency.quantile(share).value, share, {}, dot ? "p" + significant(100 * share, 2) : ""};
      p.dot = dot;
      charts_[i].add(setup, series, std::move(p));
    };
    for (int n = 1; n <= kShares; ++n) add((n - 0.5) / kShares, false);
    for (const double share : kNamed) add(share, true);
  }
}

void LatencyCharts::show_on(Page& page) const {
  const std::array all{charts_[0].charts(), charts_[1].charts(), charts_[2].charts()};
  page.heading("Distributions of latencies");
  for (std::size_t setup = 0; setup < all[0].size(); ++setup)
    for (const auto& of_figure : all)
      if (setup < of_figure.size()) page.show(of_figure[setup]);
  page.say(charts_[0].left_out());
}

}  // namespace draftline
