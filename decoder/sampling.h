// SPDX-License-Identifier: Apache-2.0
// How a token is drawn from logits: temperature, then top-k, then top-p, in the order and with the limits of Hugging
// Face's generate(). A distribution is a row of weights >= 0; readers divide by their sum, so that a row rounded to
// fp32 is still an exact distribution.
#pragma once
#include <cstdint>
#include <span>

namespace draftline {

struct Sampling {
  double temperature = 0;  // 0: greedy
  int top_k = 0;           // 0: all
  double top_p = 1;
  bool greedy() const { return temperature == 0; }
  bool operator==(const Sampling&) const = default;
};

// Converts logits to probabilities that sum to 1. The temperature divides logits. top_k drops logits below the k-th
// largest and keeps ties. top_p drops a token if higher-ranked tokens have at least top_p of the remaining probability
// (ties: lowest id first). Greedy: a point mass on the largest logit (ties: lowest id). A logit of -infinity gives
// probability 0; NaN and +infinity throw InputErrors.
void warp(std::span<const float> logits, const Sampling&, std::span<double> probabilities);

// Throws InputErrors: the checkpoint's values made a logit NaN or infinite.
[[noreturn]] void refuse_overflow();

// The token at which the cumulative weights exceed u times their sum, u in [0, 1). Its weight is never 0, even for u
// close to 1.
int draw(std::span<const double> weights, double u);
int draw(std::span<const float> weights, double u);

// Draws a draft token and returns it; q receives the distribution from which it was drawn, warp(logits) rounded to
// fp32.
int sample(std::span<const float> logits, const Sampling&, double u, std::span<float> q);

// Draws the tokens of siblings from q, with one u for each. Without replacement, each is drawn from q without earlier
// siblings; if no token with weight > 0 is left, the last token is repeated.
void draw_siblings(std::span<const float> q, std::span<const double> u, bool replaced, std::span<int> tokens);

// Lossy acceptance. typical (Cai et al. 2024): a draft is accepted if p > min(epsilon, delta * exp(-entropy of p)).
// loss_limit (BiLD, Kim et al. 2023): a draft is accepted if -ln p <= epsilon, where p is not warped.
struct Relaxed {
  enum class Kind : std::uint8_t { typical, loss_limit } kind = Kind::typical;
  double epsilon = 0, delta = 0;
};

// The rule that accepts or rejects the children of one node of a tree of sampled drafts (decoder/verify).
enum class AcceptRule : std::uint8_t {
  independent,          // each child was drawn from its own q (Leviathan et al. 2023; siblings: Miao et al. 2023)
  without_replacement,  // each was drawn from the first sibling's q without earlier siblings (Jeon et al. 2024)
  point_mass,           // children were chosen, not drawn; q is not read
  target_draw,          // output distribution of point_mass, with one random number per node
  block,                // verifies a chain of drafts, each drawn from its own q, as a whole (Sun et al. 2024)
};

}  // namespace draftline
