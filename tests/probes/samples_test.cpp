// SPDX-License-Identifier: Apache-2.0
// Which clock is a free core's, and which samples count.
#include "probes/samples.h"

#include <cmath>

#include "tests/catch.h"

using namespace draftline;

namespace {

UsualClock read(std::initializer_list<std::pair<double, int>> readings) {
  UsualClock clock;
  for (const auto& [reading, times] : readings)
    for (int i = 0; i < times; ++i) clock.note(reading);
  return clock;
}

}  // namespace

TEST_CASE("the usual clock is a free core's, however long co-runners had its SMT sibling, and not that of a boost") {
  CHECK(read({{1, 1}}).usual() == 1);
  CHECK(read({{1.5, 100}}).usual() == Approx(1.5));
  CHECK(read({{0.87, 5}, {1, 900}, {1.5, 95}}).usual() == Approx(1));    // a boost now and then
  CHECK(read({{1, 20}, {1.4, 500}, {1.6, 480}}).usual() == Approx(1));   // others, for 98 % of the time
  CHECK(read({{1, 5}, {1.4, 500}, {1.6, 495}}).usual() == Approx(1.4));  // too little to tell from a boost
  CHECK(read({{1, 20}, {1.4, 500}, {1.6, 480}}).typical() == Approx(1));
}

TEST_CASE("a short sample is normalised to the typical clock, a long one has averaged over it") {
  UsualClock clock;  // two steps, as often one as the other; a neighbour half of the time
  for (int i = 0; i < 20; ++i)
    for (const double reading : {1.0, 1.05, 1.7, 1.8}) clock.note(reading);
  CHECK(clock.usual() == 1.0);
  const double typical = clock.typical();
  CHECK(typical == Approx(2 / (1 / 1.0 + 1 / 1.05)));
  const auto normalised = [&](double took, double reading) {
    return TimedSample{took, reading, reading}.normalised(clock.usual(), typical);
  };
  CHECK(normalised(1e-4, 1.05) == Approx(1e-4 * typical / 1.05));
  CHECK(normalised(1e-4, 1.0) == Approx(1e-4 * typical));
  CHECK(normalised(1e-2, 1.05) == 1e-2);
  CHECK(normalised(1e-2, 1.7) == Approx(1e-2 * typical / 1.7));  // a co-runner's part is taken off
}

TEST_CASE("samples at another clock are discarded, and the quartiles are those of the rest") {
  const double usual = 1;
  MeasuredPoint p;
  summarise(p, {{5, 1, 1}, {50, 1.3, 1}, {1, 1, 1.05}, {3, 0.96, 1}, {60, 0.87, 1}, {2, 1, 1}, {4, 1, 1}}, usual);
  CHECK(p.samples == 5);
  CHECK(p.discarded == 2);
  CHECK(p.low == Seconds{2});
  CHECK(p.median == Seconds{3});
  CHECK(p.high == Seconds{4});
  // A throttled one is none of them, however steady the clock reference was; but it stays where nothing better is.
  summarise(p, {{5, 1, 1}, {4, 1, 1}, {3, 1, 1}, {100, 1, 1, true}, {2, 1.3, 1}}, usual);
  CHECK(p.samples == 3);
  CHECK(p.discarded == 2);
  CHECK(p.high == Seconds{5});
  summarise(p, {{7, 1, 1, true}, {9, 1, 1, true}, {8, 1, 1, true}, {1, 2, 2}}, usual);
  CHECK(p.samples == 3);
  CHECK(p.low == Seconds{1});
  // Where none met it, those that were nearest stay.
  summarise(p, {{1, 2, 2}, {9, 3, 3}, {2, 2.1, 2}, {3, 2.2, 1}}, usual);
  CHECK(p.samples == 3);
  CHECK(p.median == Seconds{2});
}
