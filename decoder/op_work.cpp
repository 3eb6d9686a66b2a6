// SPDX-License-Identifier: Apache-2.0
#include "decoder/op_work.h"

#include <algorithm>

#include "decoder/pass_span.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

namespace {

template <class T, class... Ts>
constexpr bool kOneOf = (std::is_same_v<T, Ts> || ...);

// Which of the probed ops a loop resembles: norms and cosines add up a row, gates compute exponentials, draws and
// sampled verification make a distribution of each row.
template <class T>
constexpr ElementOp element_op() {
  if (kOneOf<T, RmsNorm, AddRmsNorm, LayerNorm, CosineGate, GatedRmsNorm>) return ElementOp::rms_norm;
  if (kOneOf<T, SiluMul, GeluMul, SiluAdd, Gelu, SigmoidMul, SoftCap>) return ElementOp::silu_mul;
  if (kOneOf<T, TopK>) return ElementOp::top_k;
  if (kOneOf<T, Sample, SampleChildren, VerifySampled, VerifyRelaxed>) return ElementOp::sample;
  return kOneOf<T, Argmax> ? ElementOp::argmax : ElementOp::add;
}

// The bytes of an op that reads or writes every operand once, vectors of weights (norms, biases) among them. Ops that
// touch only a part of an operand have an overload of their own below.
template <class T>
Copy all_operands(const T& op, const Tape& tape) {
  Copy c;
  c.op = element_op<T>();
  std::optional<Tensor> first;
  each_tensor(tape, op, [&](const Tensor& t, bool out) {
    (out ? c.written : c.read) += t.bytes();
    if (!first) first = t;
  });
  c.format = first->dtype;
  if (c.op != ElementOp::add) c.elements = first->elements();
  if constexpr (kOneOf<T, SiluMul, GeluMul>) c.elements /= 2;  // only the gate is exponentiated
  const auto add = [&](const Weight& w) { c.read += weight_bytes(w.dtype, static_cast<double>(w.in) * w.out); };
  const auto weights = [&](const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, Weight>) add(field);
    if constexpr (std::is_same_v<Field, std::optional<Weight>>)
      if (field) add(*field);
  };
  std::apply([&](const auto&... field) { (weights(field), ...); }, op.fields());
  return c;
}

Bytes bytes_of_pass(const Pass& p) {
  return p.rows.cu_seqlens.bytes() + p.slots.kv_slots.bytes() + p.slots.lengths.bytes() +
         (p.tree_mask ? p.tree_mask->bytes() : Bytes{});
}

// Whether a row attends to no row behind it. Otherwise each pair of rows counts, also those that a mask excludes.
bool causal(const Pass& p) { return p.causal && !p.tree_mask; }

// Bits of scales for each of `count` matrices' weights, one below the other.
double scale_bits(const Weight& w, int count = 1) {
  if (w.format == nullptr) return 0;
  const int in = w.in / count;
  return 8 * w.format->scales.of(in, w.out).value / (static_cast<double>(in) * w.out);
}

Scaling scaling_of(const Weight& w) { return w.format == nullptr ? Scaling::rows : w.format->scaling(); }

struct KernelOf {
  const Tape& tape;
  template <class T>
  Kernel operator()(const T& o) const {
    return all_operands(o, tape);
  }

