// SPDX-License-Identifier: Apache-2.0
// The interpreter's way from an op of a tape to its kernels, and the ops that have none of ours.
#include "decoder/cuda/experts/experts.h"
#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/runtime/state.h"

namespace draftline::cuda {

#define ON_ONE_DEVICE(O)                                    \
  template <class T>                                        \
  void run(const OnDevice<T>&, const O&) {                  \
    check(false, "the decoder on CUDA runs on one device"); \
  }
ON_ONE_DEVICE(SumOverRanks)
ON_ONE_DEVICE(GatherOverRanks)
ON_ONE_DEVICE(ExchangeRows)
template <class T>
void run(const OnDevice<T>&, const Quantise&) {
  check(false, "the decoder on CUDA computes in 16 or 32 bits");
}

template <class T>
void run(const OnDevice<T>&, const PricedAlone&) {
  throw InputErrors("a layer of this network can be priced, but not computed");
}

struct Product {
  GemmShape shape;
  GemmOperands operands;
};
template <class T>
Product product(const OnDevice<T>& d, const Linear& o) {
  return {.shape = {.rows = o.x.rows,
                    .in = o.w.in,
                    .out = o.w.out,
                    .x_stride = o.x.stride,
                    .y_stride = o.y.stride,
                    .bf16 = sizeof(T) == 2,
                    .bias = o.bias.has_value()},
          .operands = {.x = d.in(o.x).data, .w = d.data(o.w), .bias = d.data(o.bias), .y = d.out(o.y).data}};
}
template <class T>
void run(const OnDevice<T>& d, const Linear& o) {
  const Product p = product(d, o);
  d.products->run(p.shape, p.operands);
}
template <class T>
int launches(const OnDevice<T>& d, const Linear& o) {
  const Product p = product(d, o);
  return d.products->launches(p.shape, p.operands);
}

// Calls f(device, op) with the op's own type, and the device in the format of activations.
template <class F>
static auto with_op(CudaBackend::State& s, const Op& op, F f) {
  const auto on = [&](const auto& device) { return std::visit([&](const auto& o) { return f(device, o); }, op); };
  return s.options.activations == DType::bf16 ? on(OnDevice<bf16>(s)) : on(OnDevice<float>(s));
}

}  // namespace draftline::cuda

namespace draftline {

void CudaBackend::State::launch(const Op& op) {
  cuda::with_op(*this, op, [](const auto& device, const auto& o) { cuda::run(device, o); });
}

void CudaBackend::State::prepare(const Op& op) {
  cuda::with_op(*this, op, [this](const auto& device, const auto& o) {
    using O = std::decay_t<decltype(o)>;
    if constexpr (std::is_same_v<O, MapIds>) whole_numbers(o.offsets);
    else each_weight(o, [this](const Weight& w) { weight(w); });
    if constexpr (requires { o.rope; }) frequencies(o.rope);
    if constexpr (std::is_same_v<O, Linear>) {
      const auto p = product(device, o);
      blas.prepare(p.shape, p.operands);
    }
  });
}

int CudaBackend::declared_launches(const Op& op) {
  return std::holds_alternative<MixtureOfExperts>(op) ? cuda::kExpertLaunches : 1;
}

int CudaBackend::State::launches(const Op& op) {
  return cuda::with_op(*this, op, [](const auto& device, const auto& o) { return cuda::launches(device, o); });
}

std::size_t CudaBackend::State::scratch_bytes(const Op& op) {
  return cuda::with_op(*this, op, [](const auto& device, const auto& o) { return cuda::scratch_bytes(device, o); });
}

}  // namespace draftline
