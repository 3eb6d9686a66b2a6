// SPDX-License-Identifier: Apache-2.0
#include "measure/validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decoder/priced/backend.h"
#include "model/acceptance.h"
#include "model/fit_quality.h"

namespace draftline {

namespace {

constexpr std::array<std::string_view, 3> kPhaseNames{"draft", "verify", "commit"};

double spread(const std::vector<double>& v) {
  return v.size() < 2 ? 0 : 0.5 * (quantile(v, 0.75) - quantile(v, 0.25)) / quantile(v, 0.5);
}

}  // namespace

bool same_cell(const MeasuredCell& a, const MeasuredCell& b) {
  return a.transformer == b.transformer && a.method == b.method && a.batch_size == b.batch_size &&
         a.context == b.context;
}

bool Compared::within_noise() const { return noise > std::abs(error()); }

// Records a method's steps anew from what steered those of a measured run.
struct Validation::Replay {
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
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
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

Validation::Validation(const Device& device, const Engine& engine, std::map<std::string, TransformerShape> targets,
                       Decoder::FindTransformer find, double rate, DType format)
    : device_(device),
      engine_(engine),
      targets_(std::move(targets)),
      find_(find),
      rate_(rate),
      precision_(format),
      predictor_(find) {}
Validation::~Validation() = default;

Setup Validation::setup(const std::string& transformer, int batch_size, int context) const {
  return {&device_, &engine_, &targets_.at(transformer), precision_, {}, batch_size, context, 2};
}

Seconds Validation::expected(const std::string& transformer, const MethodSpec& method, int batch_size, int context) {
  return predictor_.step_price(setup(transformer, batch_size, context), {method})(context);
}

bool Validation::steered(const std::string& transformer, const MethodSpec& method) {
  return !predictor_.method(setup(transformer, 1, 1), {method}).static_plan();
}

ValidationCell Validation::compare(const MeasuredCell& m) {
  const MethodChoice choice{m.method};
  const Setup setup = this->setup(m.transformer, m.batch_size, m.context);
  const Method& method = predictor_.method(setup, choice);
  const bool speculates = method.depth() > 0;
  ValidationCell cell;
  cell.measured = &m;

  const auto tokens = [&](double emitted) { return m.batch_size * emitted * engine_.token; };
  std::vector<double> plain, times, ratios, steps_off;
  const StepPrice plain_price = predictor_.step_price(setup, draftline::autoregressive());
  StepBreakdown plain_step, step;
  {
    double length = 0;
    for (const MeasuredTurn& t : m.plain) {
      plain.push_back(t.time.value);
      length += t.length / static_cast<double>(m.plain.size());
    }
    plain_step = plain_price.breakdown(length);
    plain_step.time += tokens(1);
    cell.plain = {
        .predicted = plain_step.time.value, .measured = quantile(plain, 0.5), .interval = {}, .noise = spread(plain)};
  }

  std::vector<OpPrice> priced;
  cell.emitted = 0;
  double length = 0, predicted = 0;
  const bool steered = !m.turns.front().steered.empty();
  for (const MeasuredTurn& t : m.turns) {
    cell.emitted += t.emitted / static_cast<double>(m.turns.size());
    length += t.length / static_cast<double>(m.turns.size());
  }
  const std::vector<int> lengths(static_cast<std::size_t>(m.batch_size), static_cast<int>(std::lround(length)));
  const auto price_ops = [&](const std::vector<SegmentRun>& segments, double weight) {
    for (OpPrice& op : op_prices(segments, lengths, device_, engine_, speculates)) {
      op.time = weight * op.time;
      priced.push_back(op);
    }
  };
  if (!steered) {
    const auto segments = predictor_.recorded_step(setup, choice);
    step = StepPrice(segments, device_, engine_, speculates).breakdown(length);
    step.time += tokens(cell.emitted);
    predicted = step.time.value;
    for (const MeasuredTurn& t : m.turns) times.push_back(t.time.value);
    price_ops(segments, 1);
  } else {
    std::map<int, std::size_t> turn_of;  // the turn of each step in the history that was counted
    for (std::size_t t = 0; t < m.turns.size(); ++t)
      for (const int step : m.turns[t].steered) turn_of[step] = t;
    const double share = 1.0 / static_cast<double>(turn_of.size());
    std::vector<double> by_turn(m.turns.size());
    Replay replay(*setup.transformer, precision_.activations, m.method, find_, m.batch_size, m.context);
    for (std::size_t i = 0; i < m.history.size(); ++i) {
      const double before = replay.length();
      const auto& segments = replay.next(m.history[i]);
      const auto counted = turn_of.find(static_cast<int>(i));
      if (counted == turn_of.end()) continue;
      const MeasuredTurn& t = m.turns[counted->second];
      StepBreakdown one = StepPrice(segments, device_, engine_, speculates).breakdown(before);
      one.time += tokens(t.emitted);
      by_turn[counted->second] += one.time.value / static_cast<double>(t.steered.size());
      step.add(one, share);
      price_ops(segments, share);
    }
    for (const double t : by_turn) predicted += t / static_cast<double>(m.turns.size());
    step.time = Seconds{predicted};
    // Turns have different steps, so each turn is compared with the prediction of its own steps, then scaled to the
    // mean.
    for (std::size_t i = 0; i < by_turn.size(); ++i) times.push_back(m.turns[i].time.value / by_turn[i] * predicted);
  }
  cell.acceptance_length = !speculates || steered ? cell.emitted : iid_chain_length(rate_, method.depth());
  cell.step = {.predicted = predicted, .measured = quantile(times, 0.5), .interval = {}, .noise = spread(times)};
  for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(plain[std::min(i, plain.size() - 1)] / times[i]);
  cell.speedup = {.predicted = cell.acceptance_length * cell.plain.predicted / predicted,
                  .measured = cell.acceptance_length * quantile(ratios, 0.5),
                  .interval = {},
                  .noise = spread(ratios)};
  if (const auto interval = prediction_interval(known_errors(device_), step, &plain_step)) {
    cell.step.interval = interval->step_time;
    cell.speedup.interval =
        Interval{interval->speedup.low * cell.speedup.predicted, interval->speedup.high * cell.speedup.predicted};
  }
  if (const auto interval = prediction_interval(known_errors(device_), plain_step, nullptr))
    cell.plain.interval = interval->step_time;

  std::map<std::string, ComparedOp> by_kind;
  const auto kind = [&](Phase phase, std::string_view key) -> ComparedOp& {
    const std::string name = std::string(kPhaseNames[static_cast<std::size_t>(phase)]) + "/" + std::string(key);
    return by_kind.try_emplace(name, ComparedOp{name}).first->second;
  };
  ComparedOp host{"host", predicted, cell.step.measured};
  for (const OpPrice& op : priced) {
    kind(op.phase, op.key).predicted += op.time.value;
    host.predicted -= op.time.value;
  }
  for (const MeasuredOp& op : m.ops) {
    ComparedOp& one = kind(op.phase, op.key);
    one.measured += op.time.value;
    one.calls += op.calls;
    host.measured -= op.time.value;
  }
  if (!m.ops.empty()) {
    for (const auto& [name, op] : by_kind) cell.ops.push_back(op);
    cell.ops.push_back(host);
  }
  return cell;
}

// ---- over many cells

namespace {

// The batch at which the speedup falls through 1, interpolated linearly over the logarithm of the batch.
std::optional<double> crossing(const std::map<int, double>& speedup) {
  for (auto next = std::next(speedup.begin()); next != speedup.end(); ++next) {
    const auto& [from, high] = *std::prev(next);
    const auto& [to, low] = *next;
    if (high >= 1 && low < 1) return from * std::pow(static_cast<double>(to) / from, (high - 1) / (high - low));
  }
  return std::nullopt;
}

}  // namespace

std::vector<StopsPaying> stops_paying(const std::vector<ValidationCell>& cells) {
  struct Curves {
    std::map<int, double> predicted, measured;
  };
  std::map<std::tuple<std::string, MethodSpec, int>, Curves> all;
  for (const ValidationCell& c : cells) {
    Curves& one = all[{c.measured->transformer, c.measured->method, c.measured->context}];
    one.predicted[c.measured->batch_size] = c.speedup.predicted;
    one.measured[c.measured->batch_size] = c.speedup.measured;
  }
  std::vector<StopsPaying> found;
  for (const auto& [key, curves] : all) {
    if (curves.predicted.size() < 2) continue;
    const StopsPaying one{std::get<0>(key), std::get<1>(key), std::get<2>(key), crossing(curves.predicted),
                          crossing(curves.measured)};
    if (one.predicted || one.measured) found.push_back(one);
  }
  return found;
}

std::vector<ErrorBudgetItem> error_budget(const std::vector<ValidationCell>& cells) {
  std::map<std::string, ErrorBudgetItem> all;
  double n = 0;
  for (const ValidationCell& c : cells) n += !c.ops.empty();
  for (const ValidationCell& c : cells)
    for (const ComparedOp& op : c.ops) {
      ErrorBudgetItem& b = all.try_emplace(op.key, ErrorBudgetItem{op.key}).first->second;
      const double error = (op.predicted - op.measured) / c.step.measured;
      b.absolute += std::abs(error) / n;
      b.mean += error / n;
      b.share += op.measured / c.step.measured / n;
    }
  std::vector<ErrorBudgetItem> sorted;
  for (auto& [key, b] : all) sorted.push_back(b);
  std::sort(sorted.begin(), sorted.end(),
            [](const ErrorBudgetItem& a, const ErrorBudgetItem& b) { return a.absolute > b.absolute; });
  return sorted;
}

}  // namespace draftline
