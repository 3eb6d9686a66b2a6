// SPDX-License-Identifier: Apache-2.0
// The fits that price the products and the experts of a network on a GPU.
#pragma once
#include <optional>
#include <vector>

#include "model/kernels/operand_fits.h"

namespace draftline {

struct ChosenFits {
  std::vector<ChosenGemmFit> target;   // of attention, MLP and LM head; empty on a CPU
  std::optional<ChosenGemmFit> draft;  // of a drafter's products
  std::optional<ChosenExpertFit> experts;
};
ChosenFits chosen_fits(const Device&, const Precision&);

}  // namespace draftline
