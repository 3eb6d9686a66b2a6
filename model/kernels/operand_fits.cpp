// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/operand_fits.h"

namespace draftline {
namespace {

// Fits that may stand in for that of `format`, the nearest first: all were measured on floating-point operands.
template <class Fit>
std::pair<const Fit*, bool> nearest(const NarrowFits<Fit>& narrow, const Fit* wide, NarrowFormat format,
                                    bool integers) {
  if (const auto& own = narrow[format]) return {&*own, integers};
  const auto& fp8 = narrow[NarrowFormat::fp8];
  return {fp8 ? &*fp8 : wide, true};
}

bool is_integer(DType t) { return t == DType::int8 || t == DType::int4 || t == DType::int32; }

template <class Fit>
std::pair<const Fit*, bool> chosen(const Device& d, const Operands& o, const NarrowFits<Fit>& narrow, const Fit* wide) {
  const auto format = multiplied_in(d, o);
  if (!format) return {wide, false};
  return nearest(narrow, wide, *format, is_integer(o.weights) || is_integer(o.activations));
}

}  // namespace

Operands operands_of(const Gemm& k) { return {k.weights, k.activations, k.block_scaled, k.scale_bits}; }
Operands operands_of(const ExpertMlp& k) { return {k.weights, k.activations, k.block_scaled, k.scale_bits}; }
Operands operands_of(NarrowFormat f) {
  if (f == NarrowFormat::nvfp4) return {DType::fp4, DType::fp4, false, 8.0 / 16};  // an 8-bit scale for each 16
  return {DType::fp8, DType::fp8, f == NarrowFormat::fp8_block, 0};                // one for a row, or for 128 x 128
}

Operands operands_of(const LinearFormat& f, DType activations) {
  return {f.weights, f.inputs.value_or(activations), f.block_scaled()};
}

std::optional<NarrowFormat> multiplied_in(const Device& d, const Operands& o) {
  const DType wider = bits_of(o.weights) >= bits_of(o.activations) ? o.weights : o.activations;
  if (bits_of(wider) > 8 || d.peak_of(wider).value <= 0) return std::nullopt;
  if (bits_of(wider) == 4) return NarrowFormat::nvfp4;
  return o.block_scaled ? NarrowFormat::fp8_block : NarrowFormat::fp8;
}

ChosenGemmFit gemm_fit(const Device& d, const Operands& o) {
  const GpuModel& gpu = d.gpu();
  const auto [fit, guess] = chosen(d, o, gpu.narrow_gemm, &gpu.gemm);
  return {*fit, guess};
}

ChosenExpertFit expert_fit(const Device& d, const Operands& o) {
  const GpuModel& gpu = d.gpu();
  const ExpertFit* wide = gpu.experts ? &*gpu.experts : nullptr;
  const auto [fit, guess] = chosen(d, o, gpu.narrow_experts, wide);
  if (fit == nullptr) return {nullptr, gemm_fit(d, o).guess};
  const bool widened = fit == wide && bits_of(o.weights) < 16;  // by kernels that no fit is of
  return {fit, guess || widened};
}

}  // namespace draftline
