// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/layer_fit.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "model/calibration/kernel_fit.h"
#include "model/calibration/measured_work.h"
#include "model/devices/fit_quality.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

Seconds kernels_of_layer(const Device& d, const MeasuredPoint& p) {
  constexpr int kFarApart = 512;  // weights and keys that no kernel finds in L2, as other layers lie between
  constexpr DType kFormat = DType::bf16;
  const int rows = p.at("sequences"), hidden = p.at("hidden"), inner = p.at("intermediate"), heads = p.at("heads"),
            kv_heads = p.at("kv_heads"), dim = p.at("head_dim");
  const auto product = [&](int in, int out) { return predicted(d, GemmPoint{rows, in, out, {}, kFarApart}); };
  AttentionPoint attention{rows, 1, p.at("context"), heads, kv_heads, dim, {}, false};
  attention.cache = CacheState::in_memory;
  const MeasuredPoint norm{"rms_norm", {{"rows", rows}, {"columns", hidden}}},
      gate{"silu_mul", {{"rows", rows}, {"columns", inner}}},
      rope{"rope_append", {{"rows", rows}, {"heads", heads}, {"kv_heads", kv_heads}, {"head_dim", dim}}};
  Copy with_sum = copy_of(ElementOp::rms_norm, norm, kFormat);
  const Bytes row_values = bytes_of(kFormat, 1.0 * rows * hidden);
  with_sum.read += row_values;
  with_sum.written += row_values;
  return product(hidden, (heads + 2 * kv_heads) * dim) + product(heads * dim, hidden) + product(hidden, 2 * inner) +
         product(inner, hidden) + predicted(d, attention) + 2 * kernel_time(d, with_sum) +
         kernel_time(d, copy_of(ElementOp::silu_mul, gate, kFormat)) +
         kernel_time(d, copy_of(ElementOp::rope_append, rope, kFormat));
}

std::optional<LayerFit> fit_layer(const Measured& m, const Device& d) {
  struct Layer {
    bool one_row;
    Seconds measured, kernels;
  };
  std::vector<Layer> layers;
  for (const MeasuredPoint& p : m.points)
    if (p.op == "layer" && p.skipped.empty())
      layers.push_back({p.at("sequences") == 1, p.median, kernels_of_layer(d, p)});
  if (layers.empty()) return std::nullopt;
  const auto beyond = [&](bool one_row) -> std::optional<Seconds> {
    std::vector<double> all;
    for (const Layer& l : layers)
      if (l.one_row == one_row) all.push_back((l.measured - l.kernels).value);
    return all.empty() ? std::nullopt : std::optional(Seconds{std::max(quantile(all, 0.5), 0.0)});
  };
  LayerFit f{.of_one_row = beyond(true), .of_rows = beyond(false), .points = count(layers)};
  std::vector<double> errors;
  for (const Layer& l : layers)
    errors.push_back(std::abs((l.kernels + *(l.one_row ? f.of_one_row : f.of_rows)) / l.measured - 1));
  f.median_error = quantile(errors, 0.5);
  f.worst_error = *std::max_element(errors.begin(), errors.end());
  return f;
}

}  // namespace draftline
