// SPDX-License-Identifier: Apache-2.0
// The contexts at which a mean over an output is taken while the context grows from the prompt to its end.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "decoder/tensor.h"

namespace draftline {

// (context, weight), the weights summing to 1: Gauss-Legendre with three points, exact for polynomials up to degree
// five. The prefill emits the first token, so that contexts grow from the prompt to prompt + output - 2. The price has
// a kink where a window fills and a step where a chunk begins; the rule is applied to the parts between them.
using MeanContexts = std::vector<std::pair<double, double>>;
MeanContexts mean_contexts(int prompt_tokens, int output_tokens, std::span<const Window>);

}  // namespace draftline
