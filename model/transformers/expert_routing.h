// SPDX-License-Identifier: Apache-2.0
// How alike the rows of a pass choose their experts, by two causes. Rows of one sequence come back to experts of
// earlier rows: m of them choose as m^exponent independent draws, as the number of different words grows with the
// length of a text (Heaps' law). And experts are not equally popular: their loads are gamma-distributed over the
// experts, with a coefficient of variation that depends on how alike the topics of the sequences are.
#pragma once
#include <optional>
#include <vector>

namespace draftline {

// A router that chooses `per_token` of `experts` for each row.
struct RouterShape {
  int experts = 0, per_token = 0;
};

// Of one pass. Without members set: independent draws of equally popular experts.
struct RowRouting {
  double exponent = 1;  // of the rows of a sequence
  double load_cv = 0;   // the experts' loads: standard deviation over mean
  bool operator==(const RowRouting&) const = default;
};

struct ExpertRouting {
  struct Exponent {
    int rows = 0;
    double exponent = 1;
    bool operator==(const Exponent&) const = default;
  };
  std::vector<Exponent> exponents = {};  // by the rows of a sequence, ascending; none: 1
  double load_cv = 0;
  // Between two numbers of rows the exponent is linear in their logarithm; outside it is the nearest.
  RowRouting of_pass(double rows_per_sequence) const;
  bool operator==(const ExpertRouting&) const = default;
};

// The overlap is the share of a row's choices that repeat those of the row before it, beyond chance: two rows choose as
// 2 - overlap draws.
double exponent_of_overlap(double overlap);

// The expected number of different experts that so many independent draws of a row's choices touch. Without a variation
// of loads E (1 - (1 - k/E)^n). One draw touches k experts.
double experts_of_draws(double draws, const RouterShape&, double load_cv);
// Its inverse: none for fewer experts than a row's and for all experts, which no number of draws touches.
std::optional<double> draws_of_experts(double touched, const RouterShape&, double load_cv);
// The exponent with which `rows` rows of `sequences` sequences, one at least of which has several, touch so many.
std::optional<double> exponent_of_count(double touched, double rows, double sequences, const RouterShape&,
                                        double load_cv);

}  // namespace draftline
