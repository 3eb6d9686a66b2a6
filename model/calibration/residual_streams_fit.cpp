// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/residual_streams_fit.h"

#include <cstdint>

#include "model/calibration/part_fit.h"
#include "model/calibration/table_cells.h"
#include "model/kernels/gpu_stream_mix_time.h"

namespace draftline {
namespace {

std::vector<StreamMixPoint> calls_of(const std::vector<StreamMixPoint>& all, bool spreads) {
  std::vector<StreamMixPoint> points;
  for (const StreamMixPoint& p : all)
    if (p.kernel.spreads == spreads) points.push_back(p);
  return points;
}

// What calls of one shape leave in L2 for the next: streams, those that are written apart from those that are read.
Bytes left_in_l2(const StreamMix& k) {
  return bytes_of(k.activations, 1.0 * k.rows * k.hidden * ((k.spreads ? 2 : 1) * k.streams + 1));
}

}  // namespace

Seconds predicted(const ResidualStreamsFit& f, const Device& d, const StreamMixPoint& p) {
  return stream_mix_time(f, d, p.kernel, left_in_l2(p.kernel));
}
Seconds predicted(const Device& d, const StreamMixPoint& p) { return predicted(*d.gpu().residual_streams, d, p); }

ResidualStreamsFit fit_residual_streams(const std::vector<StreamMixPoint>& points, const Device& d, FitSpread* spread) {
  if (spread != nullptr) *spread = {};
  const PartFitting fit_part{"residual streams", d, spread};
  ResidualStreamsFit fit;
  fit_part(fit, &ResidualStreamsFit::join, "join", calls_of(points, false));
  fit_part(fit, &ResidualStreamsFit::spread, "spread", calls_of(points, true));
  return fit;
}

std::vector<StreamMixPoint> read_residual_streams_table(const Csv& t) {
  constexpr Seconds kMillisecond{1e-3};
  constexpr int kMostStreams = 1 << 10;
  const auto op = t.column("op_name"), rows = t.column("num_tokens"), sites = t.column("num_sites"),
             streams = t.column("hc_mult"), hidden = t.column("hidden_size"), time = t.column("latency");
  std::vector<StreamMixPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const std::string_view name = t.text(i, op);
    StreamMixPoint p{{.rows = count(t, i, rows, 1),
                      .hidden = count(t, i, hidden, 1),
                      .streams = count(t, i, streams, 1, kMostStreams),
                      .spreads = name == "post"}};
    if (!p.kernel.spreads && name != "pre") t.fail(i, "an unknown kernel of residual streams");
    total(t, i, std::int64_t{p.kernel.streams} * p.kernel.hidden);
    p.time = 1.0 / count(t, i, sites, 1) * latency(t, i, time, kMillisecond);
    points.push_back(p);
  }
  return points;
}

}  // namespace draftline
