// SPDX-License-Identifier: Apache-2.0
#include "measure/decoding.h"

#include <algorithm>
#include <map>

#include "core/int_indexed.h"
#include "model/devices/fit_quality.h"

namespace draftline::measure {

void Decoding::use(std::unique_ptr<Decoder> decoder, std::unique_ptr<StepMeter> meter, int capacity, int tail,
                   int warm_up) {
  decoder_ = std::move(decoder);
  meter_ = std::move(meter);
  longest_ = capacity - tail - decoder_->method->depth() - 1;
  warm_up_ = warm_up;
}

void Decoding::start_batch(int batch_size, int context) {
  constexpr int kShort = 2, kMostRows = 1 << 13;  // tokens of a short prompt; rows of prompts that are read at once
  Generator& g = decoder_->generator;
  while (g.session().sequences > 0) g.leave(g.session().sequences - 1);
  const bool steady = decoder_->method->static_plan();
  // A method whose steps depend on the text keeps a state of it, so its prompts have the whole length.
  const std::vector<int> lengths = lengths_around(steady ? kShort : context, batch_size);
  const int at_once = std::max(1, kMostRows / lengths.back());
  for (int s = 0; s < batch_size;) {
    std::vector<std::vector<int>> prompts;
    std::vector<int> ids;
    for (const int end = std::min(batch_size, s + at_once); s < end; ++s) {
      ids.push_back(s);
      prompts.emplace_back();
      const int length = lengths[at(s)];
      for (int i = 0; i < length; ++i) prompts.back().push_back((s * 37 + i * 101 + 5) % target_.vocabulary);
    }
    g.join(prompts, ids);
  }
  if (steady) g.assume_length(context);
  clock_ =
      std::make_unique<StepClock>(decoder_->ops, g, *meter_, steady ? std::optional(context) : std::nullopt, longest_);
  clock_->warm_up(warm_up_);
}

MeasuredCell measure(const GridCell& cell, Decoding& plain, Decoding& method, int turns, Seconds time_budget) {
  MeasuredCell m{
      .transformer = cell.transformer, .method = cell.method, .batch_size = cell.batch_size, .context = cell.context};
  plain.start_batch(cell.batch_size, cell.context);
  method.start_batch(cell.batch_size, cell.context);
  const InTurn timed = steps_in_turn(plain.clock(), method.clock(), turns, time_budget);
  if (timed.method.empty()) {
    m.skipped = "its texts had no room to grow";
    return m;
  }
  if (std::ranges::none_of(timed.method, [](const TimedSteps& t) { return t.warm; })) {
    m.skipped = "its steps differ so much that few were like one before: what was timed is how graphs are made";
    return m;
  }
  const auto turn = [](const TimedSteps& t) {
    return MeasuredTurn{
        .time = t.time, .length = t.length, .emitted = t.emitted, .steered = t.steered, .clock_mhz = t.clock_mhz};
  };
  for (std::size_t i = 0; i < timed.method.size(); ++i) {
    if (!timed.method[i].warm) continue;
    m.plain.push_back(turn(timed.plain[i]));
    m.turns.push_back(turn(timed.method[i]));
  }
  m.history = method.clock().history();
  // The time of each kind of op is the median over the turns.
  std::map<std::pair<std::string, Phase>, std::pair<std::vector<double>, double>> by_kind;
  for (const auto& one : timed.ops)
    for (const auto& op : one) {
      auto& [times, calls] = by_kind[{op.key, op.phase}];
      times.push_back(op.time.value);
      calls += op.calls / count(timed.ops);
    }
  for (const auto& [kind, op] : by_kind)
    m.ops.push_back({kind.first, kind.second, Seconds{quantile(op.first, 0.5)}, op.second});
  return m;
}

}  // namespace draftline::measure
