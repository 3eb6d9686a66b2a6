// SPDX-License-Identifier: Apache-2.0
// How `plan` tells what chance decides, and `simulate` what holds in every replication.
#include "reports/plan_report.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/latency_statistics.h"
#include "reports/simulate_report.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

namespace {

ServingSweep sweep_with(const std::string& more) {
  return {Document::from_text(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
                                  "method": {"name": "autoregressive"}, "workload": {"arrivals":
                                  {"process": "gamma", "rate": "20 /s", "cv": 4}, "requests": 100}, )" +
                                  more + "}",
                              "s.json"),
          std::string(DRAFTLINE_SOURCE_DIR) + "/data"};
}

// A run whose requests all have these latencies; `limited`: what the scenario's targets limit.
FleetRun run_of(PerSecond throughput, Seconds ttft, Seconds tpot, Seconds e2e, std::vector<Seconds> limited) {
  const auto all = [](Seconds t) { return FleetRun::Latency{t, t, t, t, t}; };
  return {throughput, all(ttft), all(tpot), all(e2e), std::move(limited)};
}

Output to(std::ostringstream& out, Format format) {
  return {out, format, {"plan", std::string(DRAFTLINE_SOURCE_DIR) + "/data"}, 120};
}

}  // namespace

TEST_CASE("replications that need fewer replicas are told, though they recommend the same option") {
  ServingSweep sweep = sweep_with(R"("slo": {"ttft_p99": "1 s"}, "prices": {"h100-sxm": 2})");
  const auto planned = [&](std::vector<int> replicas, Format format) {
    FleetOption o{};
    o.replicas = o.devices = 5, o.devices_of_replica = 1;
    o.cost = 10;
    o.load = {20}, o.capacity = {5};
    for (const int n : replicas) {
      o.alone.push_back({n, 2.0 * n, Seconds{1}});
      o.runs.push_back(run_of({100}, Seconds{0.1 * n}, Seconds{0.01 / n}, {1}, {Seconds{0.1 * n}}));
    }
    std::ostringstream out;
    write_plan(to(out, format), sweep.scenario(), {o});
    return out.str();
  };
  CHECK(contains(planned({5, 5, 5}, Format::table),
                 "3 simulations of each option meet the targets, and each simulation alone "));
  const std::string text = planned({5, 4, 5}, Format::table);
  CHECK(contains(text,
                 "depends on chance:\n  1 of 3 simulations alone recommend 4 x h100-sxm, autoregressive\n"
                 "  2 of 3 simulations alone recommend 5 x h100-sxm, autoregressive\n"));
  CHECK(contains(text, "Recommended: 5 x h100-sxm, autoregressive"));
  CHECK(contains(text, "The largest values over the simulations are ttft_p99 500 ms (limit 1.00 s).\n"));
  const auto result = nlohmann::json::parse(planned({5, 4, 5}, Format::json)).at("results")[0];
  CHECK(result.at("recommended_in") == 2);
  CHECK(result.at("recommended") == true);
}

TEST_CASE("each option shows what was not measured of it, on pages and in JSON too") {
  ServingSweep sweep = sweep_with(R"("slo": {"ttft_p99": "1 s"})");
  const auto option = [](int replicas, Caveats caveats) {
    FleetOption o{};
    o.replicas = o.devices = replicas, o.devices_of_replica = 1;
    o.cost = replicas;
    o.load = {20}, o.capacity = {20};
    o.alone.push_back({replicas, 1.0 * replicas, Seconds{1}});
    o.runs.push_back(run_of({100}, {0.1}, {0.01}, {1}, {{0.1}}));
    o.caveats = std::move(caveats);
    return o;
  };
  const std::vector<FleetOption> options{
      option(1, {{"experts were not measured"}, "no interval: unknown errors of experts"}), option(2, {}),
      option(3, {{}, "no interval: unknown errors of experts"})};
  const auto text = [&](Format format) {
    std::ostringstream out;
    write_plan(to(out, format), sweep.scenario(), options);
    return out.str();
  };
  for (const Format format : {Format::table, Format::html}) {
    const std::string page = text(format);
    CHECK(contains(page, "warning: (a) experts were not measured"));
    CHECK(contains(page, "warning: (b) no interval: unknown errors of experts"));
    CHECK(contains(page, "warning: experts were not measured"));  // of the recommended one
    CHECK(count_of(without_scripts(page), "a, b") == 1);          // the notes of one row
  }
  const auto results = nlohmann::json::parse(text(Format::json)).at("results");
  CHECK(results[0].at("warnings")[0] == "experts were not measured");
  CHECK(!results[1].contains("no_interval"));
  CHECK(results[2].at("no_interval") == "no interval: unknown errors of experts");
  CHECK(contains(text(Format::csv), "experts were not measured; no interval: unknown errors of experts"));
}

