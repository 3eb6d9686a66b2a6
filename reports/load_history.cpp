// SPDX-License-Identifier: Apache-2.0
#include "reports/load_history.h"

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "core/quantity_text.h"
#include "reports/figure.h"

namespace draftline {

namespace {

constexpr std::size_t kMoments = 120;  // of a chart
using Moments = std::array<std::int64_t, kMoments>;

}  // namespace

void LoadHistory::on_start(const FleetShape&, const SchedulerLimits& limits) { blocks_ = limits.kv_blocks; }

void LoadHistory::on_step(const StepRun& r) {
  by_server_[r.server].push_back(
      {r.start, r.start + r.time(), r.waiting, r.sequences, std::max(r.kv_blocks, r.kv_blocks_before)});
}

// The largest value of each stretch of time, summed over the servers.
Chart LoadHistory::chart(const std::string& title, const std::string& values, std::int64_t Steps::*figure) const {
  Ticks first = kForever, last = 0;
  for (const auto& [server, all] : by_server_)
    for (const Steps& s : all) first = std::min(first, s.start), last = std::max(last, s.end);
  const Ticks stretch = std::max<Ticks>(1, (last - first) / to_int64(kMoments) + 1);
  Moments sum{};
  for (const auto& [server, all] : by_server_) {
    Moments most{};
    for (const Steps& s : all)
      for (Ticks i = (s.start - first) / stretch; i <= std::max(s.start, s.end - 1) / stretch - first / stretch; ++i)
        if (auto& moment = most[std::min(at(i), kMoments - 1)]; moment < s.*figure) moment = s.*figure;
    for (std::size_t i = 0; i < kMoments; ++i) sum[i] += most[i];
  }
  Chart c;
  c.title = title;
  c.x = {"time", false, [](double s) { return to_text(Seconds{s}); }};
  c.y = {values, false, to_digits<5>};
  Series line{by_server_.size() > 1 ? "all servers" : "the server", {}};
  for (std::size_t i = 0; i < kMoments; ++i) {
    ChartPoint p{to_seconds(first + to_int64(i) * stretch).value, to_double(sum[i])};
    p.dot = false;
    line.points.push_back(std::move(p));
  }
  c.series.push_back(std::move(line));
  return c;
}

void LoadHistory::show_on(Page& page) const {
  if (by_server_.empty()) return;
  page.heading("Over time");
  page.show(chart("Queue", "requests that wait, the most in each moment", &Steps::waiting));
  page.show(chart("Batch", "sequences in a step, the most in each moment", &Steps::sequences));
  Chart pool = chart("KV pool", "KV blocks in use, the most in each moment", &Steps::blocks);
  pool.level = to_double(blocks_) * to_double(by_server_.size());
  pool.level_name = "the whole pool";
  page.show(pool);
}

}  // namespace draftline
