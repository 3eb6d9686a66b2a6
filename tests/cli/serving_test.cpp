// SPDX-License-Identifier: Apache-2.0
// simulate, plan and advise as a user meets them.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

static std::string scenario(
    const std::string& workload, const std::string& more = "",
    const std::string& method = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})") {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 200, "output_tokens": 60,
             "method": )" +
         method + R"(, "workload": {"arrivals": )" + workload + R"(, "requests": 400})" +
         (more.empty() ? "" : ", " + more) + "}";
}
static const std::string kPoisson = R"({"process": "poisson", "rate": "20 /s"})";

TEST_CASE("simulate --json of one point holds the figures by their names, each with unit and kind") {
  const Program draftline;
  draftline.write("s.json",
                  scenario(kPoisson, R"("slo": {"ttft_p99": "1 s", "tpot_p99": "1 us"}, "prices": {"h100-sxm": 3.6})"));
  const Ran r = draftline("simulate s.json --json --seed 3");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const Json d = Json::parse(r.out);
  CHECK(d.at("schema_version") == 1);
  CHECK(d.at("requests") == 400);
  CHECK(d.at("output_tokens") == 400 * 60);
  CHECK(d.at("diverges") == false);
  CHECK(d.at("targets") == Json{{"ttft_p99", true}, {"tpot_p99", false}});
  CHECK(d.at("goodput").at("value") == 0);
  for (const char* latency : {"ttft", "tpot", "e2e", "inter_token_latency"})
    for (const char* figure : {"mean", "p50", "p90", "p99"}) {
      INFO(latency << " " << figure);
      CHECK(d.at(latency).at(figure).at("value").get<double>() > 0);
      CHECK(d.at(latency).at(figure).at("unit") == "s");
      CHECK(d.at(latency).at(figure).at("kind") == "predicted");
    }
  CHECK(d.at("acceptance_length").at("value").get<double>() == Approx(1 + 0.7 + 0.49 + 0.343).epsilon(0.03));
  CHECK(d.at("oracle").at("gap").at("value").get<double>() >= 0);
  CHECK_FALSE(d.contains("event_loop_wall_time"));  // it differs from run to run
  CHECK(draftline("simulate s.json --json --seed 3").out == r.out);
  const Json timed = Json::parse(draftline("simulate s.json --json --seed 3 --timing").out);
  CHECK(timed.at("event_loop_wall_time").at("kind") == "measured");
  CHECK(timed.at("pricing_wall_time").at("value").get<double>() > 0);
  const double busy = d.at("utilization").at("value"), span = d.at("makespan").at("value");
  CHECK(d.at("energy_of_steps").at("value").get<double>() == Approx(700 * busy * span));
  CHECK(d.at("energy_at_most").at("value").get<double>() == Approx(700 * span));  // idle devices draw no more than that
  CHECK(d.at("cost_per_million_tokens").at("value").get<double>() ==
        Approx(3.6 / 3600 / d.at("throughput").at("value").get<double>() * 1e6));
  const Ran csv = draftline("simulate s.json --csv --seed 3");
  CHECK(contains(csv.out, ",kv_utilization,cost_per_million_tokens,preemptions,"));
  CHECK(contains(draftline("simulate s.json --seed 3").out, "cost/1M"));
  draftline.write("other.json", scenario(kPoisson, R"("prices": {"h200": 3.6})"));
  const Ran other = draftline("simulate other.json --csv");
  CHECK(other.code == 2);
  CHECK(contains(other.err, "other.json#/prices: lacks the price of h100-sxm"));
}

TEST_CASE("points of a workload are told by its own lengths, and by their acceptance") {
  const Program draftline;
  const std::string arrivals = R"("arrivals": {"process": "poisson", "rate": "5 /s"}, "requests": 20)",
                    methods = R"([{"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}},
                                  {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.9}}])";
  const auto with = [&](const std::string& lengths) {
    draftline.write("s.json",
                    R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "output_tokens": 60,
       "method": )" + methods +
                        R"(, "workload": {)" + arrivals + lengths + "}}");
    const Ran r = draftline("simulate s.json --json --no-oracle");
    INFO(r.err);
    REQUIRE(r.code == 0);
    return Json::parse(r.out).at("results")[0].at("inputs");
  };
  CHECK(with("").at("prompt_tokens") == 512);  // the scenario's
  CHECK(with(R"(, "lengths": {"prompt": 800, "output": 25})").at("prompt_tokens") == 800);
  CHECK(with(R"(, "lengths": {"prompt": 800, "output": 25})").at("output_tokens") == 25);
  CHECK(with(R"(, "lengths": {"prompt": 800})").at("output_tokens") == 60);
  CHECK(with(R"(, "lengths": {"prompt": {"distribution": "exponential", "mean": 90}})").at("prompt_tokens") ==
        "distribution:exponential,mean:90");
  draftline.write("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,20\n1,50,30\n");
  CHECK(with(R"(, "lengths": {"trace": "t.csv", "prompt": 800})").at("output_tokens") == "trace:t.csv");
  CHECK(with(R"(, "lengths": {"trace": "t.csv"})").at("output_tokens") == "trace:t.csv");
  const Ran csv = draftline("simulate s.json --csv"), table = draftline("simulate s.json");
  CHECK(contains(csv.out, R"("{""rate"":0.7}",trace:t.csv,trace:t.csv,)"));
  CHECK(contains(csv.out, R"("{""rate"":0.9}")"));
  CHECK(contains(table.out, R"({"rate":0.9})"));
}