TEST_CASE("each workload has a recommendation of its own, and the oracle is none") {
  ServingSweep sweep(
      Document::from_text(
          R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "slo": {"ttft_p99": "1 s"},
              "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.8}},
              "policy": ["oracle", "fixed"],
              "workload": {"arrivals": {"process": "poisson", "rate": ["2 /s", "6 /s", "600 /s"]}, "requests": 100}})",
          "s.json"),
      std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  const Scenario& s = sweep.scenario();
  std::vector<FleetOption> options;
  for (std::size_t i = 0; i < s.points(); ++i) {
    FleetOption o{};
    o.point = point_at(s, i);
    const ServingChoice& choice = s.serving->choices[o.point.serving];
    o.is_bound = choice.policy.kind == DraftPolicy::Kind::oracle;
    o.load = {choice.workload.arrivals.rate};
    if (o.load.value > 100) o.obstacle = "too much";
    o.replicas = o.devices = static_cast<int>(o.load.value) - (o.is_bound ? 1 : 0), o.devices_of_replica = 1;
    o.cost = o.replicas;
    o.capacity = {1.5};
    o.alone.push_back({o.replicas, o.cost, Seconds{1}});
    o.runs.push_back(run_of({100}, {1}, {1}, {1}, {{1}}));
    options.push_back(o);
  }
  REQUIRE(options.size() == 6);
  std::ostringstream text, json;
  write_plan(to(text, Format::table), s, options);
  write_plan(to(json, Format::json), s, options);
  CHECK(contains(text.str(), "Recommended: 2 x h100-sxm, eagle3 with 3 drafts, rate 2 /s, policy fixed"));
  CHECK(contains(text.str(), "Recommended: 6 x h100-sxm, eagle3 with 3 drafts, rate 6 /s, policy fixed"));
  CHECK(contains(text.str(), "No option meets the targets at rate 600 /s.\n"));
  const auto d = nlohmann::json::parse(json.str());
  CHECK(d.at("recommended") == nlohmann::json::parse("[0, 2, null]"));
  std::vector<bool> recommended;
  for (const auto& result : d.at("results")) recommended.push_back(result.at("recommended"));
  CHECK(recommended == std::vector<bool>{true, false, true, false, false, false});
  CHECK(d.at("results")[1].at("why") == "a bound: it uses future acceptance");
}

TEST_CASE("a plan says what it takes if steps are as long as kernels' errors allow") {
  ServingSweep sweep(Document::from_text(
                         R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
                             "slo": {"ttft_p99": "1 s"}, "method": {"name": "autoregressive"},
                             "workload": {"arrivals": {"process": "poisson", "rate": "2 /s"}, "requests": 100}})",
                         "s.json"),
                     std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  const auto said = [&](std::optional<double> slowest_step, std::optional<int> replicas) {
    FleetOption o{};
    o.point = point_at(sweep.scenario(), 0);
    o.load = {2};
    o.replicas = o.devices = o.devices_of_replica = 1;
    o.cost = 1;
    o.capacity = {2.2};
    o.slowest_step = slowest_step;
    o.replicas_if_slowest = replicas;
    o.alone.push_back({1, 1, Seconds{1}});
    o.runs.push_back(run_of({100}, {1}, {1}, {1}, {{1}}));
    std::vector<FleetOption> options{o};
    std::ostringstream text;
    write_plan(to(text, Format::table), sweep.scenario(), options);
    return text.str();
  };
  const std::string longer = "With steps 14 % longer (upper end of the 90 % interval), ";
  CHECK(contains(said(1.14, 1), longer + "it still meets the targets.\n"));
  CHECK(contains(said(1.14, 2), longer + "it needs 2 replicas.\n"));
  CHECK(contains(said(1.14, {}), longer + "not even 2 replicas meet the targets.\n"));
  CHECK(!contains(said({}, {}), "With steps"));
}