  Kernel operator()(const Linear& o) const {
    return Gemm{.rows = o.x.rows,
                .in = o.w.in,
                .out = o.w.out,
                .weights = o.w.dtype,
                .activations = o.x.dtype,
                .bias = o.bias.has_value(),
                .scaling = scaling_of(o.w),
                .scale_bits = scale_bits(o.w)};
  }
  Kernel operator()(const Embed& o) const {
    return Copy{.read = o.ids.bytes() + weight_bytes(o.table.dtype, static_cast<double>(o.y.rows) * o.table.out),
                .written = o.y.bytes(),
                .format = o.y.dtype};
  }
  Kernel operator()(const MixtureOfExperts& o) const {
    return ExpertMlp{.rows = o.x.rows,
                     .hidden = o.x.cols,
                     .intermediate = o.w.gate_up.out / 2,
                     .experts = o.choice.experts,
                     .per_token = o.choice.per_token,
                     .weights = o.w.gate_up.dtype,
                     .activations = expert_inputs(o),
                     .scale_bits = scale_bits(o.w.gate_up, o.w.gate_up.in / o.x.cols),
                     .sequences = o.sequences,
                     .overlap = o.overlap,
                     .scaling = scaling_of(o.w.gate_up),
                     .devices = o.devices,
                     .balancedness = o.balancedness,
                     .routed_apart = o.routed.has_value()};
  }
  static DType expert_inputs(const MixtureOfExperts& o) {
    return o.w.gate_up.format != nullptr ? o.w.gate_up.format->inputs.value_or(o.x.dtype) : o.x.dtype;
  }
  Kernel operator()(const RopeAppend& o) const {
    const Pass& p = tape.pass(o.pass);
    const bool appends = o.k.cols > 0;
    const Bytes lines = appends ? cpu_lines_appended(p.rows.sequences(), p.rows.total, o.cache.kv_heads,
                                                     o.cache.head_dim, o.cache.value_dim)
                                : Bytes{};
    return Copy{.read = o.q.bytes() + o.k.bytes() + o.v.bytes() + bytes_of_pass(p),
                .written = o.y.bytes() + (appends ? p.rows.total * o.cache.row_bytes() : Bytes{}),
                .op = ElementOp::rope_append,
                .elements = static_cast<double>(p.rows.total) * (o.rope.columns + o.k.cols),
                .format = o.q.dtype,
                .old_lines = lines};
  }
  Kernel operator()(const Attend& o) const {
    const Pass& p = tape.pass(o.pass);
    return Attention{.sequences = p.rows.sequences(),
                     .rows = p.rows.total,
                     .widest = p.rows.widest,
                     .heads = o.q.cols / o.cache.head_dim,
                     .kv_heads = o.cache.kv_heads,
                     .head_dim = o.cache.head_dim,
                     .cache = o.cache.dtype,
                     .activations = o.q.dtype,
                     .masked = !causal(p),
                     .index_bytes = bytes_of_pass(p) + (o.sinks ? weight_bytes(o.sinks->dtype, o.sinks->out) : Bytes{}),
                     .value_dim = o.cache.value_dim};
  }
  Kernel operator()(const LatentAppend& o) const {
    const Pass& p = tape.pass(o.pass);
    const Bytes rotated = o.q_rope.bytes(),
                lines = cpu_lines_appended(p.rows.sequences(), p.rows.total, 1, o.cache.head_dim, o.cache.value_dim);
    return Copy{.read = rotated + o.latent.bytes() + o.shared_key.bytes() + bytes_of_pass(p),
                .written = rotated + o.k_rope.bytes() + bytes_of(o.cache.dtype, 1.0 * p.rows.total * o.cache.columns()),
                .op = ElementOp::rope_append,
                .elements = o.q_rope.elements() + o.k_rope.elements(),
                .format = o.q.dtype,
                .old_lines = lines};
  }
  Kernel operator()(const IndexAppend& o) const {
    const Pass& p = tape.pass(o.pass);
    return Copy{.read = o.q.bytes() + o.k.bytes() + bytes_of_pass(p),
                .written = o.y.bytes() + p.rows.total * o.cache.indexer->key_bytes(),
                .op = ElementOp::rope_append,
                .elements = static_cast<double>(p.rows.total) * (o.q.cols / o.k.cols + 1) * o.rope.columns,
                .format = o.q.dtype,
                .old_lines = cpu_lines_appended(p.rows.sequences(), p.rows.total, 1, o.k.cols, 0)};
  }
  Kernel operator()(const SelectTokens& o) const {
    const Pass& p = tape.pass(o.pass);
    return Attention{.sequences = p.rows.sequences(),
                     .rows = p.rows.total,
                     .widest = p.rows.widest,
                     .heads = o.weights.cols,
                     .kv_heads = 1,
                     .head_dim = o.cache.indexer->head_dim,
                     .cache = o.cache.indexer->keys,
                     .activations = o.q.dtype,
                     .masked = !causal(p),
                     .index_bytes = bytes_of_pass(p) + o.weights.bytes(),
                     .value_dim = o.y.cols,
                     .key_bytes = o.cache.indexer->key_bytes()};
  }
  static Kernel product_by_head(const Tensor& x, const Weight& w, const LatentAttention& l, int in, int out) {
    return Gemm{.rows = x.rows,
                .in = in,
                .out = out,
                .weights = w.dtype,
                .activations = x.dtype,
                .count = w.out / (l.nope_dim + l.value_dim)};
  }
  Kernel operator()(const AbsorbQueries& o) const {
    return product_by_head(o.q, o.kv_b, o.dims, o.dims.nope_dim, o.dims.kv_rank);
  }
  Kernel operator()(const ExpandValues& o) const {
    return product_by_head(o.x, o.kv_b, o.dims, o.dims.kv_rank, o.dims.value_dim);
  }
  Kernel operator()(const LatentAttend& o) const {
    const Pass& p = tape.pass(o.pass);
    const bool gathers = o.tokens.has_value();  // then no rows meet the same keys
    return Attention{.sequences = gathers ? p.rows.total : p.rows.sequences(),
                     .rows = p.rows.total,
                     .widest = gathers ? 1 : p.rows.widest,
                     .heads = o.q.cols / o.cache.latent,
                     .kv_heads = 1,
                     .head_dim = o.cache.head_dim,
                     .cache = o.cache.dtype,
                     .activations = o.q.dtype,
                     .masked = !causal(p),
                     .index_bytes = bytes_of_pass(p) + (o.tokens ? o.tokens->bytes() : Bytes{}),
                     .value_dim = o.cache.latent,
                     .latent = true,
                     .gathers = gathers};
  }
  Kernel operator()(const ExpandedAttend& o) const {  // every head reads the shared part of its key anew
    const Pass& p = tape.pass(o.pass);
    const int heads = o.q_rope.cols / o.dims.rope_dim;
    return Attention{.sequences = p.rows.sequences(),
                     .rows = p.rows.total,
                     .widest = p.rows.widest,
                     .heads = heads,
                     .kv_heads = heads,
                     .head_dim = o.dims.nope_dim + o.dims.rope_dim,
                     .cache = o.kv.dtype,
                     .activations = o.q.dtype,
                     .index_bytes = bytes_of_pass(p),
                     .value_dim = o.dims.value_dim,
                     .expanded = true};
  }
  Kernel operator()(const Convolve& o) const {
    const Pass& p = tape.pass(o.pass);
    return CausalConvolution{.sequences = p.rows.sequences(),
                             .rows = p.rows.total,
                             .columns = o.x.cols,
                             .kernel = o.cache.net.kernel,
                             .activations = o.x.dtype,
                             .prompts = p.rows.prompts,
                             .index_bytes = bytes_of_pass(p)};
  }
  Kernel operator()(const GatedDeltaRule& o) const {
    const Pass& p = tape.pass(o.pass);
    const DeltaNet& net = o.cache.net;
    return DeltaRule{.sequences = p.rows.sequences(),
                     .rows = p.rows.total,
                     .widest = p.rows.widest,
                     .key_heads = net.key_heads,
                     .value_heads = net.value_heads,
                     .key_dim = net.key_dim,
                     .value_dim = net.value_dim,
                     .state = net.state,
                     .activations = o.qkv.dtype,
                     .prompts = p.rows.prompts,
                     .index_bytes = bytes_of_pass(p)};
  }
  Kernel operator()(const GroupAttend& o) const {
    const double keys = o.causal ? (o.group + 1) / 2.0 : o.group;  // keys of a row, on average
    return Copy{.read = o.q.bytes() + o.k.bytes() + o.v.bytes(),
                .written = o.y.bytes(),
                .flops = Flops{4.0 * o.q.elements() * keys},
                .format = o.q.dtype};
  }
  Kernel operator()(const SumOverRanks& o) const {
    return CollectiveCall{Collective::all_reduce, o.y.bytes(), o.ranks, o.y.rows};
  }
  Kernel operator()(const GatherOverRanks& o) const {
    return CollectiveCall{Collective::all_gather, o.y.bytes(), o.ranks};
  }
  Kernel operator()(const ExchangeRows& o) const {
    const Bytes most = std::max(o.x.bytes(), o.y.bytes());
    return CollectiveCall{o.collective, o.collective == Collective::all_to_all ? o.copies / o.ranks * most : most,
                          o.ranks};
  }
  Kernel operator()(const Gather& o) const {  // reads only the rows that it takes
    return Copy{
        .read = o.y.bytes() + (o.index ? o.index->bytes() : Bytes{}), .written = o.y.bytes(), .format = o.y.dtype};
  }
  Kernel operator()(const MapIds& o) const { return Copy{.read = 2.0 * o.ids.bytes(), .written = o.y.bytes()}; }
  Kernel operator()(const VerifySampled& o) const {  // an upper bound: it reads the rows of the path and their q alone
    return all_operands(o, tape);
  }
  Kernel operator()(const Commit& o) const {  // moves every row of the path in every layer, padding too
    const Bytes moved = static_cast<double>(o.path.rows) * o.cache.layers * o.cache.row_bytes();
    return Copy{.read = o.path.bytes() + o.cu_seqlens.bytes() + o.kv_slots.bytes() + o.lengths.bytes() + moved,
                .written = moved,
                .format = o.cache.dtype};
  }
  Kernel operator()(const KeepEntries& o) const {
    const Bytes moved = static_cast<double>(o.last.rows) * o.rows * o.from.layers * o.from.row_bytes();
    return Copy{.read = o.last.bytes() + o.cu_seqlens.bytes() + o.kv_slots.bytes() + o.lengths.bytes() + moved,
                .written = moved,
                .format = o.from.dtype};
  }
  // The price is that of prompts that are longer than the window and fill the ring: scores against each key, and
  // copies.
  Kernel operator()(const SelectEntries& o) const {
    const Pass& p = tape.pass(o.pass);
    const double b = p.rows.sequences(), columns = o.q.cols;
    const Bytes moved = b * o.to.window.tokens * o.to.row_bytes();
    return Copy{.read = bytes_of(o.q.dtype, b * o.window * columns) +
                        bytes_of(o.from.dtype, static_cast<double>(p.rows.total) * o.from.kv_heads * o.from.head_dim) +
                        moved + bytes_of_pass(p),
                .written = moved,
                .flops = Flops{2.0 * o.window * columns * p.rows.total},
                .format = o.q.dtype};
  }
  Kernel operator()(const Advance& o) const {
    return Copy{.read = o.counts.bytes() + o.lengths.bytes(), .written = o.lengths.bytes()};
  }
};

}  // namespace

