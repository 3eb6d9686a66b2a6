// SPDX-License-Identifier: Apache-2.0
// Times work on the device by events: by phase, if ops are launched one by one, and on request of every op by itself.
#include <algorithm>

#include "decoder/cuda/runtime/idle.h"
#include "decoder/cuda/runtime/state.h"

namespace draftline {

std::size_t CudaBackend::State::mark() {
  if (events_used == events.size()) events.emplace_back();
  events[events_used].record(stream);
  return events_used++;
}

void CudaBackend::State::collect_times() {
  for (const Interval& i : intervals) {
    const double s = events[i.end].seconds_since(events[i.begin]);
    seconds.all += s;
    if (i.phase) seconds.of(*i.phase) += s;
  }
  for (const Clocked& c : clocked)
    if (on_op != nullptr && *on_op) (*on_op)(*c.tape, c.op, Seconds{events[c.end].seconds_since(events[c.begin])});
  clocked.clear();
  intervals.clear();
  events_used = 0;
}

// Keeps the device busy first, so that the host is ahead of it and no launch is waited for between two events.
void CudaBackend::State::launch_clocked() {
  constexpr int kAdditionsPerLaunch = 4000;  // some 8 us, more than a launch and an event take the host
  int launched = 0;
  for (const Op& op : tape->ops) {  // choosing algorithms would disturb the times, so it comes first
    if (std::holds_alternative<Upload>(op)) continue;
    prepare(op);
    launched += launches(op);
  }
  cuda::idle(kAdditionsPerLaunch * launched, stream);
  std::size_t begin = mark();
  for (std::size_t i = 0; i < tape->ops.size(); ++i) {
    const Op& op = tape->ops[i];
    if (std::holds_alternative<Upload>(op)) continue;
    launch(op);
    counts.kernels += launches(op);
    const std::size_t end = mark();
    intervals.push_back({tape->phases[i], begin, end});
    clocked.push_back({tape, i, begin, end});
    begin = end;
  }
  ++counts.single;
}

Seconds CudaBackend::event_time() {
  State& s = *state_;
  s.stream.wait();
  s.collect_times();
  constexpr std::size_t kEvents = 65;
  constexpr int kAdditions = 100000;
  cuda::idle(kAdditions, s.stream);
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < kEvents; ++i) at.push_back(s.mark());
  s.stream.wait();
  std::vector<double> between;
  for (std::size_t i = 1; i < kEvents; ++i) between.push_back(s.events[at[i]].seconds_since(s.events[at[i - 1]]));
  s.events_used = 0;
  std::nth_element(between.begin(), between.begin() + kEvents / 2, between.end());
  return Seconds{between[kEvents / 2]};
}

}  // namespace draftline