TEST_CASE("a recommendation names the network, the format and the engine where the scenario varies them") {
  ServingSweep sweep(
      Document::from_text(
          R"({"device": "h100-sxm", "transformer": ["llama-3.1-8b", "qwen3-8b"], "engine": ["vllm", "sglang"],
                             "precision": ["bf16", "fp8"], "slo": {"ttft_p99": "1 s"}, "method": {"name": "autoregressive"},
                             "workload": {"arrivals": {"process": "poisson", "rate": "2 /s"}, "requests": 100}})",
          "s.json"),
      std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  FleetOption o{};
  o.point = point_at(sweep.scenario(), 0);
  o.load = {2};
  o.replicas = o.devices = o.devices_of_replica = 1;
  o.cost = 1;
  o.capacity = {3};
  o.alone.push_back({1, 1, Seconds{1}});
  o.runs.push_back(run_of({100}, {1}, {1}, {1}, {{1}}));
  std::vector<FleetOption> options{o};
  std::ostringstream text;
  write_plan(to(text, Format::table), sweep.scenario(), options);
  CHECK(contains(text.str(), "Recommended: 1 x h100-sxm, autoregressive, llama-3.1-8b, in bf16, vllm-0.24.\n"));
}

TEST_CASE("a chart names the fleets that no other beats by their devices and draft lengths") {
  const std::string scenario =
      R"({"device": ["h100-sxm", "l40s"], "transformer": "llama-3.1-8b", "engine": "vllm", "slo": {"ttft_p99": "9 s"},
          "prices": {"h100-sxm": 3, "l40s": 1}, "method": [{"name": "autoregressive"},
            {"name": "eagle3", "draft_length": 4, "acceptance": {"rate": 0.8}}],
          "workload": {"arrivals": {"process": "poisson", "rate": "2 /s"}, "requests": 100}})";
  ServingSweep sweep(Document::from_text(scenario, "s.json"), std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  std::vector<FleetOption> options;
  const auto add = [&](std::size_t device, std::size_t method, int replicas, double cost, Seconds e2e) {
    FleetOption o{};
    o.point.device = device, o.point.method = method;
    o.replicas = o.devices = replicas, o.devices_of_replica = 1;
    o.cost = o.cost_with_spare = cost;
    o.load = {2}, o.capacity = {2};
    o.alone.push_back({replicas, cost, e2e});
    o.runs.push_back(run_of({100}, {0.1}, {0.01}, e2e, {{0.1}}));
    options.push_back(o);
  };
  add(0, 0, 1, 3, {4});  // an H100 is as cheap as three L40S, and faster with drafts
  add(0, 1, 1, 3, {1});
  add(1, 0, 3, 3, {5});
  add(1, 1, 2, 2, {3});
  std::ostringstream out;
  write_plan(to(out, Format::html), sweep.scenario(), options);
  CHECK(contains(out.str(), ">2 x l40s, k 4</text>"));
  CHECK(contains(out.str(), ">1 x h100-sxm, k 4</text>"));
  CHECK(count_of(out.str(), "<text class=\"name\"") == 2);
}

