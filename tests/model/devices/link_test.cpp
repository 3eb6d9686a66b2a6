// SPDX-License-Identifier: Apache-2.0
#include "model/devices/link.h"

#include <cmath>

#include "core/errors.h"
#include "model/engines/link_rule.h"
#include "model/order_statistics.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

Seconds us(double n) { return Seconds{n * 1e-6}; }
constexpr double kKiB = 1024;

// 2 ranks: 5 us to 1 KiB, 20 us at 16 KiB; 8 ranks: 10 us at 1 KiB.
LinkTable table(std::string library, double scale = 1, Collective c = Collective::all_reduce) {
  return {std::move(library),
          c,
          {{2, Bytes{kKiB}, us(5 * scale)}, {2, Bytes{16 * kKiB}, us(20 * scale)}, {8, Bytes{kKiB}, us(10 * scale)}},
          {}};
}

Seconds sum(const Links& links, const EngineLinks& engine, int ranks, double bytes) {
  return collective_time(links, engine, {Collective::all_reduce, Bytes{bytes}, ranks}, "a device");
}

}  // namespace

TEST_CASE("a link's table interpolates over logarithms; a tiny message costs what the smallest does") {
  const LinkTable t = table("nccl");
  CHECK(t.time(2, Bytes{1}) == us(5));
  CHECK(t.time(2, Bytes{4 * kKiB}).value == Approx(10e-6));   // the geometric mean of both
  CHECK(t.time(2, Bytes{32 * kKiB}).value == Approx(36e-6));  // 15 us for 15 KiB between the last two points
  CHECK(t.time(8, Bytes{3 * kKiB}).value == Approx(30e-6));   // of one point: at its rate
  CHECK(t.time(3, Bytes{kKiB}) == us(10));                    // three ranks take the table of eight
  CHECK(t.knows(8));
  CHECK_FALSE(t.knows(9));
}

TEST_CASE("beyond its table a library is no faster than at the end of the device's longest") {
  const auto points = [](std::vector<std::pair<double, double>> all) {
    std::vector<LinkPoint> p;
    for (const auto& [kib, time] : all) p.push_back({8, Bytes{kib * kKiB}, us(time)});
    return p;
  };
  const LinkTable nccl{"nccl", Collective::all_reduce, points({{1024, 50}, {2048, 70}, {4096, 110}}), {}},
      flat{"two_shot", Collective::all_reduce, points({{256, 26}, {512, 26}}), {}},
      steep{"one_shot", Collective::all_reduce, points({{64, 6}, {128, 12}}), {}};
  const Links links{true, "10.0", {nccl, flat, steep}};
  CHECK(links.time(flat, 8, Bytes{256 * kKiB}) == us(26));
  CHECK(links.time(flat, 8, Bytes{1536 * kKiB}).value == Approx(46e-6));  // 1024 KiB more at NCCL's 40 us in 2048 KiB
  CHECK(links.time(steep, 8, Bytes{192 * kKiB}).value == Approx(18e-6));  // dearer than that: at its own rate
  CHECK(links.time(nccl, 8, Bytes{8192 * kKiB}).value == Approx(190e-6));
  const Links alone{true, "10.0", {flat}};
  CHECK(alone.time(flat, 8, Bytes{4096 * kKiB}).value == Approx(208e-6));  // at its rate
}

TEST_CASE(
    "within a switch's domain the largest measured group is extended: its start with a tree, its bytes by shares") {
  Links links{true, "10.3", {table("nccl")}};
  CHECK_FALSE(links.connects(16));
  links.domain = 64;
  REQUIRE(links.connects(64));
  CHECK_FALSE(links.connects(65));
  // 10 us for the first KiB among 8, and 10 us for each further one
  CHECK(links.time(links.tables[0], 64, Bytes{kKiB}).value == Approx(20e-6));  // log2 64 / log2 8
  CHECK(links.time(links.tables[0], 64, Bytes{2 * kKiB}).value == Approx(20e-6 + 10e-6 * (63.0 / 64) / (7.0 / 8)));
  CHECK(links.time(links.tables[0], 8, Bytes{2 * kKiB}).value == Approx(20e-6));
  CHECK(links.find("one_shot", Collective::all_reduce, 16) == nullptr);
}

