// SPDX-License-Identifier: Apache-2.0
// Recurrent sublayers: gated delta networks, state spaces and linear attention.
#include "decoder/layer.h"

namespace draftline {

static Tensor delta_net(Ops& ops, Tensor y, const LayerWeights& w, const StatePass& at) {
  const DeltaNet& d = *w.shape.delta_net();
  const DeltaNetWeights& own = w.delta_net.value();
  const Tensor qkvz = ops.linear(y, w.qkv);
  Tensor gates = ops.linear(y, own.gates), narrow = gates, z = qkvz;
  if (own.decays && !own.narrow) gates = ops.gather({gates, ops.linear(y, *own.decays)});
  if (own.narrow) {
    const int rank = d.column_gates->rank;
    narrow = ops.linear(y, *own.narrow);
    // Engines have a kernel here that turns the decays' gates into decays.
    gates = ops.gather({gates, ops.linear(columns(narrow, 0, rank), *own.decays)});
  }
  const Tensor qkv = ops.convolve(columns(qkvz, 0, d.convolved_columns()), own.convolution, at);
  const Tensor values = ops.gated_delta_rule(qkv, gates, own.a_log, own.dt_bias, at);
  if (own.results) z = ops.linear(columns(narrow, d.column_gates->rank, d.column_gates->rank), *own.results);
  else z = columns(qkvz, d.convolved_columns(), d.value_columns());
  const NormGate gate = d.column_gates ? NormGate::sigmoid : NormGate::silu;
  return ops.linear(ops.gated_rms_norm(values, z, {own.norm, d.value_dim, epsilon_of(w), gate}), w.o);
}

static Tensor mamba(Ops& ops, Tensor y, const LayerWeights& w, const StatePass& at) {
  const Mamba2& m = *w.shape.mamba();
  const MambaWeights& own = w.mamba.value();
  const int inputs = m.columns(), convolved = m.convolved_columns();
  const Tensor all = ops.linear(y, own.in);
  const Tensor xbc = ops.convolve(columns(all, inputs, convolved), own.convolution, at, own.convolution_bias);
  const Tensor values = ops.selective_scan(xbc, columns(all, inputs + convolved, m.heads), own.heads, m.chunk, at);
  const GatedNorm norm{own.norm, inputs / m.groups, epsilon_of(w),
                       m.norm_before_gate ? NormGate::silu : NormGate::silu_first};
  return ops.linear(ops.gated_rms_norm(values, columns(all, 0, inputs), norm), own.out);
}

namespace {

// A recurrent sublayer by its kind.
struct RecurrentPass {
  Ops& ops;
  Tensor y;
  const LayerWeights& w;
  const StatePass& at;

  // The scan of states that no op of ours computes; its result is [n, columns].
  Tensor scan(std::vector<Tensor> reads, SelectiveScan k, int columns) const {
    const Pass& p = ops.details(at.pass);
    k.sequences = p.rows.sequences(), k.rows = p.rows.total, k.widest = p.rows.widest;
    k.state = at.cache.form.format, k.activations = y.dtype;
    k.prompts = p.rows.prompts, k.tree = p.tree_mask.has_value(), k.index_bytes = p.index_bytes();
    const Tensor x = reads.front();
    return ops.priced_alone({"selective_scan", std::move(reads), {}, at.pass, k, {}, x}, columns);
  }

  Tensor operator()(const DeltaNet&) const { return delta_net(ops, y, w, at); }
  Tensor operator()(const Mamba2&) const { return mamba(ops, y, w, at); }
  Tensor operator()(const AttentionBesideMamba&) const { return mamba(ops, y, w, at); }
  Tensor operator()(const Mamba1& m) const {
    const MambaWeights& own = *w.mamba;
    const Tensor all = ops.linear(y, own.in);  // inputs, gates
    const Tensor x = ops.convolve(columns(all, 0, m.columns), own.convolution, at, own.convolution_bias);
    Tensor selected = ops.linear(x, *own.select);  // the latent of the steps, B, C
    if (own.norm) selected = ops.rms_norm(selected, *own.norm, epsilon_of(w));
    const Tensor steps = ops.linear(columns(selected, 0, m.step_rank), *own.steps);
    const Tensor values = scan({x, steps, selected},
                               {.heads = m.columns, .head_dim = 1, .groups = 1, .state_dim = m.state_dim}, m.columns);
    const GatedNorm gate{{}, m.columns, epsilon_of(w), NormGate::silu_first};
    return ops.linear(ops.gated_rms_norm(values, columns(all, m.columns, m.columns), gate), own.out);
  }
  Tensor operator()(const LinearAttention& l) const {
    const int n = l.columns();
    const Tensor all = ops.linear(y, w.qkv);
    Tensor heads = columns(all, 0, 2 * n);
    if (l.qk_norm) heads = ops.rms_norm(heads, {}, epsilon_of(w), l.head_dim);
    const Tensor values =
        scan({heads, columns(all, 2 * n, n)},
             {.heads = l.heads, .head_dim = l.head_dim, .groups = l.heads, .state_dim = l.head_dim}, n);
    const GatedNorm norm{*w.linear_norm, n, epsilon_of(w), NormGate::sigmoid};
    return ops.linear(ops.gated_rms_norm(values, columns(all, 3 * n, n), norm), w.o);
  }
  template <class Other>
  Tensor operator()(const Other&) const {
    throw Bug("the layer keeps no state");
  }
};

}  // namespace

Tensor recurrence(Ops& ops, Tensor y, const LayerWeights& w, const StatePass& at, int ranks) {
  return ops.sum_over_ranks(std::visit(RecurrentPass{ops, y, w, at}, w.shape.attention), ranks);
}

}  // namespace draftline
