// SPDX-License-Identifier: Apache-2.0
#include "cli/calibration_report.h"

#include "core/quantity_text.h"
#include "core/text_file.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

std::string percent(double x) { return significant(100 * x) + " %"; }
std::string micro(Seconds t) { return significant(t.value * 1e6, 3) + " us"; }

}  // namespace

void print_warnings(std::ostream& out, const std::vector<FitQuality>& all) {
  for (const FitQuality& q : all)
    for (const std::string& w : q.warnings) out << q.op << ": " << w << "\n";
}

void print_excluded_rows(std::ostream& out, const CalibratedDevice& r) {
  for (const TableRows& t : r.tables) {
    if (!t.unread.empty()) {
      out << t.table << ": left out: " << t.unread << "\n";
      continue;
    }
    out << t.table << ": " << t.used() << " of " << t.rows << " rows used\n";
    for (const auto& [why, rows] : t.excluded.reasons())
      out << t.table << ": " << rows << (rows == 1 ? " row" : " rows") << " left out: " << why << "\n";
  }
  for (const std::string& whose : r.transferred) out << whose << "\n";
}

void print_quality(std::ostream& out, const std::vector<FitQuality>& all, std::size_t width) {
  Table table({"op", "points", "median error", "mean", "P90", "90 % of times", "of unseen inside"});
  for (const FitQuality& q : all)
    if (!q.known) table.add({q.op, q.points, "unknown", "unknown", "unknown", "unknown", "unknown"});
    else
      table.add({q.op, q.points, percent(q.median), percent(q.mean), percent(q.p90),
                 significant(q.low) + " to " + significant(q.high), percent(q.coverage)});
  out << table.to_text(width);
}

void print_regimes(std::ostream& out, const std::vector<FitQuality>& all, std::size_t width) {
  if (all.empty()) return;
  Table table({"attention by regime", "points", "median error", "mean", "P90"});
  for (const FitQuality& q : all)
    if (!q.known) table.add({q.op, q.points, "unknown", "unknown", "unknown"});
    else table.add({q.op, q.points, percent(q.median), percent(q.mean), percent(q.p90)});
  out << "\n" << table.to_text(width);
}

void print_gpu_host(std::ostream& out, const Measured& m, const std::optional<LayerFit>& layer, std::size_t width) {
  const GpuHostFit f = fit_gpu_host(m);
  out << "host: a step " << micro(f.step) << ", an op recorded " << micro(f.record) << ", a token " << micro(f.token)
      << ", a graph " << micro(f.graph_launch) << ", a kernel by itself " << micro(f.issue) << ", a read "
      << micro(f.sync) << "\n";
  if (f.unseen > 0)
    out << "host: what " << f.unseen << " larger batches waited, not fitted: " << percent(f.median_error)
        << " off at the median, " << percent(f.worst_error) << " at worst\n";
  if (f.credit) out << "host: a graph saves the device " << micro(*f.credit) << " a kernel\n";
  if (layer) {
    out << "a layer beyond its kernels:";
    if (layer->of_one_row) out << " " << micro(*layer->of_one_row) << " with one row,";
    if (layer->of_rows) out << " " << micro(*layer->of_rows) << " with several,";
    out << " with which " << layer->points << " layers are " << percent(layer->median_error) << " off at the median, "
        << percent(layer->worst_error) << " at worst\n";
  }
  for (const std::string& w : f.warnings) out << "host: " << w << "\n";
  const auto samplers = fit_samplers(m);
  if (samplers.empty()) return;
  Table table({"choosing a token", "fixed", "per 1000 logits", "worst error"});
  for (const SamplerFit& s : samplers)
    table.add({s.op, micro(s.fixed), micro(1000.0 * s.per_logit), percent(s.worst_error)});
  out << table.to_text(width);
}

void print_comparison(std::ostream& out, const std::vector<ComparedPoint>& points, const std::string& first,
                      const std::string& second, std::size_t width) {
  out << "A: " << first << "; B: " << second << "; errors of both against the measured points\n";
  Table table(
      {"op", "points", "A median", "A P90", "A / measured", "B median", "B P90", "B / measured", "A / B", "A from B"});
  for (const ComparedKind& k : by_kind(points)) {
    if (k.kind == "all") table.add_rule();
    table.add({k.kind, k.points, percent(k.median[0]), percent(k.p90[0]), significant(k.bias[0]), percent(k.median[1]),
               percent(k.p90[1]), significant(k.bias[1]), significant(k.ratio), percent(k.apart)});
  }
  out << table.to_text(width);
}

void write_comparison_csv(const std::filesystem::path& file, const std::vector<ComparedPoint>& points,
                          const std::string& first, const std::string& second) {
  Table table({"op", "shape", "measured_s", "A: " + first, "B: " + second});
  const auto seconds = [](Seconds t) { return significant(t.value, 5); };
  for (const ComparedPoint& p : points) {
    std::string shape;
    for (const auto& [name, value] : p.point.shape)
      shape += (shape.empty() ? "" : " ") + name + "=" + std::to_string(value);
    table.add({p.kind, shape, seconds(p.point.median), seconds(p.predicted[0]), seconds(p.predicted[1])});
  }
  write_text_file(file, table.to_csv());
}

}  // namespace draftline::cli