TEST_CASE("between nodes a ring over them adds to the time inside each") {
  const LinkTable sums = table("nccl"), gathers = table("nccl", 1, Collective::all_gather),
                  exchange = table("nccl", 1, Collective::all_to_all);
  Links links{true, "9.0", {sums, gathers, exchange}};
  links.between_nodes = NodeNetwork{8, BytesPerSecond{1e9}, us(3), {}};
  CHECK(links.nodes(8) == 1);
  CHECK(links.nodes(9) == 2);
  CHECK(links.in_node(9) == 5);
  const double kib = 8 * kKiB;  // of 8 devices; one of them has 1 KiB
  const double inside = links.time(sums, 8, Bytes{kib}).value, sent = kKiB / 2 / 1e9;
  CHECK(links.time(sums, 16, Bytes{kib}).value == Approx(inside + 2 * (3e-6 + sent)));  // there and back
  CHECK(links.time(gathers, 16, Bytes{kib}).value == Approx(inside + 3e-6 + sent));
  CHECK(links.time(exchange, 16, Bytes{kib}).value == Approx(inside + 3e-6 + 8 * sent));  // all through one's own
  CHECK(links.time(sums, 32, Bytes{kib}).value == Approx(inside + 2 * (3 * 3e-6 + 1.5 * sent)));
}

TEST_CASE("the last of n ranks is waited for: the expected largest of n standard normal values") {
  CHECK(expected_largest(1) == 0);
  CHECK(expected_largest(2) == Approx(1 / std::sqrt(std::acos(-1.0))));    // 1 / sqrt(pi)
  CHECK(expected_largest(3) == Approx(1.5 / std::sqrt(std::acos(-1.0))));  // 3 / (2 sqrt(pi))
  CHECK(expected_largest(8) == Approx(1.42360).epsilon(1e-5));             // tables of order statistics
  CHECK(expected_largest(100) == Approx(2.50759).epsilon(1e-5));

  const Links links{true, "9.0", {table("nccl")}};
  EngineLinks engine;
  engine.rank_skew = us(2);
  CHECK(sum(links, engine, 1, kKiB).value == 0);
  CHECK(sum(links, engine, 8, 0).value == Approx(10e-6 + 1.42360 * 2e-6).epsilon(1e-5));  // however small the message
}

TEST_CASE("an engine's first rule that holds, and whose library has a table, chooses; else any table serves") {
  Links links{true, "9.0", {table("nccl", 4), table("one_shot", 1), table("two_shot", 2)}};
  EngineLinks engine;
  engine.all_reduce = {{"one_shot", {2}, Bytes{2 * kKiB}, false, ""},
                       {"two_shot", {2, 8}, Bytes{32 * kKiB}, true, ""},
                       {"symmetric_memory", {}, {}, false, "9.0"},
                       {"nccl", {}, {}, false, ""}};
  CHECK(sum(links, engine, 2, kKiB) == us(5));
  CHECK(sum(links, engine, 2, 2 * kKiB) > us(10));  // not below 2 KiB: two-shot
  CHECK(sum(links, engine, 8, kKiB) == us(20));
  CHECK(sum(links, engine, 8, 32 * kKiB) == 32 * us(40));  // no table of symmetric memory: NCCL, at its last rate
  CHECK(sum(links, engine, 4, kKiB) == us(40));            // no rule for four ranks but NCCL's
  links.switched = false;                                  // over PCIe no two-shot
  CHECK(sum(links, engine, 8, kKiB) == us(40));
  CHECK(sum(links, {}, 2, kKiB) == us(20));  // without rules: the first table
  links.tables.erase(links.tables.begin());
  CHECK(sum(links, engine, 8, 64 * kKiB) == 64 * us(10));  // no NCCL: what there is
  CHECK_THROWS_AS(sum(links, engine, 16, kKiB), InputErrors);
  CHECK_THROWS_AS(sum({}, engine, 2, kKiB), InputErrors);
}

TEST_CASE("the tables of an engine's calls are those of its rules, up to the first for messages of any size") {
  const Links links{true, "9.0", {table("nccl", 4), table("one_shot", 1), table("two_shot", 2), table("other", 3)}};
  EngineLinks engine;
  engine.all_reduce = {{"one_shot", {2}, Bytes{2 * kKiB}, false, ""},
                       {"symmetric_memory", {}, {}, false, ""},  // no table
                       {"two_shot", {2, 8}, Bytes{32 * kKiB}, true, ""},
                       {"nccl", {}, {}, false, ""},
                       {"other", {}, {}, false, ""}};
  const auto names = [&](Collective c, int ranks) {
    std::string all;
    for (const LinkTable* t : tables_of_calls(links, engine, c, ranks)) all += t->library + " ";
    return all;
  };
  CHECK(names(Collective::all_reduce, 2) == "one_shot two_shot nccl ");
  CHECK(names(Collective::all_reduce, 8) == "two_shot nccl ");
  CHECK(names(Collective::all_gather, 8) == "two_shot nccl ");  // it takes the times of all-reduces
  engine.all_reduce.pop_back();
  engine.all_reduce.pop_back();
  CHECK(names(Collective::all_reduce, 8) == "two_shot nccl ");  // larger messages take any table, the first
  CHECK(names(Collective::all_reduce, 16).empty());
}

