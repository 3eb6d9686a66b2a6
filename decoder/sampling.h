// SPDX-License-Identifier: Apache-2.0
// How a token is drawn from logits: temperature, then top-k, then top-p, in the order and with the limits of Hugging
// Face's generate(). A distribution is a row of weights >= 0; who reads it divides by its sum, so that a row rounded to
// fp32 is as exact a distribution as any.
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

// Logits -> probabilities, which add up to 1. Temperature divides; top-k drops what is below the k-th largest (ties with it
// stay); top-p drops what has at least top_p of the rest ranked before it (equals: lowest id first). Greedy: a point mass
// on the largest, ties to the lowest id. A logit of -infinity is a token that can't come; NaN and +infinity are a Bug.
void warp(std::span<const float> logits, const Sampling&, std::span<double> probabilities);

// The token at u in [0, 1) of the cumulative weights; never one of weight 0, however close u is to 1.
int draw(std::span<const double> weights, double u);
int draw(std::span<const float> weights, double u);

// A draft token and the very distribution it was drawn from: q is warp(logits) rounded to fp32.
int sample(std::span<const float> logits, const Sampling&, double u, std::span<float> q);

// Different tokens for siblings: each is drawn from q without those before it. One u per token; returns how many there
// are, fewer than asked for if q has no more tokens of weight > 0.
int sample_without_replacement(std::span<const float> q, std::span<const double> u, std::span<int> tokens);

// Lossy acceptance. typical (Cai et al. 2024): a draft passes if p > min(epsilon, delta * exp(-entropy of p)).
// loss_limit (BiLD, Kim et al. 2023): if -ln p <= epsilon, p unwarped.
struct Relaxed {
  enum class Kind : std::uint8_t { typical, loss_limit } kind = Kind::typical;
  double epsilon = 0, delta = 0;
};

// How sampled drafts are judged at one node of a tree (decoder/verify).
enum class AcceptRule : std::uint8_t {
  independent,          // S, and R with replacement: each child was drawn from its own q
  without_replacement,  // R: each child was drawn from the first sibling's q less the siblings before it
  point_mass,           // P: children that were chosen, not drawn; q is not read
  target_draw,          // N: the same distribution of outputs as P with a single random number per node
};

}  // namespace draftline
