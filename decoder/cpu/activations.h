// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

namespace draftline {

inline float silu(float x) { return x / (1 + std::exp(-x)); }
// Hendrycks and Gimpel 2016, section 2: an approximation of x times the cumulative normal distribution.
inline float gelu_by_tanh(float x) { return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x))); }

}  // namespace draftline