TEST_CASE("targets are shown by their own percentiles, met or missed, in tables, CSV, JSON and on pages") {
  ServingSweep sweep = sweep_with(R"("slo": {"tpot_p95": "40 ms", "e2e_p97.5": "2 s"}, "prices": {"h100-sxm": 2})");
  FleetOption good{}, slow{};
  good.replicas = good.devices = good.devices_of_replica = 1;
  good.cost = 2;
  good.load = slow.load = {20}, good.capacity = {30};
  good.alone.push_back({1, 2, Seconds{1}});
  good.runs.push_back(run_of({100}, {0.2}, {0.0437}, {1}, {{0.0391}, {1.5}}));
  good.runs.front().tpot.p95 = {0.0391};
  good.alone.push_back(good.alone.front());
  good.runs.push_back(good.runs.front());
  slow.obstacle = "even without load tpot_p95 50.0 ms > 40.0 ms (25 % over)";
  slow.missed = {{"tpot_p95", {0.05}, {0.04}}};
  const auto text = [&](Format format) {
    std::ostringstream out;
    Output wide = to(out, format);
    wide.width = 200;  // so that no column is left out
    write_plan(wide, sweep.scenario(), {good, slow});
    return out.str();
  };
  for (const Format format : {Format::table, Format::html}) {
    CHECK(contains(text(format), "39.1 ms"));
    CHECK(!contains(text(format), "43.7 ms"));  // p99, which no target limits
    CHECK(contains(text(format), "1.50 s"));
    CHECK(contains(text(format), "missed tpot_p95"));
    CHECK(contains(text(format), "25 % over"));
    CHECK(contains(text(format),
                   "The recommended fleet, and every other that meets the targets, also meets them at "
                   "22.0 /s, 10 % above the load (--headroom)."));
    CHECK(contains(text(format), "are tpot_p95 39.1 ms (limit 40.0 ms), e2e_p97.5 1.50 s (limit 2.00 s)."));
  }
  CHECK(contains(text(Format::table), "TPOT"));
  const auto document = nlohmann::json::parse(text(Format::json));
  const auto& results = document.at("results");
  CHECK(document.at("question").at("headroom") == 0.1);
  CHECK(results[0].at("tpot_p95").at("value") == 0.0391);
  CHECK(results[0].at("e2e_p97.5").at("value") == 1.5);
  CHECK(results[0].at("targets") == nlohmann::json::parse(R"({"tpot_p95": true, "e2e_p97.5": true})"));
  CHECK(results[1].at("targets") == nlohmann::json::parse(R"({"tpot_p95": false, "e2e_p97.5": true})"));
  CHECK(results[1].at("missed_by").get<double>() == Approx(0.25));
  const std::string csv = text(Format::csv);
  CHECK(contains(csv, ",tpot_p95_s,"));
  CHECK(contains(csv, ",e2e_p97.5_s,"));
  CHECK(contains(csv, ",missed tpot_p95,"));
}

TEST_CASE("a plan says whether targets were missed where requests are refused, a queue grows or no server can run") {
  ServingSweep sweep = sweep_with(R"("slo": {"tpot_p95": "40 ms", "e2e_p99": "2 s"})");
  FleetOption refused{}, grows{}, none{};
  refused.obstacle = "2 of 100 requests do not fit";
  refused.missed = {{"tpot_p95", {0.03}, {0.04}}, {"e2e_p99", {1.5}, {2}}};
  grows.obstacle = "the queue grows";
  none.obstacle = "no room for a KV cache";
  none.can_run = false;
  std::ostringstream out, table;
  write_plan(to(out, Format::json), sweep.scenario(), {refused, grows, none});
  const auto results = nlohmann::json::parse(out.str()).at("results");
  CHECK(results[0].at("targets") == nlohmann::json::parse(R"({"tpot_p95": false, "e2e_p99": false})"));
  CHECK(!results[0].contains("missed_by"));  // no value is above its limit
  CHECK(results[1].at("targets") == nlohmann::json::parse(R"({"tpot_p95": true, "e2e_p99": true})"));
  CHECK(results[1].at("meets_targets") == false);
  CHECK(!results[2].contains("targets"));
  write_plan(to(table, Format::csv), sweep.scenario(), {refused, grows, none});
  CHECK(contains(table.str(), ",missed tpot_p95 e2e_p99,"));
  CHECK(contains(table.str(), ",missed,"));
  CHECK(count_of(table.str(), ",missed") == 2 + 1);  // and the title missed_by
}

