// SPDX-License-Identifier: Apache-2.0
// Launches each op: turns its tensors into device addresses and calls its launcher. Ops are in the order of
// decoder/network_op.h and decoder/op.h.
#pragma once
#include "decoder/cuda/attention/latent_attention.h"
#include "decoder/cuda/attention/sparse_attention.h"
#include "decoder/cuda/cache/latent_append.h"
#include "decoder/cuda/cache/rings.h"
#include "decoder/cuda/elementwise/elementwise.h"
#include "decoder/cuda/experts/experts.h"
#include "decoder/cuda/gemm/head_products.h"
#include "decoder/cuda/recurrence/delta_net.h"
#include "decoder/cuda/runtime/state.h"
#include "decoder/cuda/sampling/choose.h"
#include "decoder/cuda/sampling/sample.h"
#include "decoder/cuda/sampling/trees.h"
#include "decoder/cuda/sampling/verify.h"
#include "decoder/rope.h"

namespace draftline::cuda {

struct Product {
  GemmShape shape;
  GemmOperands operands;
};

inline ExpertShape shape_of(const MixtureOfExperts& o) {
  return {.rows = o.x.rows,
          .hidden = o.x.cols,
          .inner = o.w.gate_up.out / 2,
          .experts = o.choice.experts,
          .per_token = o.choice.per_token,
          .normalise = o.choice.normalise || o.choice.score == Experts::Score::softmax_of_chosen,
          .sigmoid = o.choice.score == Experts::Score::sigmoid,
          .groups = o.choice.groups,
          .groups_per_token = o.choice.groups_per_token,
          .scale = static_cast<float>(o.choice.scale),
          .weighs_inputs = o.choice.weighs_inputs,
          .gate = o.gate};
}

// One op with activations of format T.
template <class T>
struct LaunchOp {
  CudaBackend::State& s;
  cudaStream_t stream = s.stream;

  View<const T> in(const Tensor& t) const { return s.view<const T>(t); }
  View<T> out(const Tensor& t) const { return s.view<T>(t); }
  View<const int> ids(const Tensor& t) const { return s.view<const int>(t); }
  View<int> out_ids(const Tensor& t) const { return s.view<int>(t); }
  View<const float> floats(const Tensor& t) const { return s.view<const float>(t); }
  View<float> out_floats(const Tensor& t) const { return s.view<float>(t); }
  int* whole(const Tensor& t) const { return out_ids(t).data; }
  View<const T> weight(const Weight& w) const { return {static_cast<const T*>(s.weight(w)), w.in, w.out, w.out}; }
  const T* data(const std::optional<Weight>& w) const { return w ? weight(*w).data : nullptr; }
  Scratch scratch() const { return {s.scratch.data(), s.scratch.bytes()}; }

  Product product(const Linear& o) const {
    return {
        .shape = {.rows = o.x.rows,
                  .in = o.w.in,
                  .out = o.w.out,
                  .x_stride = o.x.stride,
                  .y_stride = o.y.stride,
                  .bf16 = sizeof(T) == 2,
                  .bias = o.bias.has_value()},
        .operands = {.x = s.at(o.x), .w = s.weight(o.w), .bias = o.bias ? s.weight(*o.bias) : nullptr, .y = s.at(o.y)}};
  }
  int capacity(const Cache& c) const { return s.capacities[static_cast<std::size_t>(c.id)]; }
  AttendShape shape(const Attend& o) const {
    const Pass& p = s.tape->pass(o.pass);
    return {.sequences = p.rows.sequences(),
            .widest = p.rows.widest,
            .heads = o.q.cols / o.cache.head_dim,
            .kv_heads = o.cache.kv_heads,
            .head_dim = o.cache.head_dim,
            .value_dim = o.cache.value_dim,
            .capacity = capacity(o.cache),
            .sms = s.device.multiprocessors};
  }

