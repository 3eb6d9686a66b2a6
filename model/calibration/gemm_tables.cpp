// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/gemm_tables.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "model/calibration/table_cells.h"

namespace draftline {
namespace {

// How the collector times a framework's layers of a format.
struct Timing {
  int copies = kCollectorCopies;
  bool by_graph = true;  // else each launch is the host's, who may take longer than the kernels
};
// `l2`: of the device, if it is known; `weights`: of the layer.
Timing timing_of(std::string_view framework, std::optional<NarrowFormat> format, std::optional<Bytes> l2,
                 Bytes weights) {
  constexpr double kMostToFill = 5;  // aiconfigurator's collector/trtllm/collect_gemm.py
  if (framework == "TRTLLM" && l2)
    return {.copies = static_cast<int>(std::clamp(std::ceil(*l2 / weights), 1.0, kMostToFill))};
  if (framework != "VLLM" || !format || *format == NarrowFormat::fp8) return {};
  return {.copies = 1, .by_graph = *format != NarrowFormat::fp8_block};
}

// What the host takes to launch a layer: the time of layers that cost the device next to nothing.
constexpr int kMostOfSmall = 256;
constexpr double kLeastOverHost = 3;

}  // namespace

bool is_called(std::optional<NarrowFormat> format, std::string_view in_table) {
  return format ? in_table == name(*format) : in_table == "bfloat16" || in_table == "float16";
}

bool has_rate(const Device& d, NarrowFormat f) { return multiplied_in(d, operands_of(f)) == f; }

void exclude_formats(const Csv& t, std::string_view column, const Device& d, ExcludedRows& excluded) {
  const std::size_t type = t.column(column);
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const std::string_view called = t.text(i, type);
    if (is_called({}, called)) continue;
    const auto known = std::find_if(kNarrowFormats.begin(), kNarrowFormats.end(),
                                    [&](NarrowFormat f) { return is_called(f, called); });
    if (known == kNarrowFormats.end()) excluded.add(printable(called, 60) + ", a format that has no fit of its own");
    else if (!has_rate(d, *known)) excluded.add(std::string(called) + ", in which the datasheet has no rate");
  }
}

GemmTable read_gemm_table(const Csv& t, std::optional<NarrowFormat> format, std::optional<Bytes> l2) {
  constexpr Seconds kMillisecond{1e-3};
  const auto type = t.column("gemm_dtype"), m = t.column("m"), n = t.column("n"), k = t.column("k"),
             time = t.column("latency");
  std::optional<std::size_t> framework;  // only needed for rows of narrow operands
  GemmTable table;
  std::vector<double> small;
  std::vector<bool> launched;  // by the host, of each point
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (!is_called(format, t.text(i, type))) continue;
    if (format && !framework) framework = t.column("framework");
    GemmPoint p{.rows = count(t, i, m, 1),
                .in = count(t, i, k, 1),
                .out = count(t, i, n, 1),
                .time = latency(t, i, time, kMillisecond),
                .operands = format ? operands_of(*format) : Operands{}};
    const Timing timing =
        timing_of(framework ? t.text(i, *framework) : "", format, l2, bytes_of(p.operands.weights, 1.0 * p.in * p.out));
    p.copies = timing.copies;
    if (!timing.by_graph && p.in <= kMostOfSmall && p.out <= kMostOfSmall) small.push_back(p.time.value);
    if (p.rows > 1024 || p.out < 1024 || p.out > 65536 || p.in < 1024 || p.in > 16384) {
      ++table.outside;
      continue;
    }
    table.points.push_back(p);
    launched.push_back(!timing.by_graph);
  }
  if (small.empty()) return table;
  const double least = kLeastOverHost * quantile(small, 0.5);
  std::vector<GemmPoint> kept;
  for (std::size_t i = 0; i < table.points.size(); ++i)
    if (!launched[i] || table.points[i].time.value > least) kept.push_back(table.points[i]);
  table.host_bound = count(table.points) - count(kept);
  table.points = std::move(kept);
  return table;
}

}  // namespace draftline
