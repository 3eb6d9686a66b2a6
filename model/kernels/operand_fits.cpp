// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/operand_fits.h"

namespace draftline {
namespace {

using Order = std::array<NarrowFormat, 3>;
// Fits that stand in for a format's own, the nearest first. A GEMM with a scale a row and one with a static scale are
// the same kernel of CUTLASS. Experts with a scale a row are Triton's, as those in blocks are; with a static scale they
// are another library's on Hopper.
constexpr Order kOfGemms{NarrowFormat::fp8, NarrowFormat::fp8_static, NarrowFormat::fp8_block},
    kOfExperts{NarrowFormat::fp8, NarrowFormat::fp8_block, NarrowFormat::fp8_static};

// Fits called fp8 hold for one static scale too: GEMMs' kernels take either, and experts were measured with one.
bool holds_for(NarrowFormat fit, NarrowFormat format) {
  return fit == NarrowFormat::fp8 && format == NarrowFormat::fp8_static;
}

// All fits but those of int4_wo were measured on floating-point operands.
template <class Fit>
std::pair<const Fit*, bool> nearest(const NarrowFits<Fit>& narrow, const Fit* wide, const Order& order,
                                    NarrowFormat format, bool integers) {
  const bool unpacked = format == NarrowFormat::int4_wo;
  if (const auto& own = narrow[format]) return {&*own, integers && !unpacked};
  if (unpacked) return {wide, true};  // by the other kernels that multiply in 16 bits
  for (const NarrowFormat other : order)
    if (const auto& fit = narrow[other]) return {&*fit, integers || !holds_for(other, format)};
  return {wide, true};
}

bool is_integer(DType t) { return t == DType::int8 || t == DType::int4 || t == DType::int32; }

template <class Fit>
std::pair<const Fit*, bool> chosen(const Device& d, const Operands& o, const NarrowFits<Fit>& narrow, const Fit* wide,
                                   const Order& order) {
  const auto format = multiplied_in(d, o);
  if (!format) return {wide, bits_of(o.weights) < 16 || bits_of(o.activations) < 16};  // widened by other kernels
  return nearest(narrow, wide, order, *format, is_integer(o.weights) || is_integer(o.activations));
}

}  // namespace

Operands operands_of(const Gemm& k) { return {k.weights, k.activations, k.scaling, k.scale_bits}; }
Operands operands_of(const ExpertMlp& k) { return {k.weights, k.activations, k.scaling, k.scale_bits}; }
Operands operands_of(NarrowFormat f) {
  switch (f) {
    case NarrowFormat::nvfp4: return {DType::fp4, DType::fp4, Scaling::rows, 8.0 / 16};  // an 8-bit scale for each 16
    case NarrowFormat::fp8_block: return {DType::fp8, DType::fp8, Scaling::blocks, 0};
    case NarrowFormat::fp8_static: return {DType::fp8, DType::fp8, Scaling::tensor, 0};
    case NarrowFormat::int4_wo: return {DType::int4, DType::bf16, Scaling::rows, 16.0 / 128};  // groups of 128
    default: return {DType::fp8, DType::fp8, Scaling::rows, 0};
  }
}

Operands operands_of(const LinearFormat& f, DType activations) {
  return {f.weights, f.inputs.value_or(activations), f.scaling()};
}

std::optional<NarrowFormat> multiplied_in(const Device& d, const Operands& o) {
  const DType wider = bits_of(o.weights) >= bits_of(o.activations) ? o.weights : o.activations;
  if (o.weights == DType::int4 && bits_of(wider) == 16) return NarrowFormat::int4_wo;
  if (bits_of(wider) > 8 || d.peak_of(wider).value <= 0) return std::nullopt;
  if (bits_of(wider) == 4) return NarrowFormat::nvfp4;
  switch (o.scaling) {
    case Scaling::blocks: return NarrowFormat::fp8_block;
    case Scaling::tensor: return NarrowFormat::fp8_static;
    default: return NarrowFormat::fp8;
  }
}

ChosenGemmFit gemm_fit(const Device& d, const Operands& o) {
  const GpuModel& gpu = d.gpu();
  const auto [fit, guess] = chosen(d, o, gpu.narrow_gemm, &gpu.gemm, kOfGemms);
  return {*fit, guess};
}

ChosenExpertFit expert_fit(const Device& d, const Operands& o) {
  const GpuModel& gpu = d.gpu();
  const ExpertFit* wide = gpu.experts ? &*gpu.experts : nullptr;
  const auto [fit, guess] = chosen(d, o, gpu.narrow_experts, wide, kOfExperts);
  if (fit == nullptr) return {nullptr, gemm_fit(d, o).guess};
  return {fit, guess};
}

static bool has_fits_by_operands(const Device& d) { return std::holds_alternative<GpuModel>(d.model); }
bool gemm_is_guess(const Device& d, const Operands& o) { return has_fits_by_operands(d) && gemm_fit(d, o).guess; }
bool experts_are_guess(const Device& d, const Operands& o) { return has_fits_by_operands(d) && expert_fit(d, o).guess; }

ChosenFits chosen_fits(const Device& d, const Precision& p) {
  ChosenFits fits;
  if (d.cpu() != nullptr) return fits;
  const auto operands = [&](const LinearFormat& f) { return operands_of(f, p.activations); };
  for (const LinearFormat* f : {&p.attention, &p.mlp, &p.lm_head}) fits.target.push_back(gemm_fit(d, operands(*f)));
  fits.draft.emplace(gemm_fit(d, operands(p.draft)));
  fits.experts.emplace(expert_fit(d, operands(p.experts)));
  return fits;
}

}  // namespace draftline