Kernel kernel_of(const Op& op, const Tape& tape) { return std::visit(KernelOf{tape}, op); }

std::optional<Weight> streamed_weight(const Op& op) {
  if (const auto* linear = std::get_if<Linear>(&op)) return linear->w;
  return std::nullopt;
}

Window window_of(const Op& op) {
  if (const auto* attend = std::get_if<Attend>(&op)) return attend->cache.window;
  const auto* latent = std::get_if<LatentAttend>(&op);
  if (latent != nullptr && latent->tokens) return {.tokens = latent->tokens->cols, .chosen = true};
  return latent != nullptr ? latent->cache.window : Window{};
}

Span span_of(const SegmentRun& run, int pass, std::span<const int> lengths, Window window) {
  const auto index = static_cast<std::size_t>(pass);
  const Pass& p = run.tape->passes[index];
  const auto &rows_each = run.rows[index], &ahead = run.ahead[index];
  Span s;
  for (std::size_t b = 0; b < rows_each.size(); ++b)
    s += span_of(rows_of(p, rows_each[b]), lengths[b] + (ahead.empty() ? 0 : ahead[b]), window);
  return s;
}

int verified_rows(const SegmentRun& run) {
  int rows = 0;
  for (std::size_t i = 0; i < run.tape->ops.size(); ++i)
    if (const PassRef p = pass_of(run.tape->ops[i]); p.index >= 0 && run.tape->phases[i] == Phase::verify)
      rows = std::max(rows, run.tape->pass(p).rows.widest);
  return rows;
}

void Totals::add(const SegmentRun& run, std::span<const int> lengths) {
  for (const Op& op : run.tape->ops) {
    const PassRef p = pass_of(op);
    const Span s = p.index < 0 ? Span{} : span_of(run, p.index, lengths, window_of(op));
    work += draftline::work(kernel_of(op, *run.tape), s);
    ++ops;
  }
  reads += run.waits;
}

}  // namespace draftline
