// SPDX-License-Identifier: Apache-2.0
// What the interpreter does with each op: it loads what the op needs, runs it, and counts its kernels and its scratch
// memory.
#include "decoder/cuda/attention/run_attention.h"
#include "decoder/cuda/attention/run_latent_attention.h"
#include "decoder/cuda/cache/run_cache.h"
#include "decoder/cuda/cache/run_movement.h"
#include "decoder/cuda/elementwise/run_elementwise.h"
#include "decoder/cuda/experts/run_experts.h"
#include "decoder/cuda/gemm/run_products.h"
#include "decoder/cuda/recurrence/run_recurrence.h"
#include "decoder/cuda/sampling/run_tokens.h"
#include "decoder/cuda/sampling/run_verify.h"

namespace draftline::cuda {

constexpr const char* kOneDevice = "the decoder on CUDA runs on one device";
template <class T>
void run_op(const OnDevice<T>&, const SumOverRanks&) {
  check(false, kOneDevice);
}
template <class T>
void run_op(const OnDevice<T>&, const GatherOverRanks&) {
  check(false, kOneDevice);
}
template <class T>
void run_op(const OnDevice<T>&, const ExchangeRows&) {
  check(false, kOneDevice);
}

// Calls f(device, op) with the op's own type, and the device in the format of activations.
template <class F>
static auto with_op(CudaBackend::State& s, const Op& op, F f) {
  const auto on = [&](const auto& device) { return std::visit([&](const auto& o) { return f(device, o); }, op); };
  return s.options.activations == DType::bf16 ? on(OnDevice<bf16>{s}) : on(OnDevice<float>{s});
}

struct Launches {
  int operator()(const auto& device, const auto& o) const {
    if constexpr (requires { launches_of(device, o); }) return launches_of(device, o);
    else return 1;
  }
};
struct ScratchBytes {
  std::size_t operator()(const auto& device, const auto& o) const {
    if constexpr (requires { scratch_of(device, o); }) return scratch_of(device, o);
    else return 0;
  }
};

}  // namespace draftline::cuda

namespace draftline {

void CudaBackend::State::launch(const Op& op) {
  cuda::with_op(*this, op, [](const auto& device, const auto& o) { run_op(device, o); });
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

int CudaBackend::State::launches(const Op& op) const {
  return cuda::with_op(const_cast<State&>(*this), op, cuda::Launches{});
}

std::size_t CudaBackend::State::scratch_bytes(const Op& op) const {
  return cuda::with_op(const_cast<State&>(*this), op, cuda::ScratchBytes{});
}

}  // namespace draftline
