// SPDX-License-Identifier: Apache-2.0
#include "reports/cell_noise.h"

#include "tests/catch.h"

using namespace draftline;

namespace {

ValidationCell cell(double error, double noise) {
  ValidationCell c;
  c.speedup = {.predicted = 1 + error, .measured = 1, .interval = {}, .noise = noise};
  return c;
}

}  // namespace

TEST_CASE("cells during which a GPU's clock fell are told apart") {
  std::vector<ValidationCell> cells{cell(0, 0.01), cell(0, 0.01), cell(0, 0.01), cell(0, 0.01)};
  CHECK_FALSE(usual_clock(cells));
  const double clocks[] = {1980, 1950, 1755, 1500};
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i].clock_mhz = clocks[i];
  CHECK(usual_clock(cells) == 1980);
  CHECK_FALSE(was_slowed(cells[1], 1980));
  CHECK(was_slowed(cells[2], 1980));
}

TEST_CASE("a noisy cell weighs less, and one without noise no more than twice a usual one") {
  const auto w = weights_by_noise({cell(0, 0), cell(0, 0.02), cell(0, 0.02), cell(0, 0.2)});
  CHECK(w[0] / w[1] == Approx(2));
  CHECK(w[1] / w[3] == Approx(50.5));  // (0.04 + 0.0004) / 0.0008
}
