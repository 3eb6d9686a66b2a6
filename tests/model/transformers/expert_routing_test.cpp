// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/expert_routing.h"

#include <cmath>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("an overlap is what two rows share beyond chance") {
  CHECK(exponent_of_overlap(0) == 1);
  CHECK(exponent_of_overlap(1) == 0);
  CHECK(std::pow(2, exponent_of_overlap(0.3)) == Approx(1.7));
}

TEST_CASE("experts that were counted give back the draws that touch them") {
  const RouterShape r{128, 8};
  for (const double load_cv : {0.0, 0.9, 1.4}) {
    CHECK(experts_of_draws(1, r, load_cv) == Approx(8));
    CHECK(draws_of_experts(experts_of_draws(5.5, r, load_cv), r, load_cv).value() == Approx(5.5));
    CHECK(exponent_of_count(experts_of_draws(6 * std::pow(4, 0.7), r, load_cv), 24, 6, r, load_cv).value() ==
          Approx(0.7));
  }
  CHECK(experts_of_draws(16, r, 1e-4) == Approx(experts_of_draws(16, r, 0)).epsilon(1e-6));
  CHECK(experts_of_draws(16, r, 0.9) < experts_of_draws(16, r, 0));
  CHECK(exponent_of_count(100, 8, 1, r, 0).value() == 1);  // more than independent draws touch
  CHECK(exponent_of_count(8, 8, 1, r, 0).value() == 0);
  CHECK_FALSE(exponent_of_count(7, 8, 1, r, 0));
  CHECK_FALSE(exponent_of_count(128, 8, 1, r, 0));
}

TEST_CASE("between counted rows the exponent follows their logarithm, outside it is the nearest") {
  const ExpertRouting r{{{2, 0.7}, {8, 0.8}}, 0.9};
  CHECK(r.of_pass(1).exponent == 0.7);
  CHECK(r.of_pass(2).exponent == 0.7);
  CHECK(r.of_pass(4).exponent == Approx(0.75));
  CHECK(r.of_pass(8).exponent == 0.8);
  CHECK(r.of_pass(100) == RowRouting{0.8, 0.9});
}
