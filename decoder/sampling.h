// SPDX-License-Identifier: Apache-2.0
// How a token is drawn from logits: temperature, then top-k, then top-p, as Hugging Face orders them.
#pragma once

namespace draftline {

struct Sampling {
  double temperature = 0;  // 0: greedy
  int top_k = 0;           // 0: all
  double top_p = 1;
  bool greedy() const { return temperature == 0; }
  bool operator==(const Sampling&) const = default;
};

}  // namespace draftline
