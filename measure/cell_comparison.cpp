// SPDX-License-Identifier: Apache-2.0
#include "measure/cell_comparison.h"

#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/priced/backend.h"
#include "model/acceptance/acceptance.h"
#include "model/devices/fit_quality.h"

namespace draftline {

namespace {

template <class Of>
double mean(const std::vector<MeasuredTurn>& turns, Of of) {
  double sum = 0;
  for (const MeasuredTurn& t : turns) sum += of(t) / count(turns);
  return sum;
}

std::vector<double> seconds(const std::vector<MeasuredTurn>& turns) {
  std::vector<double> all;
  for (const MeasuredTurn& t : turns) all.push_back(t.time.value);
  return all;
}

// Records a method's steps anew from what steered those of a measured run.
struct Replay {
  Replay(const TransformerShape& target, DType format, const MethodSpec& m, const Decoder::FindTransformer& find,
         int batch_size, int context)
      : decoder({.target = target, .precision = Precision(format), .slots = kSlots}, m, find,
                [](const WeightStore&) { return std::make_unique<PricedBackend>(); }) {
    decoder.ops.on_segment = [this](const SegmentRun& run) { segments.push_back(run); };
    decoder.generator.assume(batch_size, context);
  }
  static constexpr int kSlots = 1 << 12;
  double length() const {
    const auto& all = decoder.generator.session().lengths;
    return std::accumulate(all.begin(), all.end(), 0.0) / count(all);
  }
  const std::vector<SegmentRun>& next(const std::vector<std::vector<int>>& answers) {
    segments.clear();
    decoder.ops.follow(&answers);
    decoder.generator.step();
    return segments;
  }
  Decoder decoder;
  std::vector<SegmentRun> segments;
};

}  // namespace

Compared compared(double predicted, const std::vector<double>& measured, double scale) {
  const double median = quantile(measured, 0.5);
  const double noise = measured.size() < 2 ? 0 : 0.5 * (quantile(measured, 0.75) - quantile(measured, 0.25)) / median;
  return {.predicted = predicted, .measured = scale * median, .interval = {}, .noise = noise};
}

CellComparison::CellComparison(const MeasuredCell& m, const Setup& setup, double rate, Pricer& pricer,
                               const Decoder::FindTransformer& find)
    : m_(m),
      setup_(setup),
      rate_(rate),
      pricer_(pricer),
      find_(find),
      choice_{m.method},
      depth_(pricer.recordings().method(setup, choice_).depth()),
      length_(mean(m.turns, [](const MeasuredTurn& t) { return t.length; })),
      emitted_(mean(m.turns, [](const MeasuredTurn& t) { return t.emitted; })) {}

StepBreakdown CellComparison::plain_step() {
  const double length = mean(m_.plain, [](const MeasuredTurn& t) { return t.length; });
  StepBreakdown step = pricer_.step_price(setup_, autoregressive()).breakdown(length);
  step.time += of_tokens(1);
  return step;
}

void CellComparison::add_ops(Steps& steps, const std::vector<SegmentRun>& segments, double weight) const {
  const std::vector<int> lengths(at(m_.batch_size), to_int(std::lround(length_)));
  for (OpPrice& op : op_prices(segments, lengths, *setup_.device, *setup_.engine, speculation_with(depth_))) {
    op.time = weight * op.time;
    steps.ops.push_back(op);
  }
}

CellComparison::Steps CellComparison::alike_steps() {
  Steps all;
  const auto segments = pricer_.recordings().recorded_step(setup_, choice_);
  all.predicted = StepPrice(segments, *setup_.device, *setup_.engine, speculation_with(depth_)).breakdown(length_);
  all.predicted.time += of_tokens(emitted_);
  all.measured = seconds(m_.turns);
  add_ops(all, segments, 1);
  return all;
}

// Turns have different steps, so each turn is compared with the prediction of its own steps, then scaled to the mean.
CellComparison::Steps CellComparison::steered_steps() {
  std::map<int, std::size_t> turn_of;  // the turn of each step in the history that was counted
  for (std::size_t t = 0; t < m_.turns.size(); ++t)
    for (const int step : m_.turns[t].steered) turn_of[step] = t;
  const double share = 1.0 / count(turn_of);
  Steps all;
  std::vector<double> by_turn(m_.turns.size());
  Replay replay(*setup_.transformer, setup_.precision.activations, m_.method, find_, m_.batch_size, m_.context);
  for (std::size_t i = 0; i < m_.history.size(); ++i) {
    const double before = replay.length();
    const auto& segments = replay.next(m_.history[i]);
    const auto counted = turn_of.find(to_int(i));
    if (counted == turn_of.end()) continue;
    const MeasuredTurn& turn = m_.turns[counted->second];
    StepBreakdown step =
        StepPrice(segments, *setup_.device, *setup_.engine, speculation_with(depth_)).breakdown(before);
    step.time += of_tokens(turn.emitted);
    by_turn[counted->second] += step.time.value / count(turn.steered);
    all.predicted.add(step, share);
    add_ops(all, segments, share);
  }
  double mean_turn = 0;
  for (const double t : by_turn) mean_turn += t / count(by_turn);
  all.predicted.time = Seconds{mean_turn};
  for (std::size_t i = 0; i < by_turn.size(); ++i)
    all.measured.push_back(m_.turns[i].time.value / by_turn[i] * mean_turn);
  return all;
}

// `host` is what the ops leave of a step.
std::vector<ComparedOp> CellComparison::ops(const Steps& steps, const Compared& step) const {
  std::map<std::string, ComparedOp> by_kind;
  const auto kind = [&](Phase phase, std::string_view key) -> ComparedOp& {
    const std::string name = std::string(name_of(kPhaseNames, phase)) + "/" + std::string(key);
    return by_kind.try_emplace(name, ComparedOp{name}).first->second;
  };
  ComparedOp host{"host", step.predicted, step.measured};
  for (const OpPrice& op : steps.ops) {
    kind(op.phase, op.key).predicted += op.time.value;
    host.predicted -= op.time.value;
  }
  for (const MeasuredOp& op : m_.ops) {
    ComparedOp& one = kind(op.phase, op.key);
    one.measured += op.time.value;
    one.calls += op.calls;
    host.measured -= op.time.value;
  }
  std::vector<ComparedOp> all;
  for (const auto& [name, op] : by_kind) all.push_back(op);
  all.push_back(host);
  return all;
}

ValidationCell CellComparison::result() {
  ValidationCell cell;
  cell.measured = &m_;
  cell.emitted = emitted_;
  cell.acceptance_length = depth_ == 0 || steered() ? emitted_ : iid_chain_length(rate_, depth_);
  const std::vector<double> plain_times = seconds(m_.plain);
  const StepBreakdown plain = plain_step();
  const Steps method = steps();
  cell.plain = compared(plain.time.value, plain_times);
  cell.step = compared(method.predicted.time.value, method.measured);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < method.measured.size(); ++i)
    ratios.push_back(plain_times[std::min(i, plain_times.size() - 1)] / method.measured[i]);
  cell.speedup =
      compared(cell.acceptance_length * cell.plain.predicted / cell.step.predicted, ratios, cell.acceptance_length);
  const KnownErrors errors = known_errors(*setup_.device);
  const UncertainStep baseline(plain);
  if (const auto interval = prediction_interval(errors, method.predicted, &baseline)) {
    cell.step.interval = interval->step_time.of(cell.step.predicted);
    cell.speedup.interval = interval->speedup.of(cell.speedup.predicted);
  }
  if (const auto interval = prediction_interval(errors, plain, nullptr))
    cell.plain.interval = interval->step_time.of(cell.plain.predicted);
  if (!m_.ops.empty()) cell.ops = ops(method, cell.step);
  return cell;
}

}  // namespace draftline
