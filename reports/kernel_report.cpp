// SPDX-License-Identifier: Apache-2.0
#include "reports/kernel_report.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/quantity_text.h"
#include "model/kernels/kernel_time.h"
#include "reports/run_figures.h"

namespace draftline {

namespace {

constexpr std::size_t kMostSteps = 12;

std::string flop_rate(double v) { return significant(v / 1e12) + " TFLOP/s"; }

Table kernel_table(const Outcome& o) {
  const auto& columns = kernel_figures();
  std::vector<Figure<KernelTime>> shown;
  std::ranges::copy_if(columns, std::back_inserter(shown), [](const auto& f) { return !f.title.empty(); });
  std::vector<Table::Column> titles;
  add_titles(titles, shown);
  Table table(std::move(titles));
  for (const KernelTime& k : o.kernels) {
    std::vector<Cell> row;
    add_cells(row, shown, k);
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

Chart KernelReport::roofline_of(const Outcome& o, const std::string& name) const {
  Chart c;
  c.title = "Roofline: " + name;
  c.x = {"FLOP per byte", true};
  c.y = {"FLOP/s of each kernel that multiplies, below the datasheet's limits", true, flop_rate};
  const Device& device = *scenario_.devices[o.point.device];
  const Precision precision = precision_at(scenario_, o.point);
  const DType inputs = precision.mlp.inputs.value_or(precision.activations);
  const FlopsPerSecond peak = matrix_rate(device, inputs, inputs);
  double least = 1, most = peak.value / device.bandwidth.value;
  std::map<Phase, Series> phases;
  for (const KernelTime& k : o.kernels) {
    if (k.work.flops.value <= 0 || k.work.bytes().value <= 0 || k.time.value <= 0) continue;
    const double intensity = k.work.flops.value / k.work.bytes().value;
    least = std::min(least, intensity);
    most = std::max(most, 2 * intensity);
    Series& of_phase = phases[k.phase];
    of_phase.name = name_of(kPhaseNames, k.phase);
    of_phase.joined = false;
    of_phase.points.push_back({intensity,
                               k.work.flops.value / k.time.value,
                               {},
                               k.op + " " + k.shape + "\n" + std::to_string(k.count) + " of them: " + to_text(k.time)});
  }
  Series roof{"limits of " + device.name, {}};
  const auto limit = [&](double x) { return std::min(peak.value, device.bandwidth.value * x); };
  for (const double x : {least, peak.value / device.bandwidth.value, most})
    if (roof.points.empty() || x > roof.points.back().x) roof.points.push_back({x, limit(x)});
  if (phases.empty()) return c;
  c.series.push_back(std::move(roof));
  for (auto& [phase, series] : phases) c.series.push_back(std::move(series));
  return c;
}

void KernelReport::add(const Outcome& o, const std::string& name) {
  if (o.kernels.empty()) return;
  if (steps_.size() == kMostSteps) ++left_out_;
  else steps_.push_back({name, kernel_table(o), roofline_of(o, name)});
}

void KernelReport::show_on(Page& page) const {
  for (const Step& step : steps_) page.show(step.roofline);
  for (const Step& step : steps_) {
    page.heading("Kernels of a step: " + step.name);
    page.show(step.table);
  }
  if (left_out_ > 0) page.say("--json has the kernels of " + std::to_string(left_out_) + " further points.");
}

}  // namespace draftline
