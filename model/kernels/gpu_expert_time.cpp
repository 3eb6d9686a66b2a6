// SPDX-License-Identifier: Apache-2.0
// Seconds, bytes and FLOP as plain doubles inside.
#include "model/kernels/gpu_expert_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {
namespace {

constexpr std::array kTileColumns{64, 128};

// 1/rows + 1/columns of the largest tile: it reaches `peak_share` whatever half a tile costs.
constexpr double kLargestTile = 1.0 / kExpertTileRows.back() + 1.0 / kTileColumns.back();

double touched_bytes(const ExpertMlp& k, const ExpertLoad& load) {
  return weight_bytes(k.weights, load.touched * k.expert_elements(), k.scale_bits).value;
}

// The time where no layer was measured: two grouped GEMMs over the experts touched, each with its share of the rows
// padded to the smallest tile. An expert's weights are read once if any row meets it: a wide verify step reads more of
// them.
Seconds by_gemm_fit(const Device& d, const ExpertMlp& k) {
  constexpr double kRowTile = 16;
  const GemmFit& f = gemm_fit(d, operands_of(k)).fit;
  const ExpertLoad load = expected_load(k);
  const double touched = load.touched, hidden = k.hidden, inner = k.intermediate;
  const double rows_each = std::max(load.choices / touched, 1.0);
  const double padded = std::max(rows_each, kRowTile);  // on average; no step where one expert's rows fill a tile
  const double rate = f.peak_share * matrix_rate(d, k.weights, k.activations).value;
  const double memory_rate = f.bandwidth_share * d.bandwidth.value, l2_rate = f.l2_speed * d.bandwidth.value;
  const auto grouped = [&](double in, double out) {
    const double compute = 2 * (touched * padded + load.padding) * in * out / rate;
    const double loop = f.k_loop.value * in / 1024;
    const double memory = weight_bytes(k.weights, touched * in * out, k.scale_bits).value / memory_rate +
                          bytes_of(k.activations, load.choices * in).value / l2_rate;
    const double outputs = bytes_of(result_format(k.activations), load.choices * out).value;
    return smooth_max(std::cbrt(compute * compute * compute + loop * loop * loop), memory, f.blend) +
           f.output_cost * outputs / d.bandwidth.value;
  };
  return 2.0 * f.fixed + Seconds{grouped(hidden, k.wide_columns()) + grouped(inner, hidden)};
}

}  // namespace

double expert_l2_hit_share(const ExpertFit& f, const Device& d, const ExpertMlp& k, const ExpertLoad& load) {
  const double x = touched_bytes(k, load) / (f.l2_share * d.l2.value);
  return 1 / (1 + (x * x) * (x * x));
}

Seconds expert_time(const ExpertFit& f, const Device& d, const ExpertMlp& k, const ExpertLoad& load,
                    double l2_hit_share) {
  if (k.rows <= 0) return {};
  const double rate = f.peak_share * matrix_rate(d, k.weights, k.activations).value / (1 + f.tile_half * kLargestTile);
  const double bandwidth = d.bandwidth.value, multiprocessors = d.multiprocessors;
  const double per_byte =
      (1 - l2_hit_share) / (f.bandwidth_share * bandwidth) + l2_hit_share / (f.l2_speed * bandwidth);

  const auto grouped = [&](double in, double out) {
    double busiest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < load.tiles.size(); ++i)
      for (const double columns : kTileColumns) {
        const double rows = kExpertTileRows[i];
        const double waves = std::max(load.tiles[i] * std::ceil(out / columns) / multiprocessors, 1.0);
        const double one =
            2 * in * (rows * columns + f.tile_half * (rows + columns)) * multiprocessors / rate + f.latency.value;
        busiest = std::min(busiest, waves * one);
      }
    const double memory = weight_bytes(k.weights, load.touched * in * out, k.scale_bits).value * per_byte;
    return smooth_max(busiest, memory, f.blend);
  };
  const double hidden = k.hidden, inner = k.intermediate;
  const double wide = k.wide_columns(), each = 2 * hidden + wide + inner;
  const double moved = bytes_of(k.activations, load.choices * each + k.rows * hidden).value;
  return f.fixed + Seconds{grouped(hidden, wide) + grouped(inner, hidden) + f.row_cost * moved / bandwidth};
}

// The router is small, and takes its inputs before they are quantised.
Gemm router_of(const ExpertMlp& k) {
  if (k.router_fp32) return {k.rows, k.routed_columns(), k.experts, DType::fp32, DType::fp32, false};
  return {k.rows, k.routed_columns(), k.experts, DType::bf16, result_format(k.activations), false};
}
Seconds router_time(const Device& d, const ExpertMlp& k) { return gpu_time(d, router_of(k), 0); }

Seconds gpu_time(const Device& d, const ExpertMlp& k) {
  if (k.rows <= 0) return {};
  const ExpertFit* fit = expert_fit(d, operands_of(k)).fit;
  return router_time(d, k) + (fit != nullptr ? expert_time(*fit, d, k, expected_load(k)) : by_gemm_fit(d, k));
}

}  // namespace draftline
