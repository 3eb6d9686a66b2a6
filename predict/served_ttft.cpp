// SPDX-License-Identifier: Apache-2.0
#include "predict/served_ttft.h"

#include <algorithm>
#include <cmath>

#include "predict/prediction.h"

namespace draftline {

namespace {

// The TTFT of a run in a batch that stays full, without the front end; none: the run has no lengths or can't run.
std::optional<Seconds> in_steps(const ServedPoint& p, const Engine& profile) {
  auto engine = std::make_shared<Engine>(profile);
  engine->front_end = {};
  Setup setup = p.setup;
  setup.engine = std::move(engine);
  const int prompt = std::max(1, static_cast<int>(std::lround(p.run.request_prompt))),
            output = std::max(2, static_cast<int>(std::lround(p.run.request_output)));
  const auto predicted =
      Predictor(*p.pricer, setup, p.method, Predictor::Intervals::left_out).at(setup.batch_size, prompt, output);
  const auto* figures = std::get_if<Prediction>(&predicted);
  return figures != nullptr ? std::optional(figures->request.ttft) : std::nullopt;
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

}  // namespace

TtftFit fit_ttft(const std::vector<ServedPoint>& points, const ServedFit& fit) {
  TtftFit result;
  std::vector<double> rest;
  for (const ServedPoint& p : points) {
    if (!p.run.ttft || p.run.request_output < 2 || p.run.rows > 1) continue;
    const auto shipped = in_steps(p, *p.setup.engine), fitted = in_steps(p, fit.engine);
    if (!shipped || !fitted) continue;
    result.runs.push_back({p.run.place, *p.run.ttft, *shipped + p.setup.engine->front_end, *fitted});
    rest.push_back(std::max(0.0, (*p.run.ttft - *fitted).value));
  }
  if (rest.empty()) return result;
  const double value = middle(rest);
  for (ServedTtft& run : result.runs) run.fitted += Seconds{value};
  const auto [low, high] = std::ranges::minmax(rest);
  result.front_end = ProfileValue{.field = &engine_field("front_end"), .value = value, .low = low, .high = high};
  return result;
}

}  // namespace draftline