  LatentShape shape(const LatentAttend& o) const {
    const Pass& p = s.tape->pass(o.pass);
    return {.sequences = p.rows.sequences(),
            .widest = p.rows.widest,
            .heads = o.q.cols / o.cache.latent,
            .rank = o.cache.latent,
            .rope = o.cache.head_dim - o.cache.latent,
            .capacity = capacity(o.cache),
            .sms = s.device.multiprocessors,
            .shared = s.device.shared};
  }
  Rotation rotation(const Rope& rope) const {
    return {.frequencies = s.frequencies(rope),
            .half = rope.columns / 2,
            .factor = attention_factor(rope),
            .growth_every = rope.growth ? static_cast<float>(rope.growth->every) : 1,
            .growth = rope.growth ? static_cast<float>(rope.growth->scale) : 0,
            .growth_offset = rope.growth ? static_cast<float>(rope.growth->offset) : 1};
  }

  // ---- networks
  void operator()(const Embed& o) const { embed(weight(o.table), ids(o.ids), o.scale, out(o.y), stream); }
  void operator()(const Linear& o) const {
    const Product p = product(o);
    s.blas.run(p.shape, p.operands);
  }
  void operator()(const RmsNorm& o) const {
    rms_norm(in(o.x), o.w ? weight(*o.w) : View<const T>{}, o.width, o.epsilon, out(o.y), stream);
  }
  void operator()(const AddRmsNorm& o) const {
    add_rms_norm(in(o.h), in(o.delta), weight(o.w), o.epsilon, out(o.sum), out(o.y), stream);
  }
  void operator()(const LayerNorm& o) const {
    layer_norm(in(o.x), weight(o.w), weight(o.bias), o.epsilon, out(o.y), stream);
  }
  void operator()(const Add& o) const { add(in(o.a), in(o.b), out(o.y), stream); }
  void operator()(const SiluMul& o) const { silu_mul(in(o.gate_up), out(o.y), stream); }
  void operator()(const GeluMul& o) const { gelu_mul(in(o.gate_up), out(o.y), stream); }
  void operator()(const SiluAdd& o) const { silu_add(in(o.a), in(o.b), out(o.y), stream); }
  void operator()(const Gelu& o) const { gelu(in(o.x), out(o.y), stream); }
  void operator()(const CosineGate& o) const { cosine_gate(in(o.q), in(o.k), in(o.v), o.head_dim, out(o.y), stream); }
  void operator()(const GroupedConv& o) const {
    grouped_conv(in(o.x), in(o.delta), weight(o.base), o.block, out(o.y), stream);
  }
  void operator()(const MixtureOfExperts& o) const {
    const ExpertPointers<T> w{.router = weight(o.w.router).data,
                              .gate_up = weight(o.w.gate_up).data,
                              .down = weight(o.w.down).data,
                              .choice_bias = data(o.w.choice_bias),
                              .router_bias = data(o.w.router_bias),
                              .gate_up_bias = data(o.w.gate_up_bias),
                              .down_bias = data(o.w.down_bias),
                              .expert_scale = data(o.w.expert_scale)};
    mixture_of_experts(shape_of(o), in(o.x), in(o.routed.value_or(o.x)), w, scratch(), out(o.y), stream);
  }
  void operator()(const RopeAppend& o) const {
    rope_append(in(o.q), in(o.k), in(o.v), rotation(o.rope), s.view(o.pass), s.view<T>(o.cache), o.layer, out(o.y),
                stream);
  }
  void operator()(const LatentAppend& o) const {
    latent_append(in(o.q), in(o.latent), in(o.shared_key), rotation(o.rope), s.view(o.pass), s.view<T>(o.cache),
                  o.layer, out(o.q_rope), out(o.k_rope), stream);
  }
  void operator()(const AbsorbQueries& o) const {
    const LatentAttention& l = o.dims;
    head_products(HeadProducts<T>{.x = in(o.q),
                                  .w = weight(o.kv_b).data,
                                  .y = out(o.y),
                                  .heads = o.y.cols / l.kv_rank,
                                  .in = l.nope_dim,
                                  .out = l.kv_rank,
                                  .x_apart = l.nope_dim + l.rope_dim,
                                  .w_apart = l.nope_dim + l.value_dim,
                                  .w_stride = o.kv_b.out,
                                  .transposed = true},
                  stream);
  }
  void operator()(const ExpandValues& o) const {
    const LatentAttention& l = o.dims;
    head_products(HeadProducts<T>{.x = in(o.x),
                                  .w = weight(o.kv_b).data + l.nope_dim,
                                  .y = out(o.y),
                                  .heads = o.y.cols / l.value_dim,
                                  .in = l.kv_rank,
                                  .out = l.value_dim,
                                  .x_apart = l.kv_rank,
                                  .w_apart = l.nope_dim + l.value_dim,
                                  .w_stride = o.kv_b.out,
                                  .transposed = false},
                  stream);
  }
  void operator()(const IndexAppend& o) const {
    index_append(in(o.q), in(o.k), rotation(o.rope), s.view(o.pass), s.view<T>(o.cache), o.layer, out(o.y), stream);
  }
  void operator()(const SelectTokens& o) const {
    select_tokens<T>(in(o.q), in(o.weights), s.view(o.pass), s.view<T>(o.cache), o.layer, capacity(o.cache), scratch(),
                     out_ids(o.y), stream);
  }
  void operator()(const LatentAttend& o) const {
    if (o.tokens)
      return attend_to_tokens<T>(in(o.q), in(o.q_rope), ids(*o.tokens), s.view(o.pass), s.view<T>(o.cache), o.layer,
                                 o.scale, o.q.cols / o.cache.latent, out(o.y), stream);
    latent_attend(in(o.q), in(o.q_rope), s.view(o.pass), s.view<T>(o.cache), o.layer, o.scale, shape(o), scratch(),
                  out(o.y), stream);
  }
  void operator()(const ExpandedAttend& o) const {
    const LatentAttention& l = o.dims;
    const ExpandedShape shape{o.q_rope.cols / l.rope_dim, l.nope_dim, l.rope_dim, l.value_dim};
    expanded_attend(shape, in(o.q), in(o.q_rope), in(o.kv), in(o.k_rope), s.view(o.pass), o.scale, out(o.y), stream);
  }
  void operator()(const Attend& o) const {
    const Scores scores{o.cache.window, o.scale, data(o.sinks)};
    attend<T>(in(o.q), s.view(o.pass), s.view<T>(o.cache), o.layer, scores, s.device.multiprocessors, scratch(),
              out(o.y), stream);
  }
  void operator()(const GroupAttend& o) const {
    group_attend(in(o.q), in(o.k), in(o.v), o.group, o.head_dim, o.causal, out(o.y), stream);
  }
  void operator()(const SigmoidMul& o) const { sigmoid_mul(in(o.x), in(o.gate), out(o.y), stream); }
  void operator()(const AddScaled& o) const { add_scaled(in(o.a), in(o.b), weight(o.scale).data, out(o.y), stream); }
  void operator()(const SoftCap& o) const { soft_cap(in(o.x), o.cap, out(o.y), stream); }
  void operator()(const GatedRmsNorm& o) const {
    gated_rms_norm(in(o.x), in(o.gate), weight(o.w).data, o.width, o.epsilon, out(o.y), stream);
  }
  // Calls f with the states in their own format: 16 bits only where activations have them too.
  template <class F>
  void with_states(const StateCache& c, F f) const {
    if (c.net.state == DType::fp32) f(s.view<T, float>(c));
    else f(s.view<T, T>(c));
  }
  void operator()(const Convolve& o) const {
    with_states(o.cache, [&](auto states) {
      convolve(in(o.x), weight(o.w), s.view(o.pass), s.tape->pass(o.pass).rows.prompts, states, o.layer, out(o.y),
               stream);
    });
  }
  void operator()(const GatedDeltaRule& o) const {
    with_states(o.cache, [&](auto states) {
      gated_delta_rule(in(o.qkv), in(o.gates), weight(o.a_log).data, weight(o.dt_bias).data, s.view(o.pass),
                       s.tape->pass(o.pass).rows.prompts, states, o.layer, out(o.y), stream);
    });
  }
  void operator()(const Quantise&) const { check(false, "the decoder on CUDA computes in 16 or 32 bits"); }
  void operator()(const SumOverRanks&) const { check(false, "the decoder on CUDA runs on one device"); }
  void operator()(const GatherOverRanks&) const { check(false, "the decoder on CUDA runs on one device"); }
  void operator()(const ExchangeRows&) const { check(false, "the decoder on CUDA runs on one device"); }

