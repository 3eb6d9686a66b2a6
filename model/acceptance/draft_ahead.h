// SPDX-License-Identifier: Apache-2.0
// How many tokens a step emits where the drafter drafts its next window while the target verifies this one: PEARL's
// pre-verify and post-verify (Liu et al. 2025, liu2025pearl; parallel_speculative_decoding of its code). A window has
// gamma drafts d1 .. d_gamma; r_j is the probability that d_j is right if all before it are. A sequence alternates
// between two states:
//
//   pre-verify   Nothing is drafted yet. The target computes the root alone, which judges d1 of the window that is
//                drafted meanwhile. Emits 1 token. To post-verify with r_1; else the window is lost.
//   post-verify  d1 is the root. The target computes d1 .. d_gamma, which judge d2 .. d_gamma and d'1 of the next
//                window. Emits 1 + (how many of d2 .. d_gamma are right). Stays with R = r_1 r_2 .. r_gamma, that is if
//                all of these and d'1, drafted behind them, are right; else d' is lost.
//
// The share p of steps in post-verify is stationary: p = (1 - p) r_1 + p R, so p = r_1 / (1 + r_1 - R). The mean length
// is (1 - p) + p (1 + r_2 + r_2 r_3 + .. + r_2 .. r_gamma). No step emits more than gamma tokens: there is no bonus
// token, as d'1 stands in its place.
#pragma once
#include <span>
#include <vector>

namespace draftline {

class DraftAhead {
 public:
  // r_1 .. r_gamma, each 0 to 1. Bug if there are fewer than two.
  explicit DraftAhead(std::span<const double> rates);
  static DraftAhead alike(double rate, int window);  // one rate for all of a window's drafts
  // The one rate that gives a mean length. InputErrors if that is outside [1, window].
  static DraftAhead of_mean_length(double mean_length, int window);

  double post_verify_share() const;  // p, of a sequence's steps
  double mean_length() const;        // tokens per sequence and step, 1 to gamma
  // r_2 .. r_gamma: the rates of the drafts that a step in post-verify judges.
  std::span<const double> pending_rates() const { return std::span(rates_).subspan(1); }

 private:
  std::vector<double> rates_;
};

}  // namespace draftline
