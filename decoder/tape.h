// SPDX-License-Identifier: Apache-2.0
// A tape: the ops recorded between two host reads. Its hash is its identity: tapes with equal hashes share one price
// and one CUDA graph.
#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "core/named.h"
#include "decoder/op.h"

namespace draftline {

// The part of a step to which an op belongs. Prices are broken down by phase, and an engine may launch phases
// differently.
enum class Phase : std::uint8_t { draft, verify, commit };
inline constexpr NamedValues<Phase, 3> kPhaseNames{
    {{"draft", Phase::draft}, {"verify", Phase::verify}, {"commit", Phase::commit}}};

struct Tape {
  std::vector<Op> ops;
  std::vector<Phase> phases;  // of each op
  std::vector<Pass> passes;
  int texts = 0, trees = 0;   // that the host searches for drafts before it launches the first op
  std::vector<Tensor> temps;  // the full extent of each temporary; ids are in order of first writes
  std::uint64_t hash = 0;
  const Pass& pass(PassRef p) const { return passes[at(p.index)]; }
};

// Calls f(tensor, is_output) for every tensor of an op, including those of its passes and slots.
template <class T, class F>
void each_tensor(const Tape& tape, const T& op, F f) {
  const auto visit = [&](const auto& field) {
    using U = std::decay_t<decltype(field)>;
    const auto slots = [&](const BatchSlots& s) {
      f(s.kv_slots, false);
      f(s.lengths, false);
    };
    if constexpr (std::is_same_v<U, Out>) {
      const Tensor& written = field;
      f(written, true);
    } else if constexpr (std::is_same_v<U, Tensor>) {
      f(field, false);
    } else if constexpr (std::is_same_v<U, std::optional<Tensor>>) {
      if (field) f(*field, false);
    } else if constexpr (std::is_same_v<U, std::vector<Tensor>>) {
      for (const Tensor& t : field) f(t, false);
    } else if constexpr (std::is_same_v<U, BatchSlots>) {
      f(field.ids, false);
      f(field.lengths, false);
    } else if constexpr (std::is_same_v<U, PassRef>) {
      const Pass& p = tape.pass(field);
      f(p.rows.cu_seqlens, false);
      slots(p.slots);
      if (p.tree_mask) f(*p.tree_mask, false);
    }
  };
  std::apply([&](const auto&... field) { (visit(field), ...); }, op.fields());
}

// Calls f(weight) for every weight of an op.
template <class T, class F>
void each_weight(const T& op, F f) {
  const auto visit = [&](const auto& field) {
    using U = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<U, Weight>) {
      f(field);
    } else if constexpr (std::is_same_v<U, std::optional<Weight>>) {
      if (field) f(*field);
    } else if constexpr (std::is_same_v<U, ExpertWeights>) {
      for (const Weight& w : {field.router, field.gate_up, field.down}) f(w);
      for (const auto& w :
           {field.choice_bias, field.router_bias, field.gate_up_bias, field.down_bias, field.expert_scale})
        if (w) f(*w);
    }
  };
  std::apply([&](const auto&... field) { (visit(field), ...); }, op.fields());
}

// The pass of an op, if it has one.
template <class T>
PassRef pass_of(const T& op) {
  if constexpr (requires { op.pass; }) return op.pass;
  else return {};
}
PassRef pass_of(const Op& op);

// The op's name in an engine profile, as specific as profiles are: "attention.verify", "linear.int8".
std::string_view op_key(const Op&, const Tape&);

// One run of a tape: for each pass, the rows of each sequence in this run. `waits`: the host reads a value at its end.
struct SegmentRun {
  const Tape* tape = nullptr;
  std::vector<std::vector<int>> rows;
  bool waits = true;
  std::vector<std::vector<int>> ahead = {};  // Pass::ahead of each pass
};

// The byte offset of each temporary in one arena, such that temporaries with overlapping lifetimes do not overlap.
// `size` is the peak memory of activations.
struct ArenaPlan {
  std::vector<std::size_t> offset;
  std::size_t size = 0;
};
ArenaPlan plan_arena(const Tape&, std::size_t (*stored_bytes)(const Tensor&));
std::size_t declared_bytes(const Tensor&);
// The plan's inputs from a tape: the bytes of each temporary, and the first and the last op that use it.
struct TempUse {
  std::size_t bytes = 0;
  int first = -1, last = -1;
  bool operator==(const TempUse&) const = default;
};
std::vector<TempUse> temp_uses(const Tape&, std::size_t (*stored_bytes)(const Tensor&));
ArenaPlan plan_arena(const std::vector<TempUse>&);

