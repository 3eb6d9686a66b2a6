// SPDX-License-Identifier: Apache-2.0
// Launches each op: turns its tensors into device addresses and calls its launcher. Ops are in the order of
// decoder/op.h.

#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/cache/movement.h"
#include "decoder/cuda/cache/rings.h"
#include "decoder/cuda/elementwise/elementwise.h"
#include "decoder/cuda/experts/experts.h"
#include "decoder/cuda/recurrence/delta_net.h"
#include "decoder/cuda/runtime/state.h"
#include "decoder/cuda/sampling/choose.h"
#include "decoder/cuda/sampling/sample.h"
#include "decoder/cuda/sampling/trees.h"
#include "decoder/cuda/sampling/verify.h"
#include "decoder/rope.h"

namespace draftline::cuda {

namespace {

struct Product {
  GemmShape shape;
  GemmOperands operands;
};

[[noreturn]] void only_priced(const std::string& what) {
  throw InputErrors("on CUDA " + what + " is priced only: decode on the CPU");
}

ExpertShape shape_of(const MixtureOfExperts& o) {
  return {.rows = o.x.rows,
          .hidden = o.x.cols,
          .inner = o.w.gate_up.out / 2,
          .experts = o.choice.experts,
          .per_token = o.choice.per_token,
          .normalise = o.choice.normalise};
}

}  // namespace

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
  AttendShape shape(const Attend& o) const {
    const Pass& p = s.tape->pass(o.pass);
    return {.sequences = p.rows.sequences(),
            .widest = p.rows.widest,
            .heads = o.q.cols / o.cache.head_dim,
            .kv_heads = o.cache.kv_heads,
            .head_dim = o.cache.head_dim,
            .capacity = s.capacities[static_cast<std::size_t>(o.cache.id)],
            .sms = s.device.multiprocessors};
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
  void operator()(const LatentAppend&) const { only_priced("latent attention"); }
  void operator()(const AbsorbQueries&) const { only_priced("latent attention"); }
  void operator()(const ExpandValues&) const { only_priced("latent attention"); }
  void operator()(const LatentAttend&) const { only_priced("latent attention"); }
  void operator()(const ExpandedAttend&) const { only_priced("latent attention"); }
  void operator()(const GroupedConv& o) const {
    grouped_conv(in(o.x), in(o.delta), weight(o.base), o.block, out(o.y), stream);
  }
  void operator()(const MixtureOfExperts& o) const {
    const ExpertChoice& c = o.choice;
    if (c.score != Experts::Score::softmax || c.scale != 1 || c.groups != c.groups_per_token || c.weighs_inputs ||
        o.clamped || o.w.choice_bias || o.w.router_bias)
      only_priced("a router beyond the softmax of all experts, or experts with biases,");
    mixture_of_experts(shape_of(o), in(o.x), weight(o.w.router).data, weight(o.w.gate_up).data, weight(o.w.down).data,
                       scratch(), out(o.y), stream);
  }
  void operator()(const RopeAppend& o) const {
    const Rotation rotation{.frequencies = s.frequencies(o.rope),
                            .half = o.rope.columns / 2,
                            .factor = attention_factor(o.rope),
                            .growth_every = o.rope.growth ? static_cast<float>(o.rope.growth->every) : 1,
                            .growth = o.rope.growth ? static_cast<float>(o.rope.growth->scale) : 0};
    rope_append(in(o.q), in(o.k), in(o.v), rotation, s.view(o.pass), s.view<T>(o.cache), o.layer, out(o.y), stream);
  }
  void operator()(const Attend& o) const {
    const Scores scores{o.cache.window, o.scale, o.sinks ? weight(*o.sinks).data : nullptr};
    attend<T>(in(o.q), s.view(o.pass), s.view<T>(o.cache), o.layer, scores, s.device.multiprocessors, scratch(),
              out(o.y), stream);
  }
  void operator()(const GroupAttend& o) const {
    group_attend(in(o.q), in(o.k), in(o.v), o.group, o.head_dim, o.causal, out(o.y), stream);
  }
  void operator()(const SigmoidMul& o) const { sigmoid_mul(in(o.x), in(o.gate), out(o.y), stream); }
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

  // Bytes of scratch memory that an op needs.
  template <class Other>
  std::size_t scratch_of(const Other&) const {
    return 0;
  }
  std::size_t scratch_of(const MixtureOfExperts& o) const { return expert_scratch<T>(shape_of(o)); }
  std::size_t scratch_of(const Attend& o) const { return attend_scratch<T>(shape(o)); }
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

template <class F>
static auto with_format(CudaBackend::State& s, F f) {
  if (s.options.activations == DType::bf16) return f(LaunchOp<bf16>{s});
  return f(LaunchOp<float>{s});
}

}  // namespace draftline::cuda

namespace draftline {

using cuda::with_format;

void CudaBackend::State::launch(const Op& op) {
  with_format(*this, [&](const auto& with) { std::visit(with, op); });
}

void CudaBackend::State::prepare(const Op& op) {
  std::visit(
      [this](const auto& o) {
        using O = std::decay_t<decltype(o)>;
        const auto load = [this](const auto& field) {
          using Field = std::decay_t<decltype(field)>;
          if constexpr (std::is_same_v<Field, Weight> && !std::is_same_v<O, MapIds>) weight(field);
          if constexpr (std::is_same_v<Field, std::optional<Weight>>)
            if (field) weight(*field);
          if constexpr (std::is_same_v<Field, ExpertWeights>)
            for (const Weight& w : {field.router, field.gate_up, field.down}) weight(w);
        };
        std::apply([&](const auto&... field) { (load(field), ...); }, o.fields());
        if constexpr (std::is_same_v<O, MapIds>) whole_numbers(o.offsets);
        if constexpr (std::is_same_v<O, RopeAppend>) frequencies(o.rope);
        if constexpr (std::is_same_v<O, Linear>)
          with_format(*this, [&](const auto& with) {
            const auto p = with.product(o);
            blas.prepare(p.shape, p.operands);
          });
      },
      op);
}

int CudaBackend::declared_launches(const Op& op) {
  if (std::holds_alternative<Upload>(op)) return 0;  // is copied before the tape runs
  return std::holds_alternative<MixtureOfExperts>(op) ? cuda::kExpertLaunches : 1;
}

int CudaBackend::State::launches(const Op& op) const {
  const auto* o = std::get_if<Linear>(&op);
  if (o == nullptr) return declared_launches(op);
  return with_format(const_cast<State&>(*this), [&](const auto& with) {
    const auto p = with.product(*o);
    return blas.launches(p.shape, p.operands);
  });
}

std::size_t CudaBackend::State::scratch_bytes(const Op& op) const {
  return with_format(const_cast<State&>(*this), [&](const auto& with) {
    return std::visit([&](const auto& o) { return with.scratch_of(o); }, op);
  });
}

}  // namespace draftline
