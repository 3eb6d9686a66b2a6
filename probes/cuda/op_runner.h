// SPDX-License-Identifier: Apache-2.0
// Runs ops without a tape, on memory that the caller owns and handles name. Tests of kernels use it too.
#pragma once
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

class OpRunner final : public Addresses {
 public:
  explicit OpRunner(cudaStream_t stream = nullptr) : with{.stream = stream} {}
  Surroundings with;

  template <class V>
  Tensor operator()(const View<V>& v) {
    tensors_.push_back(reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<V>*>(v.data)));
    const DType format = std::is_same_v<std::remove_const_t<V>, bf16>  ? DType::bf16
                         : std::is_same_v<std::remove_const_t<V>, int> ? DType::int32
                                                                       : DType::fp32;
    return {.rows = v.rows, .cols = v.cols, .stride = v.stride, .id = count(tensors_) - 1, .dtype = format};
  }
  template <class Matrix>
  requires requires(const Matrix& m) { m.view(); }
  Tensor operator()(const Matrix& m) { return (*this)(m.view()); }
  // Whole numbers are in int32.
  template <class V>
  Weight weight(const View<V>& v) {
    weights_.push_back(v.data);
    return {.id = count(weights_) - 1, .in = v.rows, .out = v.cols};
  }
  template <class Matrix>
  requires requires(const Matrix& m) { m.view(); }
  Weight weight(const Matrix& m) { return weight(m.view()); }
  Rope rope(Rope r, const float* frequencies) {
    frequencies_ = frequencies;
    return r;
  }
  PassRef pass(Pass p) {
    passes_.push_back(std::move(p));
    return {count(passes_) - 1};
  }
  Cache cache(Cache c, const CacheMemory& m) {
    caches_.push_back(m);
    c.id = count(caches_) - 1;
    return c;
  }
  template <class T>
  Cache cache(Cache c, const CacheView<T>& v) {
    return cache(c, CacheMemory{v.data, v.blocks, v.blocks_per_kv_slot, v.block_count});
  }
  StateCache states(StateCache c, const StateMemory& m) {
    states_.push_back(m);
    c.id = count(states_) - 1;
    return c;
  }
  template <class T, class O>
  void run(const O& op) {
    cuda::run(OnDevice<T>(*this), op);
  }
  template <class T, class O>
  std::size_t scratch_bytes(const O& op) {
    return cuda::scratch_bytes(OnDevice<T>(*this), op);
  }

  std::byte* address(const Tensor& t) const override { return tensors_[at(t.id)]; }
  const void* weight(const Weight& w) override { return weights_[at(w.id)]; }
  const int* whole_numbers(const Weight& w) override { return reinterpret_cast<const int*>(weight(w)); }
  const float* frequencies(const Rope&) override { return frequencies_; }
  const Pass& pass(PassRef p) const override { return passes_[at(p.index)]; }
  CacheMemory memory(const Cache& c) const override { return caches_[at(c.id)]; }
  StateMemory memory(const StateCache& c) const override { return states_[at(c.id)]; }
  Surroundings surroundings() override { return with; }

 private:
  std::vector<std::byte*> tensors_;
  std::vector<const void*> weights_;
  std::vector<Pass> passes_;
  std::vector<CacheMemory> caches_;
  std::vector<StateMemory> states_;
  const float* frequencies_ = nullptr;
};

}  // namespace draftline::cuda
