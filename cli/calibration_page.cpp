// SPDX-License-Identifier: Apache-2.0
#include "cli/calibration_page.h"

#include "core/quantity_text.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"

namespace draftline::cli {

namespace {

std::string time_text(double seconds) { return to_text(Seconds{seconds}); }

Table quality_table(const std::vector<FitQuality>& all) {
  Table table({"op, on held-out shapes", "points", "median error", "mean", "P90"});
  for (const FitQuality& q : all)
    if (q.known) table.add({q.op, q.points, percent_cell(q.median), percent_cell(q.mean), percent_cell(q.p90)});
    else table.add({q.op, q.points, "unknown", "unknown", "unknown"});
  return table;
}

std::string shape_of(const ComparedPoint& p) {
  std::string shape;
  for (const auto& [name, value] : p.point.shape)
    shape += (shape.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return shape;
}

}  // namespace

void write_calibration_page(const Output& to, const CalibratedDevice& device,
                            const std::vector<ComparedPoint>& points) {
  const InputFiles none;
  const auto page = new_page(to, "draftline calibrate", none);
  Chart common;
  common.title = "Predicted over measured";
  common.x = {"measured time of a kernel", true, time_text};
  common.y = {"predictions of this calibration, fitted to these points"};
  common.level = 1;
  common.level_name = "as measured";
  ChartSet charts(std::move(common));
  for (const ComparedPoint& p : points)
    if (p.point.median.value > 0)
      charts.add(p.kind, p.kind, {p.point.median.value, p.predicted[1] / p.point.median, {}, shape_of(p)}, false);
  for (const Chart& chart : charts.charts(false)) page->show(chart);
  page->say(charts.left_out());
  page->heading("Errors of the fits");
  page->show(quality_table(device.quality));
  for (const FitQuality& q : device.quality)
    for (const std::string& warning : q.warnings) page->say("warning: " + q.op + ": " + warning);
  if (!device.regimes.empty()) {
    page->heading("Attention by regime");
    page->show(quality_table(device.regimes));
  }
  page->finish();
}

}  // namespace draftline::cli
