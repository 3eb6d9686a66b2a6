// SPDX-License-Identifier: Apache-2.0
// Selects the fit of a GPU that prices a GEMM or a layer of experts, by the formats of its operands.
#pragma once
#include <optional>
#include <vector>

#include "model/devices/device.h"
#include "model/transformers/precision.h"
#include "model/work.h"

namespace draftline {

struct Operands {
  DType weights = DType::bf16, activations = DType::bf16;
  Scaling scaling = Scaling::rows;  // for 8-bit operands
  double scale_bits = 0;            // bits of scales per weight
  bool operator==(const Operands&) const = default;
};
Operands operands_of(const Gemm&);
Operands operands_of(const ExpertMlp&);
Operands operands_of(NarrowFormat);  // both operands in this format; of int4_wo the weights
Operands operands_of(const LinearFormat&, DType activations);

// The narrow format whose kernels multiply these operands. None: they are multiplied in 16 bits; a library widens the
// narrower operand, or both if the device has no rate in their format.
std::optional<NarrowFormat> multiplied_in(const Device&, const Operands&);

// A fit, and whether it is a guess for these operands. A guess uses the shares and times of another format's kernels
// with the rate of this format.
struct ChosenGemmFit {
  const GemmFit& fit;
  bool guess = false;
};
ChosenGemmFit gemm_fit(const Device&, const Operands&);

struct ChosenExpertFit {
  const ExpertFit* fit;  // null: the device has no fit of experts; the GEMM's fit prices them
  bool guess = false;
};
ChosenExpertFit expert_fit(const Device&, const Operands&);

// Whether kernels with these operands were not measured, so that their fit is a guess. False on a CPU, which has one
// kernel for all operands.
bool gemm_is_guess(const Device&, const Operands&);
bool experts_are_guess(const Device&, const Operands&);

// The fits that price the products and the experts of a network on a GPU.
struct ChosenFits {
  std::vector<ChosenGemmFit> target;   // of attention, MLP and LM head; empty on a CPU
  std::optional<ChosenGemmFit> draft;  // of a drafter's products
  std::optional<ChosenExpertFit> experts;
};
ChosenFits chosen_fits(const Device&, const Precision&);

}  // namespace draftline
