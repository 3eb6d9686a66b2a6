// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/engine_fit.h"

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

namespace {

// A host beside a GPU: 3 us a step, 50 ns an op recorded, 0.2 us a token; a graph 5 us and 10 ns a node, a kernel by
// itself 2 us; a read 9 us.
Measured made_up_beside_gpu() {
  Measured m;
  m.device = "cuda";
  for (const int ops : {20, 60, 220})
    for (const int sequences : {1, 16, 64}) {
      const std::map<std::string, int> shape{{"layers", ops / 10}, {"sequences", sequences}, {"ops", ops}};
      const double host = 3 + 0.05 * ops + 0.2 * sequences, graph = 5 + 0.01 * ops, eager = 4 + 2.01 * ops;
      m.points.push_back(point("step_host", shape, host));
      for (const int graphs : {0, 1}) {
        auto with = shape;
        with["graphs"] = graphs;
        m.points.push_back(point("step_issue", with, graphs == 1 ? graph : eager));
        m.points.push_back(point("step_exposed", with, host + 9 + (graphs == 1 ? graph : eager)));
      }
    }
  m.points.push_back(point("kernel_launched", {{"kernels", 64}}, 48.5));
  m.points.push_back(point("kernel_replayed", {{"kernels", 64}}, 47.75));
  return m;
}

}  // namespace

TEST_CASE("the costs of a host beside a GPU are found again, and hold for larger batches") {
  const Measured m = made_up_beside_gpu();
  CHECK(has_gpu_host(m));
  const GpuHostFit f = fit_gpu_host(m);
  CHECK(f.step.value == Approx(3e-6));
  CHECK(f.record.value == Approx(60e-9));  // with the graph's nodes
  CHECK(f.token.value == Approx(0.2e-6));
  CHECK(f.graph_launch.value == Approx(5e-6));
  CHECK(f.issue.value == Approx(2e-6));
  CHECK(f.sync.value == Approx(9e-6));
  REQUIRE(f.credit.has_value());
  CHECK(f.credit->value == Approx(0.75e-6));
  CHECK(f.unseen == 3);
  CHECK(f.worst_error < 1e-6);
  CHECK(f.warnings.empty());
}

TEST_CASE("a host that was disturbed, or whose graphs save nothing, is told") {
  Measured m = made_up_beside_gpu();
  for (MeasuredPoint& p : m.points)
    if (p.op == "step_exposed" && p.at("sequences") == 64 && p.at("graphs") == 1) p.median = 2.0 * p.median;
  GpuHostFit f = fit_gpu_host(m);
  CHECK(f.median_error == Approx(0.5));
  REQUIRE(f.warnings.size() == 1);
  CHECK(f.warnings[0].find("more than 8 % off") != std::string::npos);

  m = made_up_beside_gpu();
  for (MeasuredPoint& p : m.points)
    if (p.op == "step_exposed" && p.at("sequences") == 16 && p.at("ops") == 60 && p.at("graphs") == 0)
      p.median = Seconds{1e-6};
  f = fit_gpu_host(m);
  REQUIRE(f.warnings.size() == 1);
  CHECK(f.warnings[0] == "of 6 layers and 16 sequences, steps without graphs wait less");

  std::erase_if(m.points, [](const MeasuredPoint& p) { return p.at("sequences", 0) == 64; });
  CHECK(fit_gpu_host(m).unseen == 0);
}

TEST_CASE("a host beside a GPU that was hardly measured is no engine") {
  for (const char* op : {"step_host", "step_issue", "step_exposed"}) {
    Measured m = made_up_beside_gpu();
    for (MeasuredPoint& p : m.points)
      if (p.op == op) p.skipped = "a reason";
    CHECK_THROWS_AS(fit_gpu_host(m), InputErrors);
  }
  CHECK_FALSE(has_gpu_host(made_up()));
}

TEST_CASE("choosing a token costs so much, and so much per logit") {
  Measured m;
  for (const int rows : {1, 16, 64})
    for (const int columns : {32000, 128256}) {
      m.points.push_back(point("argmax", {{"rows", rows}, {"columns", columns}}, 4 + 1e-5 * rows * columns));
      m.points.push_back(
          point("sample", {{"rows", rows}, {"columns", columns}, {"percent", 90}}, 40 + 2e-5 * rows * columns));
    }
  m.points.push_back(point("top_k", {{"rows", 1}, {"columns", 32000}, {"k", 10}}, 20));
  const auto all = fit_samplers(m);
  REQUIRE(all.size() == 2);  // one point of top_k says nothing
  CHECK(all[0].op == "argmax");
  CHECK(all[0].fixed.value == Approx(4e-6));
  CHECK(all[0].per_logit.value == Approx(1e-11));
  CHECK(all[1].op == "sample, top-p");
  CHECK(all[1].fixed.value == Approx(40e-6));
  CHECK(all[1].worst_error < 1e-6);
}
