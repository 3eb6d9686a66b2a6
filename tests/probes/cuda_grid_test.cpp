// SPDX-License-Identifier: Apache-2.0
// The grid of the CUDA probe, and what a measured file takes of it: no GPU is needed.
#include "probes/cuda_grid.h"

#include <set>
#include <sstream>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("the CUDA grid names every shape once, and its products rotate past L2") {
  const double l2 = 50e6;
  std::set<std::pair<std::string, std::map<std::string, int>>> seen;
  std::set<int> rows_of_trees, groups;
  std::set<int> expert_rows;
  int decode = 0, latents = 0;
  for (const auto& p : cuda_grid(l2)) {
    CHECK(seen.emplace(p.op, p.shape).second);
    if (p.op == "gemm") CHECK(2.0 * p.at("in") * p.at("out") * p.at("copies") > 2 * l2);
    if (p.op == "experts") {
      CHECK(p.at("per_token") <= p.at("experts"));
      CHECK(6.0 * p.at("hidden") * p.at("intermediate") * p.at("per_token") * p.at("copies") > 2 * l2);
      expert_rows.insert(p.at("rows"));
    }
    if (p.op == "latent_attention") {
      const double row = 2.0 * (p.at("rank") + p.at("rope"));
      CHECK(row * p.at("sequences") * (p.at("context") + p.at("rows")) * p.at("copies") > 2 * l2);
      latents += 1;
    }
    if (p.op != "attention") continue;
    if (p.at("tree") != 0) rows_of_trees.insert(p.at("rows"));
    groups.insert(p.at("heads") / p.at("kv_heads"));
    decode += p.at("rows") == 1;
    CHECK(p.at("heads") % p.at("kv_heads") == 0);
  }
  CHECK(rows_of_trees == std::set<int>{2, 4, 8, 16, 32, 64});
  CHECK(groups.size() >= 3);
  CHECK(expert_rows == std::set<int>{1, 4, 16, 64, 256});
  CHECK(latents >= 30);
  CHECK(decode >= 40);
  CHECK(seen.size() < 850);  // three minutes
}

TEST_CASE("the CUDA grid's overheads leave most of three minutes to its samples") {
  double seconds = 0;
  for (const auto& p : cuda_grid(50e6, GridSize::full, 8)) {
    CHECK(expected_overhead(p).value > 0);
    seconds += expected_overhead(p).value;
  }
  CHECK(seconds < 100);
  CHECK(seconds > 5);
}

TEST_CASE("sums over GPUs are asked of as many as there are, and of two where there is one") {
  const auto ranks = [](int devices) {
    std::map<int, int> points;
    for (const auto& p : cuda_grid(50e6, GridSize::full, devices))
      if (p.op == "all_reduce") ++points[p.at("ranks")];
    return points;
  };
  CHECK(ranks(1) == std::map<int, int>{{2, 1}});
  CHECK(ranks(6) == std::map<int, int>{{2, 17}, {4, 17}});
  CHECK(ranks(8).contains(8));
}

TEST_CASE("the CUDA grid cuts steps of several depths and batches, larger than those that are fitted") {
  std::set<int> layers, sequences;
  int steps = 0;
  for (const auto& p : cuda_grid(50e6)) {
    if (!p.op.starts_with("step_")) continue;
    ++steps;
    layers.insert(p.at("layers")), sequences.insert(p.at("sequences"));
  }
  CHECK(steps == 45);
  CHECK(layers.size() == 3);
  CHECK(*sequences.rbegin() > 16);
}

TEST_CASE("the small CUDA grid has every kind of op that the full one has") {
  const auto full = cuda_grid(50e6), small = cuda_grid(50e6, GridSize::small);
  CHECK(small.size() * 5 < full.size());
  std::set<std::string> ops;
  for (const auto& p : small) ops.insert(p.op);
  for (const auto& p : full) CHECK(ops.contains(p.op));
}

TEST_CASE("a measured file holds every point of the CUDA grid, and those that could not run") {
  Measured m;
  m.device = "cuda", m.title = "a GPU", m.commit = "none", m.source = "draftline-probe", m.locator = "a test";
  m.machine = {{"l2_cache", 5e7}, {"memory", 8e10}, {"compute_capability", 9.0}};
  m.points = cuda_grid(50e6);
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    if (i % 3 == 0) {
      m.points[i].skipped = "a reason";
      continue;
    }
    m.points[i].low = Seconds{1e-6}, m.points[i].median = Seconds{2e-6}, m.points[i].high = Seconds{3e-6};
    m.points[i].samples = 5;
  }
  std::ostringstream text;
  write_measured(text, m);
  const Document document = Document::from_text(text.str(), "m.json");
  const Measured again = read_measured(document.root());
  document.finish();
  REQUIRE(again.points.size() == m.points.size());
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    CHECK(again.points[i].same_shape(m.points[i]));
    CHECK(again.points[i].skipped == m.points[i].skipped);
  }
}