// Adds the fields of ops to a tape's hash, which distinguishes the steps of one decoder. It omits values that its
// networks fix, such as a rope's scaling, and values only for accounting (Pass::ahead).
struct TapeHasher {
  Fingerprint hash;
  void operator()(int v) { hash.add(v); }
  void operator()(bool v) { hash.add(v); }
  void operator()(float v) { hash.add(double{v}); }
  void operator()(double v) { hash.add(v); }
  template <class E>
  requires std::is_enum_v<E>
  void operator()(E v) { hash.add(number(v)); }
  void operator()(const Tensor& t) {  // everything except the epoch, which differs between steps
    hash.add(pack(t.id, t.offset));
    hash.add(pack(t.rows, t.cols));
    hash.add(pack(t.stride, 256 * number(t.home) + number(t.dtype)));
  }
  void operator()(const Weight& w) {
    hash.add(pack(w.id, number(w.dtype)));
    hash.add(pack(w.in, w.out));
  }
  void operator()(const Cache& c) {
    hash.add(c.id);
    if (c.window.tokens > 0) hash.add(pack(c.window.tokens, c.window.chunked));
    if (c.window.ring) hash.add(pack(c.window.sinks, 1));
  }
  void operator()(const StateCache& c) { hash.add(pack(c.id, c.states)); }
  void operator()(const PassRef& p) { hash.add(p.index); }
  void operator()(const BatchSlots& s) {
    for (const Tensor& each : {s.kv_slots, s.lengths, s.ids}) (*this)(each);
  }
  void operator()(const Rope& r) {
    hash.add(r.theta);
    hash.add(pack(r.columns, r.scaling.has_value()));
    if (r.scaling) hash.add(r.scaling->factor);
    if (r.scaling && r.scaling->kind > RopeScaling::Kind::llama3)
      hash.add(pack(r.scaling->original_context, r.scaling->long_text));
    if (r.growth) hash.add(r.growth->every), hash.add(r.growth->scale), hash.add(r.growth->offset);
  }
  void operator()(const LatentAttention& l) {
    hash.add(pack(l.q_rank, l.kv_rank));
    hash.add(pack(l.nope_dim, l.rope_dim));
    hash.add(l.value_dim);
  }
  void operator()(const ExpertChoice& c) {
    hash.add(pack(c.experts, c.per_token));
    hash.add(pack(number(c.score), c.normalise + 2 * c.weighs_inputs));
    hash.add(pack(c.groups, c.groups_per_token));
    hash.add(c.scale);
  }
  void operator()(const RowRouting& r) {
    hash.add(r.exponent);
    hash.add(r.load_cv);
  }
  void operator()(const ExpertWeights& w) {
    for (const Weight& each : {w.router, w.gate_up, w.down}) (*this)(each);
    for (const auto& each : {w.choice_bias, w.router_bias, w.gate_up_bias, w.down_bias}) (*this)(each);
  }
  void operator()(const Relaxed& r) {
    (*this)(r.kind);
    hash.add(r.epsilon);
    hash.add(r.delta);
  }
  void operator()(const Sampling& s) {
    hash.add(s.temperature);
    hash.add(s.top_k);
    hash.add(s.top_p);
  }
  template <class T>
  void operator()(const std::optional<T>& o) {
    hash.add(o.has_value());
    if (o) (*this)(*o);
  }
  template <class T>
  void operator()(const std::vector<T>& v) {
    hash.add(v.size());
    for (const T& x : v) (*this)(x);
  }
  void operator()(const Pass& p) {
    hash.add(pack(p.rows.total, p.rows.widest));
    (*this)(p.rows.cu_seqlens);
    (*this)(p.slots);
    (*this)(p.tree_mask);
    hash.add(p.tail);
    hash.add(p.causal);
  }

 private:
  template <class E>
  static int number(E v) {
    return static_cast<int>(v);
  }
  static std::uint64_t pack(int high, int low) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
  }
};

}  // namespace draftline