  // ---- data movement
  template <class Word>
  Parts<Word> parts(const std::vector<Tensor>& all, bool below) const {
    if (all.size() > kMostParts)
      throw InputErrors("on CUDA a plan may put at most " + std::to_string(kMostParts) +
                        " tensors together; this one needs " + std::to_string(all.size()));
    Parts<Word> p;
    for (const Tensor& t : all) {
      const auto i = static_cast<std::size_t>(p.count++);
      p.part[i] = s.view<const Word>(t);
      p.begin[i + 1] = p.begin[i] + (below ? t.rows : t.cols);
    }
    return p;
  }
  template <class F>
  static void by_word(DType t, F f) {
    if (bits_of(t) == 16) f(std::uint16_t{});
    else f(std::uint32_t{});
  }
  void operator()(const Gather& o) const {
    by_word(o.y.dtype, [&](auto word) {
      using Word = decltype(word);
      gather(parts<Word>(o.parts, false), o.index ? ids(*o.index) : View<const int>{}, o.shift, o.span,
             s.view<Word>(o.y), stream);
    });
  }
  void operator()(const ConcatRows& o) const {
    by_word(o.y.dtype, [&](auto word) {
      using Word = decltype(word);
      concat_rows(parts<Word>(o.parts, true), s.view<Word>(o.y), stream);
    });
  }
  void operator()(const Store& o) const {
    check(o.x.dtype == o.to.dtype, "store: a buffer of another format");
    by_word(o.to.dtype, [&](auto word) {
      using Word = decltype(word);
      concat_rows(parts<Word>({o.x}, true), s.view<Word>(o.to), stream);
    });
  }
  void operator()(const Upload&) const {}  // was copied before the tape ran