TEST_CASE("the cost of an option is that of the recommended one and a part more, or several times it") {
  ServingSweep sweep = sweep_with(R"("slo": {"ttft_p99": "1 s"}, "prices": {"h100-sxm": 2})");
  const auto option = [](double cost, Seconds e2e) {
    FleetOption o{};
    o.replicas = o.devices = o.devices_of_replica = 1;
    o.cost = cost;
    o.load = {20}, o.capacity = {30};
    o.alone.push_back({1, cost, e2e});
    o.runs.push_back(run_of({100}, {0.1}, {0.01}, e2e, {{0.1}}));
    return o;
  };
  std::ostringstream out;
  write_plan(to(out, Format::csv), sweep.scenario(),
             {option(2, {1}), option(2, {2}), option(2.18, {0.5}), option(6, {4})});
  CHECK(contains(out.str(), "\"costs as much, requests take 2.00 times as long\""));
  CHECK(contains(out.str(), "\"costs 9 % more, requests take 0.500 times as long\""));
  CHECK(contains(out.str(), ",costs 3.00 times as much,"));
}

TEST_CASE("a percentile is called by its ordinal number") {
  const auto meaning = [](const std::string& name, double share) { return LatencyStatistic{name, share}.meaning(); };
  CHECK(meaning("mean", 0) == "mean");
  CHECK(meaning("p50", 0.5) == "median");
  CHECK(meaning("p1", 0.01) == "1st percentile");
  CHECK(meaning("p12", 0.12) == "12th percentile");
  CHECK(meaning("p91", 0.91) == "91st percentile");
  CHECK(meaning("p92", 0.92) == "92nd percentile");
  CHECK(meaning("p93", 0.93) == "93rd percentile");
  CHECK(meaning("p95", 0.95) == "95th percentile");
  CHECK(meaning("p99.1", 0.991) == "99.1th percentile");
}

TEST_CASE("simulate shows the percentile that a target limits, and whether it is met") {
  ServingSweep sweep = sweep_with(R"("slo": {"ttft_p95": "1 us", "tpot_p50": "1 s", "e2e_p97.5": "1 h"})");
  const auto text = [&](Format format) {
    std::ostringstream out;
    Output wide = to(out, format);
    wide.width = 200;  // so that no column is left out
    SimulateReport report(wide, sweep.scenario());
    report.add(sweep.at(0, {}));
    report.finish();
    return out.str();
  };
  const auto d = nlohmann::json::parse(text(Format::json));
  CHECK(d.at("ttft").at("p95").at("value") <= d.at("ttft").at("p99").at("value"));
  CHECK(d.at("targets") == nlohmann::json::parse(R"({"ttft_p95": false, "tpot_p50": true, "e2e_p97.5": true})"));
  CHECK(contains(text(Format::table), "missed ttft_p95"));
  CHECK(contains(text(Format::csv), ",missed ttft_p95"));
  const std::string page = text(Format::html);
  CHECK(contains(page, "TTFT p95"));
  CHECK(contains(page, "TPOT p50"));
  CHECK(contains(page, "e2e p97.5"));
  CHECK(contains(page, "missed ttft_p95"));
}

TEST_CASE("a target is met if it is met in every replication") {
  ServingSweep sweep = sweep_with(R"("slo": {"ttft_p99": "1 s"}, "replications": 5)");
  const ServingOutcome outcome = sweep.at(0, {});
  const auto& runs = std::get<ServingResult>(outcome.result).runs;
  std::vector<double> p99;
  for (const ServingRun& r : runs) p99.push_back(r.figures.ttft.quantile(0.99).value);
  const auto met_within = [&](double limit) {
    ServingSweep limited =
        sweep_with(R"("replications": 5, "slo": {"ttft_p99": ")" + std::to_string(limit * 1e6) + R"( us"})");
    std::ostringstream out;
    SimulateReport report(to(out, Format::json), limited.scenario());
    report.add(limited.at(0, {}));
    report.finish();
    return nlohmann::json::parse(out.str()).at("targets").at("ttft_p99").get<bool>();
  };
  const auto [least, most] = std::minmax_element(p99.begin(), p99.end());
  REQUIRE(*least < 0.9 * *most);
  CHECK(met_within(1.01 * *most));
  CHECK(!met_within(std::sqrt(*least * *most)));
  CHECK(!met_within(0.99 * *most));
}

}  // namespace draftline