TEST_CASE("a sweep's output does not depend on the number of threads, and goes on where it stopped") {
  const Program draftline;
  draftline.write("s.json", scenario(R"({"process": "poisson", "rate": ["5 /s", "10 /s", "20 /s", "40 /s"]})",
                                     R"("policy": ["fixed", "goodput"])"));
  const auto without_times = [](std::string text) {
    Json d = Json::parse(text);
    for (Json& point : d.at("results")) point.erase("event_loop_wall_time"), point.erase("pricing_wall_time");
    return d;
  };
  const Json one = without_times(draftline("simulate s.json --json").out);
  CHECK(one == without_times(draftline("simulate s.json --json --jobs 4").out));
  const Json rest = without_times(draftline("simulate s.json --json --from 5").out);
  REQUIRE(rest.at("results").size() == 3);
  CHECK(rest.at("results")[0] == one.at("results")[5]);
  CHECK(draftline("simulate s.json --from 8").code == 2);
  CHECK(draftline("simulate s.json --timeline t.json").code == 2);  // of one point alone
}

TEST_CASE("records and a timeline tell the same story as the figures") {
  const Program draftline;
  draftline.write("s.json", scenario(kPoisson));
  const Ran r = draftline("simulate s.json --json --requests r.jsonl --steps s.csv --timeline t.json");
  REQUIRE(r.code == 0);
  const Json d = Json::parse(r.out);
  std::istringstream requests(draftline.read("r.jsonl"));
  double e2e = 0;
  int rows = 0;
  for (std::string line; std::getline(requests, line); ++rows) {
    const Json q = Json::parse(line);
    e2e += q.at("last_token").get<double>() - q.at("arrival").get<double>();
  }
  CHECK(rows == 400);
  CHECK(e2e / rows == Approx(d.at("e2e").at("mean").at("value").get<double>()));
  std::istringstream steps(draftline.read("s.csv"));
  std::string line;
  std::getline(steps, line);
  CHECK(line == "start,time,server,sequences,draft_length,prompt_tokens,emitted,waiting,kv_blocks");
  int count = 0;
  while (std::getline(steps, line)) ++count;
  CHECK(count == d.at("steps"));
  const Json timeline = Json::parse(draftline.read("t.json"));
  std::map<std::string, int> events;
  double most_blocks = 0;
  for (const Json& event : timeline.at("traceEvents")) {
    ++events[event.at("ph").get<std::string>()];
    if (event.at("ph") == "X") CHECK(event.at("dur").get<double>() >= 0);
    if (event.at("name") == "KV") most_blocks = std::max(most_blocks, event.at("args").at("utilization").get<double>());
  }
  CHECK(events.size() == 3);
  CHECK(events["X"] == count + 3 * 400);
  CHECK(events["M"] == 2 + 400);  // the server, its steps, and each request
  CHECK(most_blocks == Approx(d.at("kv_utilization_peak").at("value").get<double>()));
}

TEST_CASE("more load than can be served is no error: it ends, warns and says that it diverges") {
  const Program draftline;
  draftline.write("s.json", scenario(R"({"process": "poisson", "rate": "3000 /s"})"));
  const Ran table = draftline("simulate s.json");
  CHECK(table.code == 0);
  CHECK(contains(table.out, "warning: the load exceeds the capacity"));
  const Json point = Json::parse(draftline("simulate s.json --json").out);
  CHECK(point.at("diverges") == true);
  REQUIRE(point.at("warnings").size() == 1);
  CHECK(starts_with(point.at("warnings")[0].get<std::string>(), "the load exceeds the capacity (utilization "));
}

