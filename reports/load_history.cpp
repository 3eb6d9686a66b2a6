// SPDX-License-Identifier: Apache-2.0
#include "reports/load_history.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/quantity_text.h"
#include "reports/figure.h"

namespace draftline {

static constexpr std::int64_t kMoments = 120;  // of a chart, at most

static std::string count_text(double v) {
  return v == std::floor(v) ? std::to_string(std::llround(v)) : significant(v);
}

void LoadHistory::Most::take(const Most& other) {
  waiting = std::max(waiting, other.waiting);
  sequences = std::max(sequences, other.sequences);
  blocks = std::max(blocks, other.blocks);
}

void LoadHistory::on_start(const FleetShape& fleet, const SchedulerLimits& limits) {
  blocks_ = limits.kv_blocks;
  servers_ = fleet.schedulers();
}

void LoadHistory::on_step(const StepRun& r) {
  const Ticks last = std::max(r.start, r.start + r.time() - 1);
  first_ = std::min(first_, r.start);
  last_ = std::max(last_, last);
  while (last_ / width_ - first_ / width_ >= kMoments) double_width();
  Moments& moments = by_server_[r.server];
  for (Ticks i = r.start / width_; i <= last / width_; ++i)
    moments[i].take({r.waiting, r.sequences, std::max(r.kv_blocks, r.kv_blocks_before)});
}

void LoadHistory::double_width() {
  width_ *= 2;
  for (auto& [server, moments] : by_server_) {
    Moments folded;
    for (const auto& [i, most] : moments) folded[i / 2].take(most);
    moments = std::move(folded);
  }
}

// The largest value of each moment, summed over the servers.
Chart LoadHistory::chart(const std::string& title, const std::string& values, std::int64_t Most::*figure) const {
  std::map<Ticks, std::int64_t> sum;
  for (Ticks i = first_ / width_; i <= last_ / width_; ++i) sum[i] = 0;
  for (const auto& [server, moments] : by_server_)
    for (const auto& [i, most] : moments) sum[i] += most.*figure;
  Chart c;
  c.title = title;
  c.x = {"time", false, [](double s) { return to_text(Seconds{s}); }};
  c.y = {values, false, count_text};
  Series line{servers_ > 1 ? "all servers" : "the server", {}};
  for (const auto& [i, value] : sum) {
    ChartPoint p{to_seconds(std::max(first_, i * width_)).value, to_double(value)};
    p.dot = false;
    line.points.push_back(std::move(p));
  }
  c.series.push_back(std::move(line));
  return c;
}

void LoadHistory::show_on(Page& page) const {
  if (by_server_.empty()) return;
  page.heading("Over time");
  page.show(chart("Queue", "requests that wait, the most in each moment", &Most::waiting));
  page.show(chart("Batch", "sequences in a step, the most in each moment", &Most::sequences));
  Chart pool = chart("KV pool", "KV blocks in use, the most in each moment", &Most::blocks);
  pool.level = to_double(blocks_) * servers_;
  pool.level_name = "the whole pool";
  page.show(pool);
}

}  // namespace draftline
