// SPDX-License-Identifier: Apache-2.0
#include "reports/machine_calm.h"

#include "tests/core/messages.h"

using namespace draftline;

namespace {

ValidationCell cell(double error, double noise) {
  ValidationCell c;
  c.speedup = {.predicted = 1 + error, .measured = 1, .interval = {}, .noise = noise};
  return c;
}

}  // namespace

TEST_CASE("a report begins with how well its speedups repeat") {
  const std::string quiet = machine_calm({cell(0.05, 0.01), cell(0.01, 0.02), cell(0.03, 0.01)});
  CHECK(contains(quiet, "repeat within 1.0 %"));
  CHECK(contains(quiet, "1 of 3 cells"));  // the second: its noise is larger than its error
  CHECK(machine_calm({}).empty());
}

TEST_CASE("cells during which a GPU's clock fell are told apart") {
  std::vector<ValidationCell> cells{cell(0, 0.01), cell(0, 0.01), cell(0, 0.01), cell(0, 0.01)};
  CHECK_FALSE(usual_clock(cells));
  CHECK_FALSE(contains(machine_calm(cells), "MHz"));
  const double clocks[] = {1980, 1950, 1755, 1500}, predicted[] = {1.02, 1.02, 0.9, 0.9};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].clock_mhz = clocks[i];
    cells[i].step = {.predicted = predicted[i], .measured = 1, .interval = {}};
  }
  CHECK(usual_clock(cells) == 1980);
  CHECK_FALSE(was_slowed(cells[1], 1980));
  CHECK(was_slowed(cells[2], 1980));
  CHECK(contains(machine_calm(cells),
                 "In 2 of 4 cells the clock was more than 3 % below 1980 MHz. The median of their steps' errors, with "
                 "its sign, is -10 %, of the others 2.0 %."));
}

TEST_CASE("a noisy cell weighs less, and one without noise no more than twice a usual one") {
  const auto w = weights_by_noise({cell(0, 0), cell(0, 0.02), cell(0, 0.02), cell(0, 0.2)});
  CHECK(w[0] / w[1] == Approx(2));
  CHECK(w[1] / w[3] == Approx(50.5));  // (0.04 + 0.0004) / 0.0008
}