TEST_CASE("of several points each says whether its own queue grows") {
  const Program draftline;
  draftline.write("s.json", scenario(R"({"process": "poisson", "rate": ["2 /s", "3000 /s", "4000 /s"]})"));
  const std::string table = draftline("simulate s.json").out;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (starts_with(line, "eagle3")) CHECK(contains(line, "grows") == contains(line, "000 /s"));
  }
  CHECK(contains(table, "warning: in 2 of 3 rows the load exceeds the capacity: the queue grows,"));
  const Json all = Json::parse(draftline("simulate s.json --json").out).at("results");
  for (const Json& point : all) CHECK(point.at("warnings").size() == (point.at("diverges") == true ? 1 : 0));
  CHECK(all[0].at("diverges") == false);
  CHECK(all[2].at("diverges") == true);
  draftline.write("s.json", scenario(kPoisson));
  CHECK(!contains(draftline("simulate s.json").out, "queue"));  // no column where nothing is to be told
}

// A sweep to which `signal` is sent as soon as some points are written. `told`: what the program is told of its signals
// by who starts it; whoever started the tests may have told them to ignore some.
static Ran interrupted(const Program& draftline, const std::string& signal,
                       const std::string& told = "env --default-signal") {
  std::string rates;
  for (int i = 1; i <= 1500; ++i) rates += (i == 1 ? "\"" : ", \"") + std::to_string(i) + " /s\"";
  draftline.write("s.json", scenario(R"({"process": "poisson", "rate": [)" + rates + "]}"));
  // `kill -0`: should the program end by itself, so does the loop.
  draftline.write("interrupt.sh", told + " \"$1\" simulate s.json --json > out 2> err &\n" +
                                      "while [ ! -s out ] && kill -0 $!; do sleep 0.02; done\nkill -" + signal +
                                      " $!\nwait $!\n");
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  const int status =
      std::system(("cd '" + folder + "' && sh interrupt.sh '" DRAFTLINE_PROGRAM "' 2> /dev/null").c_str());
  return {WEXITSTATUS(status), draftline.read("out"), draftline.read("err")};
}

TEST_CASE("Ctrl-C, and what ends a session or a job, keep what is finished and say how to go on") {
  const Program draftline;
  const auto [signal, code] = GENERATE(std::pair{"INT", 130}, std::pair{"TERM", 143}, std::pair{"HUP", 129});
  const Ran r = interrupted(draftline, signal);
  REQUIRE(r.code == code);
  CHECK(contains(r.err, "of 1500 points; continue with --from "));
  const Json d = Json::parse(r.out);
  CHECK(d.at("results").size() > 0);
  CHECK(d.at("results").size() < 1500);
}

TEST_CASE("a signal that we were told to ignore is ignored", "[once]") {
  const Program draftline;
  const Ran r = interrupted(draftline, "HUP", "env --ignore-signal=HUP");
  CHECK(r.code == 0);
  CHECK(Json::parse(r.out).at("results").size() == 1500);
}

TEST_CASE("no title of a CSV stands twice, whatever the scenario varies") {
  const Program draftline;
  draftline.write("s.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
      "method": {"name": "autoregressive"}, "replicas": [1, 2], "routing": ["round_robin", "least_loaded"],
      "workload": {"arrivals": {"process": "poisson", "rate": ["4 /s", "8 /s"]}, "requests": [20, 30], "warm_up": [0, 2]},
      "scheduler": {"max_num_seqs": [8, 16], "kv_blocks": [2000, 3000], "block_size": [16, 32]}})");
  const std::string csv = draftline("simulate s.json --csv").out;
  std::istringstream titles(csv.substr(0, csv.find('\n')));
  std::set<std::string> seen;
  for (std::string title; std::getline(titles, title, ',');) {
    INFO(title);
    CHECK(seen.insert(title).second);
  }
  for (const char* title : {"requests", "replicas", "max_num_seqs", "warm_up"}) CHECK(seen.contains(title));
}