  // ---- choosing tokens
  void operator()(const Argmax& o) const { argmax(in(o.x), s.device.multiprocessors, scratch(), out_ids(o.y), stream); }
  void operator()(const TopK& o) const {
    top_k(in(o.logits), s.device.multiprocessors, scratch(), out_ids(o.ids), out_floats(o.log_probs), stream);
  }
  void operator()(const Sample& o) const {
    sample(in(o.logits), s.view(o.slots), o.sampling, s.options.seed, o.ahead, out_ids(o.tokens), out_floats(o.q),
           stream);
  }
  void operator()(const SampleChildren& o) const {
    sample_children(in(o.logits), s.view(o.slots), o.sampling, s.options.seed, o.ahead, o.replaced, out_ids(o.tokens),
                    out_floats(o.q), stream);
  }
  void operator()(const MapIds& o) const { map_ids(ids(o.ids), s.whole_numbers(o.offsets), out_ids(o.y), stream); }
  void operator()(const ClipTopK& o) const {
    clip_top_k(floats(o.log_probs), o.top_p, o.least_share, out_floats(o.y), stream);
  }
  void operator()(const WalkCandidates& o) const {
    walk_candidates(ids(o.ids), floats(o.log_probs), in(o.gate), in(o.root), in(o.before), in(o.after), out_ids(o.y),
                    stream);
  }
  void operator()(const ExpandTree& o) const {
    expand_tree({ids(o.ids), floats(o.log_probs), floats(o.score), ids(o.node), ids(o.tree_mask), o.width, o.keep,
                 o.first_node, o.tail, out_ids(o.tokens), out_floats(o.scores), out_ids(o.parents), out_ids(o.row),
                 out_ids(o.token), out_floats(o.next_score), out_ids(o.next_node), out_ids(o.next_tree_mask)},
                stream);
  }
  void operator()(const SelectTree& o) const {
    std::vector<TreeLevel> levels;
    for (std::size_t i = 0; i < o.tokens.size(); ++i)
      levels.push_back({ids(o.tokens[i]), floats(o.scores[i]), ids(o.parents[i])});
    select_tree(levels, ids(o.root), o.size, o.by_level, out_ids(o.y), out_ids(o.parent), out_ids(o.tree_mask), stream);
  }

  void operator()(const FollowPath& o) const {
    follow_path(ids(o.last), ids(o.cu_seqlens), ids(o.to), o.items, o.own, out_ids(o.y), out_ids(o.newest), stream);
  }

