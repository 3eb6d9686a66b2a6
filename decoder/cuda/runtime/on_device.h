// SPDX-License-Identifier: Apache-2.0
// What the functions that run an op need of the interpreter: device addresses of the op's operands. Each folder has the
// functions of its ops, in a header called run_*.h:
//   run_op(const OnDevice<T>&, const O&)       calls the op's launcher
//   launches_of(const OnDevice<T>&, const O&)  kernels that this launches; 1 where there is no such function
//   scratch_of(const OnDevice<T>&, const O&)   bytes of scratch memory that the op needs; 0 likewise
// T is the format of activations.
#pragma once
#include "decoder/cuda/cache/movement.h"
#include "decoder/cuda/runtime/state.h"
#include "decoder/rope.h"

namespace draftline::cuda {

template <class T>
struct OnDevice {
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
  const T* data(const Weight& w) const { return weight(w).data; }
  const T* data(const std::optional<Weight>& w) const { return w ? data(*w) : nullptr; }
  Scratch scratch() const { return {s.scratch.data(), s.scratch.bytes()}; }
  const Pass& pass(PassRef p) const { return s.tape->pass(p); }
  PassView view(PassRef p) const { return s.view(p); }
  CacheView<T> view(const Cache& c) const { return s.view<T>(c); }
  BatchSlotsView view(const BatchSlots& slots) const { return s.view(slots); }
  int capacity(const Cache& c) const { return s.capacities[at(c.id)]; }
  int multiprocessors() const { return s.device.multiprocessors; }
  Rotation rotation(const Rope& rope) const {
    return {.frequencies = s.frequencies(rope),
            .half = rope.columns / 2,
            .factor = attention_factor(rope),
            .growth_every = rope.growth ? static_cast<float>(rope.growth->every) : 1,
            .growth = rope.growth ? static_cast<float>(rope.growth->scale) : 0,
            .growth_offset = rope.growth ? static_cast<float>(rope.growth->offset) : 1};
  }
};

}  // namespace draftline::cuda
