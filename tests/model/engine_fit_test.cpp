// SPDX-License-Identifier: Apache-2.0
#include "model/engine_fit.h"

#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape, double us) {
  const Seconds t{1e-6 * us};
  return {op, std::move(shape), t, t, t, 5, 0, {}};
}

// A host that takes 2 us a step, 0.1 us an op, 0.05 us a token, 0.3 us a segment beside its op.
Measured made_up() {
  Measured m;
  m.points.push_back(point("segment_host", {{"ops", 1}}, 0.3 + 0.1));
  for (const int ops : {20, 60, 220})
    for (const int sequences : {1, 4, 16})
      m.points.push_back(point("step_host", {{"layers", ops / 10}, {"sequences", sequences}, {"ops", ops}},
                               2 + 0.3 + 0.1 * ops + 0.05 * sequences));
  return m;
}

}  // namespace

TEST_CASE("a host's costs are found again") {
  const HostFit f = fit_host(made_up());
  CHECK(f.step.value == Approx(2e-6));
  CHECK(f.op.value == Approx(1e-7));
  CHECK(f.token.value == Approx(5e-8));
  CHECK(f.segment.value == Approx(3e-7));
  CHECK(f.worst_error < 1e-9);
}

TEST_CASE("a cost that the points put below nothing is none") {
  Measured m = made_up();
  for (MeasuredPoint& p : m.points)
    if (p.op == "step_host") p.median = Seconds{1e-6 * (5 + 0.1 * p.at("ops") - 0.01 * p.at("sequences"))};
  CHECK(fit_host(m).token.value == 0);
}

TEST_CASE("a host that was hardly measured is no engine") {
  Measured m = made_up();
  m.points.resize(3);
  CHECK_THROWS_AS(fit_host(m), InputErrors);
  m = made_up();
  m.points.erase(m.points.begin());
  CHECK_THROWS_AS(fit_host(m), InputErrors);
}
