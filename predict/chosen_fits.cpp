// SPDX-License-Identifier: Apache-2.0
#include "predict/chosen_fits.h"

namespace draftline {

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
