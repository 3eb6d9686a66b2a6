// SPDX-License-Identifier: Apache-2.0
#include "model/work.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "model/order_statistics.h"

namespace draftline {

double independent_draws(const ExpertMlp& k) {
  const int sequences = k.sequences > 0 ? std::min(k.sequences, k.rows) : k.rows;
  return sequences > 0 ? sequences * std::pow(1.0 * k.rows / sequences, k.routing.exponent) : 0;
}

double experts_touched(const ExpertMlp& k) {
  return experts_of_draws(independent_draws(k), {k.experts, k.per_token}, k.routing.load_cv);
}

double busiest_experts_touched(const ExpertMlp& k) {
  const double touched = experts_touched(k);
  if (k.devices == 1) return touched;
  const double mean = touched / k.devices, chance = touched / k.experts, whole = k.experts;
  const double variance = mean * (1 - chance) * (1 - 1.0 / k.devices) * whole / (whole - 1);
  const double most = std::min({mean + expected_excess(variance, k.devices), touched, std::ceil(whole / k.devices)});
  return k.balancedness > 0 ? std::min(most, busiest_expert_rows(k)) : most;
}

double busiest_expert_rows(const ExpertMlp& k) {
  const double rows = 1.0 * k.rows * k.per_token;
  if (k.devices == 1) return rows;
  const double mean = rows / k.devices, whole = k.experts, share = 1.0 / k.devices;
  const double most = k.rows * std::min<double>(k.per_token, std::ceil(whole * share));
  if (k.balancedness > 0) return std::min(mean / k.balancedness, most);
  const double one = k.per_token * share * (1 - share) * (whole - k.per_token) / (whole - 1);  // of one draw's choices
  const double draws = independent_draws(k), variance = draws > 0 ? one * k.rows * k.rows / draws : 0;
  return std::min(mean + expected_excess(variance, k.devices), most);
}

Bytes weight_bytes(DType t, double elements, double scale_bits) {
  return bytes_of(t, elements) + Bytes{elements * scale_bits / 8};
}

Work work(const Gemm& k) {
  const double rows = 1.0 * k.rows * k.count, in = k.in, out = k.out;
  const DType results = result_format(k.activations);
  return {Flops{2 * rows * in * out},
          bytes_of(k.activations, rows * in) + weight_bytes(k.weights, k.count * in * out, k.scale_bits) +
              bytes_of(results, k.bias ? k.count * out : 0),
          bytes_of(results, rows * out)};
}

Work work(const Attention& k, Span s) {
  const double queries = 1.0 * k.heads * k.head_dim, results = 1.0 * k.heads * k.values();
  const Bytes scores = bytes_of(DType::fp32, k.scores() ? s.pairs : 0),
              chosen = bytes_of(DType::int32, k.scores() ? 1.0 * k.rows * k.value_dim : 0);
  return {Flops{2 * (queries + results) * s.pairs},
          bytes_of(k.activations, k.rows * queries) + k.keys_read(s.keys) + k.index_bytes + scores,
          bytes_of(k.activations, k.rows * results) + scores + chosen};
}

Work work(const Copy& k) { return {k.flops, k.read, k.written}; }

Work work(const CollectiveCall& k) {
  const Bytes share = k.message / k.ranks;
  switch (k.collective) {
    case Collective::all_gather: return {Flops{}, share, k.message};
    case Collective::reduce_scatter: return {Flops{}, k.message, share};
    default: return {Flops{}, k.message, k.message};
  }
}

Work work(const ExpertMlp& k) {
  const double rows = k.rows, hidden = k.hidden, routed = k.routed_columns(), one = k.expert_elements();
  const DType outside = result_format(k.activations);  // the experts quantise their inputs themselves
  return {Flops{2 * (rows * routed * k.experts + busiest_expert_rows(k) * one)},
          bytes_of(outside, rows * (hidden + (k.routed_apart ? routed : 0))) + bytes_of(outside, routed * k.experts) +
              weight_bytes(k.weights, busiest_experts_touched(k) * one, k.scale_bits),
          bytes_of(outside, rows * hidden)};
}

Work work(const CausalConvolution& k) {
  const double columns = k.columns;
  const Bytes rows = bytes_of(k.activations, k.rows * columns),
              kept = bytes_of(k.activations, k.sequences * (k.kernel - 1) * columns),
              weights = bytes_of(k.activations, (k.kernel + (k.bias ? 1 : 0)) * columns);
  return {Flops{}, rows + weights + k.index_bytes + (k.prompts ? Bytes{} : kept), rows + (k.prompts ? kept : rows)};
}

Bytes state_bytes(const DeltaRule& k) { return bytes_of(k.state, 1.0 * k.value_heads * k.key_dim * k.value_dim); }

Work work(const DeltaRule& k) {
  const double heads = k.value_heads, values = heads * k.value_dim, rows = k.rows;
  const double inputs = rows * (2.0 * k.key_heads * k.key_dim + values + heads + k.decays());
  return {Flops{6 * rows * values * k.key_dim},
          bytes_of(k.activations, inputs + heads + k.decays()) + k.index_bytes + states_read(k) * state_bytes(k),
          bytes_of(k.activations, rows * values) + states_written(k) * state_bytes(k)};
}

Bytes state_bytes(const SelectiveScan& k) { return bytes_of(k.state, 1.0 * k.columns() * k.state_dim); }

Work work(const SelectiveScan& k) {
  const double rows = k.rows, columns = k.columns(), heads = k.heads;
  const double inputs = rows * (columns + 2.0 * k.groups * k.state_dim + heads);  // x, B, C; steps
  return {Flops{4 * rows * columns * k.state_dim},
          bytes_of(k.activations, inputs + 3 * heads) + k.index_bytes + states_read(k) * state_bytes(k),
          bytes_of(k.activations, rows * columns) + states_written(k) * state_bytes(k)};
}

Work work(const StreamMix& k) {
  const double matrix = 1.0 * k.streams * k.hidden * k.mixes();
  const Bytes row = bytes_of(k.activations, 1.0 * k.rows * k.hidden), all = k.streams * row;
  if (k.spreads) return {Flops{}, all + row, all};
  return {Flops{2 * k.rows * matrix}, 2.0 * all + bytes_of(DType::fp32, matrix), row};
}

Work work(const Kernel& kernel, Span span) {
  return std::visit(
      [&](const auto& k) {
        if constexpr (std::is_same_v<std::decay_t<decltype(k)>, Attention>) return work(k, span);
        else return work(k);
      },
      kernel);
}

}  // namespace draftline
