// SPDX-License-Identifier: Apache-2.0
// Warnings about a setup that affect the use of its figures.
#pragma once
#include <string>
#include <vector>

#include "model/kernels/operand_fits.h"
#include "predict/setup.h"

namespace draftline {

// The attention of a network whose kernels were measured on no device; empty: there is none.
std::string unmeasured_attention(const TransformerShape&);
// The recurrence of some of its layers whose kernels nobody measured; empty if there is none.
std::string unmeasured_recurrence(const TransformerShape&);

// The operations between the devices of its layers.
std::vector<Collective> collectives_of(const Setup&);
// Whether it has groups of more devices than were measured.
bool has_extended_links(const Setup&);

// Experts of two matrices, of which no table has times.
bool has_ungated_experts(const TransformerShape&);

// The warnings, each a sentence. The choice must be attention_of() of this setup, and the fits its chosen_fits().
std::vector<std::string> setup_warnings(const Setup&, const MethodChoice&, const AttentionChoice&, const ChosenFits&);

}  // namespace draftline
