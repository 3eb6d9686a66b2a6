// SPDX-License-Identifier: Apache-2.0
// What the interpreter does with each op: it loads what the op needs, launches it, and says how many kernels and how
// much scratch memory that takes.
#include "decoder/cuda/runtime/launch_op.h"

namespace draftline::cuda {

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
          if constexpr (std::is_same_v<Field, ExpertWeights>) {
            for (const Weight& w : {field.router, field.gate_up, field.down}) weight(w);
            for (const auto& w : {field.choice_bias, field.router_bias, field.gate_up_bias, field.down_bias})
              if (w) weight(*w);
          }
        };
        std::apply([&](const auto&... field) { (load(field), ...); }, o.fields());
        if constexpr (std::is_same_v<O, MapIds>) whole_numbers(o.offsets);
        if constexpr (std::is_same_v<O, RopeAppend> || std::is_same_v<O, LatentAppend> ||
                      std::is_same_v<O, IndexAppend>)
          frequencies(o.rope);
        if constexpr (std::is_same_v<O, Linear>)
          with_format(*this, [&](const auto& with) {
            const auto p = with.product(o);
            blas.prepare(p.shape, p.operands);
          });
      },
      op);
}

int CudaBackend::declared_launches(const Op& op) {
  return std::holds_alternative<MixtureOfExperts>(op) ? cuda::kExpertLaunches : 1;
}

int CudaBackend::State::launches(const Op& op) const {
  return with_format(const_cast<State&>(*this), [&](const auto& with) {
    return std::visit([&](const auto& o) { return with.launches_of(o); }, op);
  });
}

std::size_t CudaBackend::State::scratch_bytes(const Op& op) const {
  return with_format(const_cast<State&>(*this), [&](const auto& with) {
    return std::visit([&](const auto& o) { return with.scratch_of(o); }, op);
  });
}

}  // namespace draftline
