// SPDX-License-Identifier: Apache-2.0
// How a token is drawn from logits: temperature, then top-k, then top-p, in the order and with the limits of Hugging
// Face's generate(). A distribution is a row of weights >= 0 whose reader divides by their sum, so that a row that was
// rounded to fp32 is still an exact distribution.
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

// Logits -> probabilities, which add up to 1. Temperature divides; top-k drops what is below the k-th largest (ties
// with it stay); top-p drops a token if those ranked before it have at least top_p of the probability that is left (of
// equal ones, the lowest id ranks first). Greedy: a point mass on the largest logit, of equal ones the lowest id. A
// token whose logit is -infinity has probability 0; NaN and +infinity are a Bug.
void warp(std::span<const float> logits, const Sampling&, std::span<double> probabilities);

// The token at which the cumulative weights pass u of their sum, u in [0, 1). It never has weight 0, even if u is close
// to 1.
int draw(std::span<const double> weights, double u);
int draw(std::span<const float> weights, double u);

// Draws a draft token and returns it; q receives the distribution from which it was drawn, warp(logits) rounded to
// fp32.
int sample(std::span<const float> logits, const Sampling&, double u, std::span<float> q);

// Draws the tokens of siblings from q, with one u for each. Where tokens are not replaced, each is drawn from q without
// those before it; if q has no more tokens of weight > 0, the last one is repeated.
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
  without_replacement,  // each was drawn from the first sibling's q less the siblings before it (Jeon et al. 2024)
  point_mass,           // the children were chosen, not drawn; q is not read
  target_draw,          // gives the distribution of outputs of point_mass with a single random number per node
  block,                // a chain of drafts, each drawn from its own q, is judged as a whole (Sun et al. 2024)
};

}  // namespace draftline