TEST_CASE("what simulate, plan and advise can't use is exit code 2 with its place") {
  const Program draftline;
  draftline.write("plain.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
                                    "method": {"name": "autoregressive"}})");
  draftline.write("load.json", scenario(kPoisson));
  draftline.write("closed.json",
                  scenario(R"({"process": "closed", "concurrency": 4})", R"("slo": {"ttft_p99": "1 s"})"));
  draftline.write("lists.json", scenario(kPoisson, R"("slo": {"ttft_p99": "1 s"}, "replicas": [1, 2])"));
  draftline.write("price.json", scenario(kPoisson, R"("slo": {"ttft_p99": "1 s"}, "prices": {"l40s": 1})"));
  draftline.write("trace.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n1,5,0\n");
  draftline.write("trace.json", scenario(R"({"trace": "trace.csv"})"));
  draftline.write("large.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n1,9000000,5\n");
  draftline.write("large.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
     "method": {"name": "autoregressive"}, "workload": {"arrivals": {"trace": "large.csv"}}})");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"simulate plain.json", "plain.json#: has no \"workload\""},
      {"run load.json", "load.json#: has a \"workload\""},
      {"plan load.json", "load.json#: \"slo\" is required"},
      {"plan closed.json", "closed.json#/workload: a plan requires arrivals with a rate"},
      {"plan lists.json", "lists.json#/replicas: a plan finds the number of replicas: remove the list"},
      {"plan price.json", "price.json#/prices: lacks the price of h100-sxm"},
      {"advise plain.json", "plain.json#: contains no speculative method"},
      {"simulate trace.json", "trace.csv:3: has an output of 0 tokens"},
      {"simulate large.json", "large.csv:3: a request of 9000000 + 5 tokens does not fit the KV pool"},
      {"simulate load.json --requests r.txt", "r.txt: records must be .csv or .jsonl"}};
  for (const auto& [arguments, message] : cases) {
    const Ran r = draftline(arguments);
    INFO(arguments << ": " << r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(contains(r.err, message));
  }
}

TEST_CASE("where nothing can run every verb exits with 2, and a plan without an option that meets its targets with 1") {
  const Program draftline;
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})",
                    large = R"({"device": "h100-sxm", "transformer": "llama-3.3-70b", "engine": "vllm", "method": )" +
                            eagle;
  const std::string load =
      R"(, "slo": {"tpot_p99": "1 s"}, "workload": {"arrivals": )" + kPoisson + R"(, "requests": 10})";
  draftline.write("large.json", large + "}");
  draftline.write("served.json", large + load + "}");
  for (const char* asked : {"run large.json", "simulate served.json", "advise large.json", "plan served.json"})
    for (const char* format : {"", " --json"}) {
      const Ran r = draftline(asked + std::string(format));
      INFO(asked << format << ": " << r.err);
      CHECK(r.code == 2);
      CHECK(contains(r.err, "71.3 GiB"));  // memory, as the reason
    }
  const Json advice = Json::parse(draftline("advise large.json --json").out);
  CHECK(advice.at("results")[0].contains("skipped"));

  draftline.write("s.json", scenario(kPoisson, R"("slo": {"tpot_p99": "1 us"})"));
  const Ran text = draftline("plan s.json"), json = draftline("plan s.json --json"),
            csv = draftline("plan s.json --csv");
  for (const Ran& r : {text, json, csv}) {
    CHECK(r.code == 1);
    CHECK(r.err.empty());
  }
  CHECK(starts_with(text.out, "No option meets the targets.\n"));
  CHECK(Json::parse(json.out).at("recommended").is_null());
  CHECK(contains(csv.out, "even without load tpot_p99"));
}

