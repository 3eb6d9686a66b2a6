// SPDX-License-Identifier: Apache-2.0
// How many tokens a step emits: lengths of chains and Cartesian trees from acceptance rates, the iid rate behind a mean
// length, and S3D's closed formulas (s3d2024, equations 10 to 14). A length counts the bonus token: 1 to draft_length +
// 1.
#pragma once
#include <span>
#include <vector>

#include "core/int_indexed.h"
#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

// P(length = n) of one step of one sequence.
class LengthDistribution {
 public:
  // `survival[j]`: probability that at least j + 1 draft tokens are accepted; falls from at most 1 to at least 0.
  explicit LengthDistribution(std::span<const double> survival);
  double probability(int length) const;  // 0 outside [1, longest]
  int longest() const { return count(probability_); }
  double mean() const;
  double variance() const;

 private:
  std::vector<double> probability_;  // [n - 1]
};

// A chain whose j-th draft token is accepted with `rates[j]`, given that those before it were.
LengthDistribution chain_lengths(std::span<const double> rates);

// Mean length of a chain with one rate at every position: (1 - a^(k+1)) / (1 - a).
double iid_chain_length(double rate, int draft_length);

// The rate that gives a mean length; InputErrors if no rate does, that is outside [1, draft_length + 1].
double iid_rate(double mean_length, int draft_length);

// A tree of rank paths, each child of a node being the draft's r-th candidate (from 0) for its level, whatever the
// parent. `ranks[level][r]`: probability that the target's token is the r-th candidate, given that the path so far was
// accepted. InputErrors for an empty or repeated path, a path without its parent, a rank beyond the probabilities, or
// probabilities that are negative or add up to more than 1.
LengthDistribution tree_lengths(std::span<const std::vector<int>> paths, std::span<const std::vector<double>> ranks);

// S3D: a draft of the share `layer_ratio` (beta) of the target's layers, all positions in one pass.
struct S3dFormulas {
  double base = 0;                  // U
  double overhead = 0;              // delta
  double intercept = 0, slope = 0;  // alpha_k = (intercept - slope k) alpha, eq. 14; clipped at 0
  int last_position = 0;            // the paper gives eq. 14 up to here

  double acceptance_rate(double layer_ratio) const;                // alpha(beta), eq. 10
  double acceptance_rate(double layer_ratio, int position) const;  // alpha_k(beta), eq. 14, position from 1
  LengthDistribution lengths(double layer_ratio, int draft_length) const;
  double acceptance_length(double layer_ratio, int draft_length) const;  // tau, eq. 11
  double improvement(double layer_ratio, int draft_length) const;        // IF, eq. 12
};

struct S3dOptimum {
  double layer_ratio = 0, improvement = 0, acceptance_length = 0;
};
S3dOptimum best_layer_ratio(const S3dFormulas&, int draft_length);

S3dFormulas read_s3d_formulas(Reader);  // data/papers/s3d_formulas.json

// M, eq. 13: speedup over relative memory.
struct SpeedAndMemory {
  PerSecond throughput;
  Bytes memory;
};
constexpr double memory_speed(SpeedAndMemory method, SpeedAndMemory baseline) {
  return (method.throughput / baseline.throughput) / (method.memory / baseline.memory);
}

}  // namespace draftline