TEST_CASE("a rule holds for one compute capability, or for a generation's") {
  CHECK(has_capability("", "8.6"));
  CHECK(has_capability("", ""));
  CHECK(has_capability("10.0", "10.0"));
  CHECK_FALSE(has_capability("10.0", "10.3"));
  CHECK(has_capability("10", "10.3"));
  CHECK_FALSE(has_capability("10", "12.0"));
  CHECK_FALSE(has_capability("1", "10.0"));
  CHECK_FALSE(has_capability("10", ""));
}

TEST_CASE("an all-gather has a table of its own, or takes the time of an all-reduce of half its bytes") {
  Links links{true, "9.0", {table("nccl")}};
  const auto gather = [&](double bytes) {
    return collective_time(links, {}, {Collective::all_gather, Bytes{bytes}, 2}, "a device");
  };
  CHECK(gather(32 * kKiB) == us(20));
  links.tables.push_back(table("nccl", 0.1, Collective::all_gather));
  CHECK(gather(16 * kKiB) == us(2));
}

TEST_CASE("links of a device file: tables of several libraries; a mistake names its place") {
  const auto read = [](const char* text) {
    const Document d = Document::from_text(text, "links.json");
    Links links = read_links(d.root());
    d.finish();
    return links;
  };
  const Links links = read(R"({"switched": true, "compute_capability": "8.0", "tables": [
      {"library": "one_shot", "collective": "all_reduce", "kind": "guess", "source": "s", "locator": "l",
       "groups": [{"ranks": 2, "points": [{"message": "2 KiB", "time": "3 us"}, {"message": "1 KiB", "time": "4 us"}]}]}]})");
  CHECK(links.switched);
  CHECK(links.compute_capability == "8.0");
  REQUIRE(links.tables.size() == 1);
  CHECK(links.tables[0].points[0].time == us(3));  // sorted, and never dearer than a larger message
  CHECK(links.connects(2));
  CHECK_FALSE(links.connects(4));
  const std::string mistake = mistake_of([&] {
    read(
        R"({"tables": [{"library": "x", "collective": "sum", "kind": "guess", "source": "s", "locator": "l", "groups": []}]})");
  });
  CHECK(contains(mistake, "links.json#/tables/0/collective: unknown value \"sum\""));
}

TEST_CASE("an engine's links: rules in order, the skew of its ranks; what nobody measured is listed") {
  const Document d = Document::from_text(R"({
      "all_reduce": {"kind": "default", "source": "s", "locator": "l", "rules": [
        {"library": "one_shot", "ranks": [2, 4], "below": "512 KiB", "switched": true, "compute_capability": "9.0"},
        {"library": "two_shot", "up_to": "8 MiB"}, {"library": "nccl"}]},
      "rank_skew": {"value": "3 us", "kind": "guess", "because": "why"},
      "fused_all_reduce": {"architectures": ["A", "B"], "library": "x", "rows": 7, "rank_skew": "1 us",
                           "kind": "guess", "because": "why"}})",
                                         "engine.json");
  std::vector<std::string> guesses;
  const EngineLinks engine = read_engine_links(d.root(), guesses);
  d.finish();
  REQUIRE(engine.all_reduce.size() == 3);
  CHECK(engine.all_reduce[1].holds({}, 16, Bytes{8192 * kKiB}));
  CHECK_FALSE(engine.all_reduce[1].holds({}, 16, Bytes{8192 * kKiB + 1}));
  CHECK(engine.all_reduce[0].ranks == std::vector{2, 4});
  CHECK(engine.all_reduce[0].below == Bytes{512 * kKiB});
  CHECK(engine.rank_skew == us(3));
  CHECK(guesses == std::vector<std::string>{"links/rank_skew", "links/fused_all_reduce"});
  const EngineLinks fused = engine.with_fused(Bytes{100});
  CHECK(fused.rank_skew == us(1));
  REQUIRE(fused.all_reduce.size() == 4);
  CHECK(fused.all_reduce[0].library == "x");
  CHECK(fused.all_reduce[0].holds({}, 4, Bytes{700}));
  CHECK_FALSE(fused.all_reduce[0].holds({}, 4, Bytes{800}));
}