  // ---- verification and the cache
  template <class Verify>
  TreesView trees(const Verify& o) const {
    return {ids(o.tokens), ids(o.parents), ids(o.cu_seqlens)};
  }
  template <class Verify>
  VerdictView verdict(const Verify& o) const {
    const VerdictTensors& v = o.verdict;
    return {whole(v.path), whole(v.next), whole(v.counts), whole(v.last), whole(v.last_row), whole(v.bonus), o.depth};
  }
  void operator()(const VerifyGreedy& o) const { verify_greedy(ids(o.predicted), trees(o), verdict(o), stream); }
  void operator()(const VerifySampled& o) const {
    verify_sampled(in(o.logits), trees(o), o.q ? floats(*o.q) : View<const float>{}, o.rule, s.view(o.slots),
                   o.sampling, s.options.seed, scratch(), verdict(o), stream);
  }
  void operator()(const VerifyRelaxed& o) const {
    verify_relaxed(in(o.logits), trees(o), o.sampling, o.rule, scratch(), verdict(o), stream);
  }
  void operator()(const ForceAccepted& o) const {
    force_accepted(ids(o.predicted), trees(o), ids(o.wanted), o.vocabulary, out_ids(o.y), stream);
  }
  void operator()(const Commit& o) const {
    commit(ids(o.path), ids(o.cu_seqlens), s.view(BatchSlots{o.kv_slots, o.lengths, {}}), s.view<T>(o.cache),
           o.cache.layers, stream);
  }
  void operator()(const KeepEntries& o) const {
    keep_entries(ids(o.last), ids(o.cu_seqlens), s.view(BatchSlots{o.kv_slots, o.lengths, {}}), s.view<T>(o.from),
                 s.view<T>(o.to), o.from.layers, o.rows, stream);
  }
  void operator()(const SelectEntries& o) const {
    select_entries(in(o.q), s.view(o.pass), s.view<T>(o.from), s.view<T>(o.to), {o.layer, o.window, o.pool, o.scale},
                   scratch(), stream);
  }
  void operator()(const Advance& o) const { advance(ids(o.counts), out_ids(o.lengths), stream); }

  // Kernels that an op launches.
  template <class Other>
  int launches_of(const Other&) const {
    return 1;
  }
  int launches_of(const Upload&) const { return 0; }  // is copied before the tape runs
  int launches_of(const MixtureOfExperts&) const { return kExpertLaunches; }
  int launches_of(const Attend& o) const { return plan_attend<T>(shape(o)).launches(); }
  int launches_of(const LatentAttend& o) const { return o.tokens ? 1 : plan_latent<T>(shape(o)).launches(); }
  int launches_of(const Linear& o) const {
    const Product p = product(o);
    return s.blas.launches(p.shape, p.operands);
  }

  // Bytes of scratch memory that an op needs.
  template <class Other>
  std::size_t scratch_of(const Other&) const {
    return 0;
  }
  std::size_t scratch_of(const MixtureOfExperts& o) const { return expert_scratch<T>(shape_of(o)); }
  std::size_t scratch_of(const Attend& o) const { return attend_scratch<T>(shape(o)); }
  std::size_t scratch_of(const LatentAttend& o) const { return o.tokens ? 0 : latent_scratch<T>(shape(o)); }
  std::size_t scratch_of(const SelectTokens& o) const {
    return select_tokens_scratch(s.tape->pass(o.pass).rows.total, capacity(o.cache));
  }
  std::size_t scratch_of(const SelectEntries& o) const {
    const Rows& rows = s.tape->pass(o.pass).rows;
    return select_scratch(rows.sequences(), rows.widest, o.from.kv_heads);
  }
  std::size_t scratch_of(const Argmax& o) const {
    return choose_scratch(o.x.rows, o.x.cols, 1, s.device.multiprocessors);
  }
  std::size_t scratch_of(const TopK& o) const {
    return choose_scratch(o.logits.rows, o.logits.cols, o.ids.cols, s.device.multiprocessors);
  }
  std::size_t scratch_of(const VerifySampled& o) const { return verify_scratch(o.logits.rows); }
  std::size_t scratch_of(const VerifyRelaxed& o) const { return verify_scratch(o.logits.rows); }
};

}  // namespace draftline::cuda
