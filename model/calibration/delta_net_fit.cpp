// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/delta_net_fit.h"

#include <cstdint>

#include "model/calibration/part_fit.h"
#include "model/calibration/table_cells.h"
#include "model/kernels/gpu_delta_net_time.h"

namespace draftline {
namespace {

bool of_prompts(const DeltaNetPoint& p) {
  return std::visit([](const auto& k) { return k.prompts; }, p.kernel);
}

// The points of a kernel, in decode steps or of prompts.
template <class Kernel>
std::vector<DeltaNetPoint> calls_of(const std::vector<DeltaNetPoint>& all, bool prompts) {
  std::vector<DeltaNetPoint> points;
  for (const DeltaNetPoint& p : all)
    if (std::holds_alternative<Kernel>(p.kernel) && of_prompts(p) == prompts) points.push_back(p);
  return points;
}

}  // namespace

Bytes left_in_l2(const CausalConvolution& k) {
  return bytes_of(k.activations, 2.0 * k.columns * (k.prompts ? k.rows : k.rows + k.sequences * (k.kernel - 1)));
}
Bytes left_in_l2(const DeltaRule& k) { return k.sequences * state_bytes(k); }

Seconds predicted(const DeltaNetFit& f, const Device& d, const DeltaNetPoint& p) {
  return std::visit([&](const auto& k) { return delta_net_time(f, d, k, left_in_l2(k)); }, p.kernel);
}
Seconds predicted(const Device& d, const DeltaNetPoint& p) { return predicted(*d.gpu().delta_net, d, p); }

DeltaNetFit fit_delta_net(const std::vector<DeltaNetPoint>& points, const Device& d, FitSpread* spread) {
  if (spread != nullptr) *spread = {};
  const PartFitting fit_part{"delta networks", d, spread};
  DeltaNetFit fit;
  fit_part(fit, &DeltaNetFit::rule, "rule", calls_of<DeltaRule>(points, false));
  fit_part(fit, &DeltaNetFit::convolution, "convolution", calls_of<CausalConvolution>(points, false));
  fit_part(fit, &DeltaNetFit::prompt_convolution, "prompt_convolution", calls_of<CausalConvolution>(points, true));
  fit_part(fit, &DeltaNetFit::prompt_rule, "prompt_rule", calls_of<DeltaRule>(points, true));
  return fit;
}

DeltaNetTable read_delta_net_table(const Csv& t) {
  constexpr Seconds kMillisecond{1e-3};
  const auto kernel = t.column("kernel_source"), sequences = t.column("batch_size"), rows_each = t.column("seq_len"),
             width = t.column("d_conv"), key_heads = t.column("num_k_heads"), key_dim = t.column("head_k_dim"),
             value_heads = t.column("num_v_heads"), value_dim = t.column("head_v_dim"), time = t.column("latency");
  DeltaNetTable table;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const auto positive = [&](std::size_t column) { return count(t, i, column, 1); };
    DeltaNetPoint p;
    p.key_heads = positive(key_heads);
    p.value_heads = positive(value_heads);
    DeltaRule rule{.sequences = positive(sequences),
                   .widest = positive(rows_each),
                   .key_heads = p.key_heads,
                   .value_heads = p.value_heads,
                   .key_dim = positive(key_dim),
                   .value_dim = positive(value_dim)};
    const int kernel_size = positive(width);
    const std::int64_t batch = rule.sequences, keys = p.key_heads, values = p.value_heads;
    rule.rows = total(t, i, batch * rule.widest);
    total(t, i, batch * kernel_size + rule.rows);  // A convolution's price adds the rows that it kept.
    CausalConvolution convolution{.sequences = rule.sequences,
                                  .rows = rule.rows,
                                  .columns = total(t, i, 2 * keys * rule.key_dim + values * rule.value_dim),
                                  .kernel = kernel_size};
    const std::string_view name = t.text(i, kernel);
    rule.prompts = name.starts_with("chunk_gated_delta_rule");
    convolution.prompts = name == "causal_conv1d_fn";
    if (rule.prompts || name.starts_with("fused_recurrent_gated_delta_rule")) p.kernel = rule;
    else if (convolution.prompts || name == "causal_conv1d_update") p.kernel = convolution;
    else t.fail(i, "an unknown kernel of delta networks");
    if (convolution.prompts && rule.widest < kLeastConvolvedPrompt) {
      ++table.short_prompts;
      continue;
    }
    p.time = latency(t, i, time, kMillisecond);
    table.points.push_back(p);
  }
  return table;
}

}  // namespace draftline
