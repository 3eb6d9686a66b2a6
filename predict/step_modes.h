// SPDX-License-Identifier: Apache-2.0
// The mode of a method's steps on a setup, by the rules of its engine (model/engines/step_mode), and what it costs.
#pragma once
#include <string>
#include <vector>

#include "predict/priced_method.h"
#include "predict/setup.h"

namespace draftline {

// What the engine's rules depend on.
ModeFacts mode_facts(const Setup&, const MethodSpec&);

// Sentences about the parts of a step whose mode is not that of plain decoding, with their cost at that number of
// sequences and context. `drafts`: as in PricedMethod::step().
std::vector<std::string> mode_warnings(const Setup&, const MethodSpec&, PricedMethod&, const DraftCounts& drafts);

}  // namespace draftline
