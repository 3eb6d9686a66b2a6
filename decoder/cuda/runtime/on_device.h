// SPDX-License-Identifier: Apache-2.0
// How an op runs on the device. Its operands are handles; Addresses has the memory behind them, and OnDevice makes the
// arguments of kernels from both. T is the format of activations.
#pragma once
#include "decoder/cuda/runtime/launch.h"
#include "decoder/op.h"
#include "decoder/rope.h"

namespace draftline::cuda {

class Blas;

struct CacheMemory {
  void* values = nullptr;
  const int* blocks = nullptr;
  int blocks_per_kv_slot = 0, block_count = 0;
};
struct StateMemory {
  void *states = nullptr, *rows = nullptr;
  int kv_slots = 0;
};
// What ops share.
struct Surroundings {
  cudaStream_t stream = nullptr;
  Scratch scratch = {};  // scratch_bytes() at least
  int multiprocessors = 0;
  std::size_t shared = 0;    // bytes of shared memory that a block may have
  std::uint64_t seed = 0;    // of random numbers
  Blas* products = nullptr;  // that Linear needs
};

class Addresses {
 public:
  virtual ~Addresses() = default;
  virtual std::byte* address(const Tensor&) const = 0;
  virtual const void* weight(const Weight&) = 0;  // in the format of activations
  virtual const int* whole_numbers(const Weight&) = 0;
  virtual const float* frequencies(const Rope&) = 0;  // radians per position of each pair of columns; null: no columns
  virtual const Pass& pass(PassRef) const = 0;
  virtual CacheMemory memory(const Cache&) const = 0;
  virtual StateMemory memory(const StateCache&) const = 0;
  virtual Surroundings surroundings() = 0;
};

template <class T>
struct OnDevice : Surroundings {
  explicit OnDevice(Addresses& a) : Surroundings(a.surroundings()), addresses(a) {}
  Addresses& addresses;

  template <class V>
  View<V> view(const Tensor& t) const {
    return {reinterpret_cast<V*>(addresses.address(t)), t.rows, t.cols, t.stride};
  }
  View<const T> in(const Tensor& t) const { return view<const T>(t); }
  View<const T> in(const std::optional<Tensor>& t) const { return t ? in(*t) : View<const T>{}; }
  View<T> out(const Tensor& t) const { return view<T>(t); }
  View<const int> ids(const Tensor& t) const { return view<const int>(t); }
  View<const int> ids(const std::optional<Tensor>& t) const { return t ? ids(*t) : View<const int>{}; }
  View<int> out_ids(const Tensor& t) const { return view<int>(t); }
  View<const float> floats(const Tensor& t) const { return view<const float>(t); }
  View<float> out_floats(const Tensor& t) const { return view<float>(t); }

  View<const T> weight(const Weight& w) const { return {data(w), w.in, w.out, w.out}; }
  const T* data(const Weight& w) const { return reinterpret_cast<const T*>(addresses.weight(w)); }
  const T* data(const std::optional<Weight>& w) const { return w ? data(*w) : nullptr; }

  BatchSlotsView view(const BatchSlots& s) const {
    const auto of = [this](const Tensor& t) { return t.id < 0 ? View<const int>{} : ids(t); };
    return {.kv_slots = of(s.kv_slots), .lengths = of(s.lengths), .ids = of(s.ids)};
  }
  const Pass& pass(PassRef p) const { return addresses.pass(p); }
  PassView view(PassRef ref) const {
    const Pass& p = pass(ref);
    return {.cu_seqlens = ids(p.rows.cu_seqlens),
            .slots = view(p.slots),
            .tree_mask = ids(p.tree_mask),
            .sequences = p.rows.sequences(),
            .total = p.rows.total,
            .widest = p.rows.widest,
            .tail = p.tail,
            .causal = p.causal};
  }
  CacheView<T> view(const Cache& c) const {
    const CacheMemory m = addresses.memory(c);
    return {reinterpret_cast<T*>(m.values),
            m.blocks,
            m.blocks_per_kv_slot,
            m.block_count,
            c.kv_heads,
            c.head_dim + c.index_columns(),
            c.latent > 0 ? 0 : c.value_dim,
            c.window.ring ? c.window.tokens : 0,
            c.window.sinks};
  }
  // Cache entries that a sequence has room for.
  int capacity(const Cache& c) const { return addresses.memory(c).blocks_per_kv_slot * kBlockTokens; }
  template <class S>
  StateView<T, S> view(const StateCache& c) const {
    const StateMemory m = addresses.memory(c);
    return {reinterpret_cast<S*>(m.states),
            reinterpret_cast<T*>(m.rows),
            m.kv_slots,
            c.states,
            c.kept_rows(),
            c.form.convolved_columns,
            c.form.key_heads,
            c.form.value_heads,
            c.form.key_dim,
            c.form.value_dim,
            c.form.kernel};
  }
  Rotation rotation(const Rope& r) const {
    Rotation to{.frequencies = addresses.frequencies(r), .half = r.columns / 2, .factor = attention_factor(r)};
    if (const auto& g = r.growth) {
      to.growth_every = single(g->every);
      to.growth = single(g->scale);
      to.growth_offset = single(g->offset);
    }
    return to;
  }
  // Calls f with the states of a cache in their own format: 16 bits only where activations have them too.
  template <class F>
  void with_states(const StateCache& c, F f) const {
    if (c.form.format == DType::fp32) f(view<float>(c));
    else f(view<T>(c));
  }
};

// Launches an op. The .cu file of its family defines this for float and bf16 (FOR_FORMATS).
#define DRAFTLINE_OP(O) \
  template <class T>    \
  void run(const OnDevice<T>&, const O&);
DRAFTLINE_OPS(DRAFTLINE_OP)
#undef DRAFTLINE_OP

// Kernels that run() launches: one, but for the ops that have their own function here.
template <class T, class O>
int launches(const OnDevice<T>&, const O&) {
  return 1;
}
// Bytes of scratch memory that run() needs, counters included: likewise none.
template <class T, class O>
std::size_t scratch_bytes(const OnDevice<T>&, const O&) {
  return 0;
}
#define DRAFTLINE_OP(result, function, O) \
  template <class T>                      \
  result function(const OnDevice<T>&, const O&);
DRAFTLINE_OP(int, launches, Attend)
DRAFTLINE_OP(int, launches, LatentAttend)
DRAFTLINE_OP(int, launches, Linear)
DRAFTLINE_OP(int, launches, MixtureOfExperts)
DRAFTLINE_OP(int, launches, Upload)
DRAFTLINE_OP(std::size_t, scratch_bytes, Argmax)
DRAFTLINE_OP(std::size_t, scratch_bytes, Attend)
DRAFTLINE_OP(std::size_t, scratch_bytes, LatentAttend)
DRAFTLINE_OP(std::size_t, scratch_bytes, MixtureOfExperts)
DRAFTLINE_OP(std::size_t, scratch_bytes, SelectEntries)
DRAFTLINE_OP(std::size_t, scratch_bytes, SelectTokens)
DRAFTLINE_OP(std::size_t, scratch_bytes, TopK)
DRAFTLINE_OP(std::size_t, scratch_bytes, VerifyRelaxed)
DRAFTLINE_OP(std::size_t, scratch_bytes, VerifySampled)
#undef DRAFTLINE_OP

#define FOR_FORMATS(result, function, O)                      \
  template result function(const OnDevice<float>&, const O&); \
  template result function(const OnDevice<bf16>&, const O&)

}  // namespace draftline::cuda