TEST_CASE("plan recommends the cheapest fleet that meets the targets, and says why the others lose") {
  const Program draftline;
  const std::string load_of = R"({"process": "poisson", "rate": "40 /s"})", methods = R"([{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}])";
  draftline.write("s.json", scenario(load_of, R"("slo": {"ttft_p99": "300 ms", "tpot_p99": "5 ms"})", methods));
  const Ran r = draftline("plan s.json --json --headroom 0");
  REQUIRE(r.code == 0);
  const Json d = Json::parse(r.out);
  CHECK(d.at("recommended") == 0);
  const Json& best = d.at("results")[0];
  CHECK(best.at("inputs").at("method") == "eagle3");
  CHECK(best.at("meets_targets") == true);
  CHECK(best.at("tpot_p99").at("value").get<double>() <= 0.005);
  CHECK(best.at("capacity").at("value").get<double>() * best.at("replicas").get<int>() >= 40);
  CHECK(d.at("results")[1].at("meets_targets") == false);
  CHECK(contains(d.at("results")[1].at("why").get<std::string>(), "even without load tpot_p99"));
  CHECK(d.at("replications") == 3);
  CHECK(best.at("recommended_in") == 3);
  const double load = 40, headroom = best.at("headroom").at("value");
  CHECK(best.at("fleet_capacity").at("value").get<double>() / load - 1 == Approx(headroom));
  CHECK(best.at("capacity").at("value").get<double>() * best.at("replicas").get<int>() / load - 1 == Approx(headroom));
  CHECK(headroom > 0);
  CHECK(best.at("cost_with_spare").at("value").get<double>() == best.at("cost").at("value").get<double>() + 1);
  CHECK(best.at("e2e_mean").at("low").get<double>() < best.at("e2e_mean").at("value").get<double>());
  const std::string text = draftline("plan s.json").out;
  CHECK(starts_with(text, "Recommended: "));
  CHECK(contains(text, " headroom). With a spare replica (N + 1): "));
  CHECK(contains(
      text, "3 simulations of each option meet the targets, and each simulation alone recommends the same option."));
  CHECK(contains(text, "Pareto"));
  // Whole nodes of eight, and what a million tokens of them cost.
  draftline.write("nodes.json",
                  scenario(load_of, R"("slo": {"ttft_p99": "300 ms", "tpot_p99": "5 ms"}, "replications": 1,
    "prices": {"h100-sxm": 2}, "devices_per_node": 8)",
                           methods));
  const Json whole = Json::parse(draftline("plan nodes.json --json").out).at("results")[0];
  CHECK(whole.at("nodes") == 1);
  CHECK(whole.at("cost").at("value") == 16);
  CHECK(whole.at("cost_with_spare").at("value") == 16);  // there is room in the node
  CHECK(whole.at("cost_per_million_tokens").at("value").get<double>() ==
        Approx(16.0 / 3600 / whole.at("throughput").at("value").get<double>() * 1e6));
  CHECK(contains(draftline("plan nodes.json").out, "(1 whole node); 16.00 per hour."));
  // one device fewer does not do: the same fleet, simulated
  const int replicas = best.at("replicas");
  if (replicas > 1) {
    draftline.write("fewer.json",
                    scenario(load_of, R"("slo": {"ttft_p99": "300 ms", "tpot_p99": "5 ms"}, "replicas": )" +
                                          std::to_string(replicas - 1) + R"(, "replications": 3)"));
    const Json run = Json::parse(draftline("simulate fewer.json --json").out);
    CHECK(run.at("goodput").at("value") < run.at("throughput").at("value").get<double>() / 60);  // some misses
  }
}

TEST_CASE("advise answers what run and simulate show") {
  const Program draftline;
  const std::string head = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "method": )",
                    method = R"({"name": "eagle3", "draft_length": 8, "acceptance": {"rate": 0.7}})";
  draftline.write("s.json", head + method + "}");
  const Ran r = draftline("advise s.json --json");
  REQUIRE(r.code == 0);
  const Json a = Json::parse(r.out).at("results")[0];
  const int pays = a.at("pays_to_batch");
  REQUIRE(pays > 1);
  REQUIRE(pays < a.at("largest_batch").get<int>());
  draftline.write(
      "r.json", head + method + R"(, "batch_size": [)" + std::to_string(pays) + ", " + std::to_string(pays + 1) + "]}");
  const Json run = Json::parse(draftline("run r.json --json").out).at("results");
  CHECK(run[0].at("speedup_with_prefill").at("value").get<double>() >= 1);
  CHECK(run[1].at("speedup_with_prefill").at("value").get<double>() < 1);
  for (const Json& b : a.at("batches")) {
    double losses = 1;
    for (const auto& [part, share] : b.at("losses").items()) losses += share.at("value").get<double>();
    CHECK(losses == Approx(b.at("break_even_acceptance_length").at("value").get<double>()).epsilon(0.02));
    const double speedup = b.at("speedup").at("value"), has = b.at("acceptance_length").at("value");
    CHECK(has / b.at("break_even_acceptance_length").at("value").get<double>() == Approx(speedup));
  }
  const Json best = a.at("best_draft_lengths")[0];
  draftline.write("k.json", head + R"({"name": "eagle3", "draft_length": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],
                                       "acceptance": {"rate": 0.7}}})");
  const Json by_length = Json::parse(draftline("run k.json --json").out).at("results");
  double most = 0;
  for (const Json& point : by_length) most = std::max(most, point.at("speedup_with_prefill").at("value").get<double>());
  CHECK(best.at("speedup").at("value").get<double>() == Approx(most));
  CHECK(contains(draftline("advise s.json --no-load").out, "Batch: it pays up to batch " + std::to_string(pays)));

  // A load is found whatever is left out as warm-up: the idle server that the search starts from serves fewer.
  const std::string load = R"(, "workload": {"arrivals": {"process": "poisson", "rate": "2 /s"}, "requests": 600)";
  draftline.write("w.json", head + method + load + R"(, "warm_up": 30}})");
  const Json warm = Json::parse(draftline("advise w.json --json").out).at("results")[0];
  CHECK(warm.at("rate").at("pays_to").at("value").is_number());
}

}  // namespace draftline
