// SPDX-License-Identifier: Apache-2.0
// How a scenario is read.
#include "inputs/scenario.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static std::string mistakes(const std::string& json) { return ScenarioText(json).mistakes(); }
static std::string eagle(const std::string& more) { return with_method(R"({"name": "eagle3", )" + more + "}"); }

TEST_CASE("a scenario of the least has defaults") {
  const auto sweep = ScenarioText(with("")).sweep();
  const Scenario& s = sweep->scenario();
  CHECK(s.points() == 1);
  CHECK(precision_at(s, {}).name == "bf16");
  CHECK(s.parallel == std::vector{Parallelism{}});
  CHECK(s.batch_sizes == std::vector{1});
  CHECK(s.prompt_tokens == std::vector{512});
  CHECK(s.output_tokens == std::vector{256});
}

TEST_CASE("an engine that verifies chains alone gets a chain, unless the scenario says otherwise") {
  std::vector<std::string> notes;
  const auto method = [&](const std::string& engine, const std::string& more) {
    const ScenarioText text(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": )" + engine +
                            R"(, "method": {"name": "eagle3")" + more + R"(, "acceptance": {"mean_length": 2.5}}})");
    const auto sweep = text.sweep();
    const std::vector<std::string>& more_notes = sweep->scenario().document.notes();
    notes.insert(notes.end(), more_notes.begin(), more_notes.end());
    return sweep->scenario().method(0, 0).spec;
  };
  CHECK(method(R"("vllm")", "").draft_length() == 3);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes.front(), "#/method: vllm 0.24 verifies only chains, so eagle3 drafts 3 tokens"));
  CHECK(method(R"("vllm")", R"(, "draft_length": 5)").draft_length() == 5);
  CHECK(!method(R"("vllm")", R"(, "tree": "default")").draft_length());
  CHECK(!method(R"("sglang")", "").draft_length());
  CHECK(!method(R"(["sglang", "vllm"])", "").draft_length());  // each engine by itself
  CHECK(method(R"(["vllm", "sglang"])", "").draft_length() == 3);
  CHECK(notes.size() == 3);
}

TEST_CASE("options of a server are words of its engine, and lists of them are alternatives") {
  const auto options = [](const std::string& engine, const std::string& more, const std::string& method) {
    return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": )" + engine + ", " + more +
           R"(, "method": )" + method + "}";
  };
  const std::string plain = R"({"name": "autoregressive"})",
                    ngram = R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"rate": 0.5}})";
  const auto sweep =
      ScenarioText(options(R"(["vllm-0.19", "vllm-0.10"])",
                           R"("cudagraph_mode": ["PIECEWISE", "NONE"], "async_scheduling": false)", plain))
          .sweep();
  const auto& engines = sweep->scenario().engines;
  REQUIRE(engines.size() == 4);
  CHECK(engines[1]->version == "0.19");
  CHECK(engines[1]->options.cudagraph_mode == CudagraphMode{});
  CHECK(engines[2]->options.overlap == false);
  const auto wrong = [&](const std::string& engine, const std::string& more, const std::string& method) {
    return ScenarioText(options(engine, more, method)).mistakes();
  };
  CHECK(starts_with(wrong(R"("sglang-0.5")", R"("enforce_eager": true)", plain),
                    "#/enforce_eager: is an option of vLLM, which sglang 0.5 does not have"));
  CHECK(starts_with(wrong(R"("vllm-0.19")", R"("disable_overlap_schedule": true)", plain),
                    "#/disable_overlap_schedule: is an option of SGLang"));
  CHECK(starts_with(wrong(R"("vllm-0.19")", R"("cudagraph_mode": "HALF")", plain), "#/cudagraph_mode"));
  CHECK(starts_with(wrong(R"("vllm-0.19")", R"("enforce_eager": true, "cudagraph_mode": "FULL")", plain),
                    "#/cudagraph_mode: \"enforce_eager\" turns graphs off"));
  CHECK(starts_with(wrong(R"("vllm-0.19")", R"("async_scheduling": true)", ngram),
                    "#/async_scheduling: vllm 0.19 does not overlap scheduling with prompt_lookup"));
  CHECK(wrong(R"("vllm-0.19")", R"("async_scheduling": true)", plain) == "none");
  const auto wide =
      ScenarioText(options(R"("vllm-0.19")", R"("max_cudagraph_capture_size": [256, 1024])", plain)).sweep();
  REQUIRE(wide->scenario().engines.size() == 2);
  CHECK(wide->scenario().engines[0]->graph_sizes.back() == 256);
  CHECK(wide->scenario().engines[1]->graph_sizes.back() == 1024);
  CHECK(wide->scenario().engines[1]->prompt_graphs == 1024);
  CHECK(starts_with(wrong(R"("sglang-0.5")", R"("max_cudagraph_capture_size": 512)", plain),
                    "#/max_cudagraph_capture_size: is an option of vLLM"));
  CHECK(starts_with(wrong(R"("vllm-0.19")", R"("enforce_eager": true, "max_cudagraph_capture_size": 512)", plain),
                    "#/max_cudagraph_capture_size: \"enforce_eager\" turns graphs off"));
  const auto slow = ScenarioText(options(R"("vllm-0.19")", R"("host_speed": [1, 0.5])", plain)).sweep();
  const auto& hosts = slow->scenario().engines;
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[1]->issue == 2.0 * hosts[0]->issue);
  CHECK(hosts[1]->step_serial == 2.0 * hosts[0]->step_serial);
  CHECK(hosts[1]->layer == hosts[0]->layer);
  CHECK(starts_with(wrong(R"("vllm-0.10")", R"("async_scheduling": true)", plain),
                    "#/async_scheduling: vllm 0.10 does not overlap scheduling: leave"));
}

TEST_CASE("an engine that divides draft networks does so where the scenario is silent and the heads allow it") {
  const auto shards = [](const std::string& engine, const std::string& ranks, const std::string& draft) {
    const ScenarioText text(R"({"device": "h100-sxm", "transformer": "llama-2-7b", "engine": ")" + engine +
                            R"(", "tensor_parallel": )" + ranks +
                            R"(, "method": {"name": "draft_model", "draft_length": 3, "acceptance": {"rate": 0.5},
                                "draft": )" +
                            draft + "}}");
    const auto sweep = text.sweep();
    const Outcome last = sweep->at(sweep->scenario().points() - 1);
    return std::get<Prediction>(last.result).memory.draft_weights;
  };
  CHECK(shards("vllm", "[1, 8]", R"("llama-2-7b")") < 0.2 * shards("vllm", "1", R"("llama-2-7b")"));
  CHECK(shards("vllm", "8", R"("llama-68m")") == shards("vllm", "1", R"("llama-68m")"));  // 12 heads
  const Bytes whole = shards("sglang", "8", R"("llama-2-7b")");
  CHECK(shards("vllm", "8", R"("llama-2-7b", "shard_draft": false)") == whole);
  CHECK(shards("vllm", "8", R"("llama-2-7b")") < 0.2 * whole);
}

TEST_CASE("a run is the product of all lists, the batch turns fastest and the device slowest") {
  const ScenarioText text(
      R"({"device": ["h100-sxm", "h200"], "tensor_parallel": [1, 2], "transformer": ["llama-3.1-8b", "llama-2-7b"],
    "precision": ["bf16", "int8"], "engine": ["vllm", "draftline"], "batch_size": [1, 2, 3], "prompt_tokens": [64, 128],
    "output_tokens": [8, 16], "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 2], "acceptance": {"rate": [0.5, 0.6]}}]})");
  const auto sweep = text.sweep();
  const Scenario& s = sweep->scenario();
  REQUIRE(s.methods.size() == 5);
  REQUIRE(s.points() == 2 * 2 * 2 * 2 * 2 * 5 * 2 * 2 * 3);
  const Point second = point_at(s, 1), last = point_at(s, s.points() - 1), next_output = point_at(s, 3);
  CHECK(second.batch == 1);
  CHECK((next_output.batch == 0 && next_output.output == 1));
  CHECK((last.device == 1 && last.parallel == 1 && last.transformer == 1 && last.precision == 1 && last.engine == 1));
  CHECK((last.method == 4 && last.prompt == 1 && last.output == 1 && last.batch == 2));
  CHECK(point_at(s, s.points() / 2).device == 1);
  std::set<std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < s.points(); ++i) {
    const Point p = point_at(s, i);
    all.insert({p.device, p.parallel, p.transformer, p.precision, p.engine, p.method, p.prompt, p.output, p.batch});
  }
  CHECK(all.size() == s.points());
}

TEST_CASE("lists inside a method multiply, the last turns fastest, and each choice knows what was chosen") {
  const auto sweep = ScenarioText(eagle(R"("draft_length": [1, 2], "acceptance": {"rate": [0.5, 0.6]})")).sweep();
  const auto& m = sweep->scenario().methods;
  REQUIRE(m.size() == 4);
  const auto rate = [](const MethodChoice& one) {
    return std::get<Acceptance::Rate>(one.acceptance.form()).conditional;
  };
  // Keys are walked in the order of the file.
  CHECK((m[0].spec.draft_length() == 1 && rate(m[0]) == 0.5));
  CHECK((m[1].spec.draft_length() == 1 && rate(m[1]) == 0.6));
  CHECK((m[2].spec.draft_length() == 2 && rate(m[2]) == 0.5));
  CHECK(m[3].acceptance.text() == R"({"rate":0.6})");
}

TEST_CASE("rates sweep as a list of lists") {
  const auto one = ScenarioText(eagle(R"("draft_length": 2, "acceptance": {"rates": [0.5, 0.4]})")).sweep();
  CHECK(one->scenario().methods.size() == 1);
  const auto two =
      ScenarioText(eagle(R"("draft_length": 2, "acceptance": {"rates": [[0.5, 0.4], [0.9, 0.8, 0.7]]})")).sweep();
  REQUIRE(two->scenario().methods.size() == 2);
  CHECK(std::get<Acceptance::Rates>(two->scenario().methods[1].acceptance.form()).conditional ==
        std::vector{0.9, 0.8, 0.7});
  CHECK(two->scenario().methods[1].acceptance.text() == R"({"rates":[0.9,0.8,0.7]})");
}

TEST_CASE("a tree's paths are a list of lists by nature, its node counts are not") {
  const auto medusa = [](const std::string& nodes) {
    return ScenarioText(with_method(R"({"name": "medusa", "tree": {"nodes": )" + nodes +
                                    R"(}, "acceptance": {"mean_length": 1.5}})"))
        .sweep()
        ->scenario()
        .methods;
  };
  CHECK(medusa("[[0], [1], [0, 0]]").size() == 1);
  const auto two = medusa("[[[0], [1]], [[0], [0, 0]]]");
  REQUIRE(two.size() == 2);
  CHECK(two[0].spec.parameters().dump() == R"({"tree":{"nodes":[[0],[1]]}})");
  CHECK(two[1].spec.parameters().dump() == R"({"tree":{"nodes":[[0],[0,0]]}})");
  const auto counts =
      ScenarioText(eagle(R"("tree": {"top_k": 8, "passes": 3, "nodes": [6, 60]}, "acceptance": {"mean_length": 2})"))
          .sweep();
  REQUIRE(counts->scenario().methods.size() == 2);
  CHECK(counts->scenario().methods[1].spec.parameters().dump() == R"({"tree":{"nodes":60,"passes":3,"top_k":8}})");
  // and they are priced apart
  const auto step = [&](std::size_t i) { return std::get<Prediction>(counts->at(i).result).step_time; };
  CHECK(step(1) > step(0));
}

TEST_CASE("a percentile of a latency target has one text, and one target") {
  const auto why = [](const std::string& targets) {
    return ScenarioText(with(R"("slo": {)" + targets + R"(}, "workload": {"requests": 20, "arrivals":
                             {"process": "poisson", "rate": "1 /s"}, "lengths": {"prompt": 200, "output": 20}})"))
        .mistakes();
  };
  CHECK(why(R"("ttft_p95": "1 s", "ttft_p99.9": "2 s", "ttft_p9.5": "1 s", "e2e_mean": "9 s")") == "none");
  for (const char* wrong : {"p95.0", "p95.", "p9.50", "p095", "p100", "p", "p95.00000000000000001", "p9e1", "p-5"}) {
    INFO(wrong);
    CHECK(starts_with(why(R"("ttft_)" + std::string(wrong) + R"(": "1 s")"),
                      "#/slo/ttft_" + std::string(wrong) + ": unknown key"));
  }
  CHECK(why(R"("tpot_p50.00000000000001": "1 s", "tpot_p50.000000000000014": "2 s")") ==
        "#/slo/tpot_p50.000000000000014: limits the same percentile as \"tpot_p50.00000000000001\"");
}

TEST_CASE("each mistake has one message at its place") {
  struct Case {
    std::string json, message;
  };
  const Case c = GENERATE(
      Case{with(R"("batch_size": [])"), "#/batch_size: is an empty list, so that there is nothing to run"},
      Case{with(R"("device_": 1)"), "#/device_: unknown key; did you mean \"device\"?"},
      Case{with(R"("batch_size": 0)"), "#/batch_size: must be at least 1, got 0"},
      Case{with(R"("batch_size": [4, -1])"), "#/batch_size/1: must be at least 1, got -1"},
      Case{with(R"("output_tokens": 1)"), "#/output_tokens: must be at least 2, got 1"},
      Case{with(R"("precision": "bf61")"), "#/precision: unknown value \"bf61\"; did you mean \"bf16\"?"},
      Case{with(R"("tensor_parallel": [3])"),
           "#/tensor_parallel/0: tensor_parallel 3 does not divide the 32 heads of llama-3.1-8b"},
      Case{R"({"device": "l40s", "transformer": "llama-3.1-8b", "engine": "vllm", "tensor_parallel": 16,
        "method": {"name": "autoregressive"}})",
           "#/tensor_parallel: l40s has no link data for 16 devices; a device file may contain or transfer them: "
           "\"links\" (docs/recipes/your_gpu.md)"},
      Case{with_method("[]"), "#/method: is an empty list, so that there is nothing to run"},
      Case{with_method(R"({"name": "eagel3"})"), "#/method/name: unknown method \"eagel3\"; did you mean \"eagle3\"?"},
      Case{with_method(R"("eagle3")"), "#/method: must be an object, {\"name\": \"eagle3\"}"},
      Case{with(R"("tp": 2)"), "#/tp: unknown key; did you mean \"tensor_parallel\"?"},
      Case{with_method(R"({"name": "zzzzzz"})"),
           "#/method/name: unknown method \"zzzzzz\"; see `draftline list methods`"},
      Case{with_method(R"({"name": "autoregressive", "draft_length": 2})"),
           "#/method/draft_length: unknown key; known here: \"acceptance\", \"drafter_device\", \"name\""},
      Case{with_method(R"({"name": "autoregressive", "acceptance": {"rate": 0.5}})"),
           "#/method: the method drafts nothing: remove \"acceptance\""},
      Case{eagle(R"("draft_length": 2)"),
           "#/method: \"acceptance\" is required: {\"rates\": [..]}, {\"per_position\": [..]}, {\"rate\": x}, "
           "{\"mean_length\": x}, {\"accepted_share\": x}, {\"ranks\": [[..] per level]}, {\"table\": [..]} or "
           "{\"trace\": FILE}"},
      Case{eagle(R"("draft_length": 2, "acceptance": {"per_position": [0.5, 0.6]})"),
           "#/method/acceptance/per_position/1: must not be above the share of the position before it"},
      Case{eagle(R"("draft_length": 2, "acceptance": {"per_position": []})"),
           "#/method/acceptance/per_position: at least one share is needed"},
      Case{eagle(R"("draft_length": 2, "acceptance": {})"),
           "#/method/acceptance: give one of \"rates\", \"per_position\", \"rate\", \"accepted_share\", \"ranks\", "
           "\"table\", \"trace\", \"measured\" and \"mean_length\""},
      Case{eagle(R"("draft_length": 2, "acceptance": {"rate": 0.5, "mean_length": 2})"),
           "#/method/acceptance: give one of \"rates\", \"per_position\", \"rate\", \"accepted_share\", \"ranks\", "
           "\"table\", \"trace\", \"measured\" and \"mean_length\""},
      Case{eagle(R"("draft_length": 3, "acceptance": {"rates": [0.5, 0.4]})"),
           "#/method/acceptance: fewer rates (2) than drafts (3)"},
      Case{eagle(R"("draft_length": 2, "acceptance": {"mean_length": 3.5})"),
           "#/method/acceptance: \"mean_length\" exceeds the longest possible, 3: 2 drafts and a bonus token"},
      Case{eagle(R"("draft_length": 2, "acceptance": {"rate": 1.5})"),
           "#/method/acceptance/rate: must be at most 1, got 1.5"},
      Case{eagle(R"("draft_length": 2, "acceptance": {"rates": []})"),
           "#/method/acceptance/rates: at least one rate is required"},
      Case{eagle(R"("draft_length": [[], 4], "acceptance": {"rate": 0.5})"),
           "#/method/draft_length/0: is an empty list, so that there is nothing to run"},
      Case{eagle(R"("draft_length": [], "acceptance": {"rate": 0.5})"),
           "#/method/draft_length: is an empty list, so that there is nothing to run"},
      Case{eagle(R"("draft_length": 3, "tree": "default", "acceptance": {"mean_length": 2})"),
           "#/method: give \"draft_length\" (a chain) or \"tree\", not both"},
      Case{eagle(R"("tree": "default", "acceptance": {"rate": 0.5})"),
           "#/method/acceptance: one rate applies to a chain, not to a tree: give \"mean_length\""},
      Case{eagle(R"("tree": "default", "acceptance": {"rates": [0.5, 0.5]})"),
           "#/method/acceptance: rates per position apply to a chain, not to a tree: give \"mean_length\""},
      Case{eagle(R"("draft_lenght": 3, "acceptance": {"mean_length": 2})"),
           "#/method/draft_lenght: unknown key; did you mean \"draft_length\"?"},
      Case{with_method(R"({"name": "draft_model", "draft": "qwen3-0.6b", "acceptance": {"rate": 0.5}})"),
           "#/method/draft: its vocabulary has 151936 tokens, the target's 128256"},
      Case{"[]", "#: must be an object, got a list"});
  CHECK(mistakes(c.json) == c.message);
}

TEST_CASE("several mistakes come at once, in the order of reading") {
  CHECK(mistakes(R"({"device": "h100", "transformer": 7, "engine": "vllm", "method": [{"name": "autoregresive"},
    {"name": "medusa", "acceptance": {"rate": "high"}}], "batch_size": [1, 0], "batchsize": 3})") ==
        "#/device: unknown name \"h100\"; did you mean \"h100-nvl\", \"h100-pcie\" or \"h100-sxm\"?\n"
        "#/transformer: must be a text, got the number 7\n"
        "#/method/0/name: unknown method \"autoregresive\"; did you mean \"autoregressive\"?\n"
        "#/method/1/acceptance/rate: must be a number, got the text \"high\"\n"
        "#/batch_size/1: must be at least 1, got 0\n"
        "#/batchsize: unknown key; did you mean \"batch_size\"?");
  CHECK(mistakes("{}") ==
        "#: missing key \"device\"\n#: missing key \"transformer\"\n#: missing key \"engine\"\n#: missing key "
        "\"method\"");
}

TEST_CASE("files are found beside the scenario, a folder stands for its config.json, and their mistakes name them") {
  ScenarioText s(
      R"({"device": "cards/mine.json", "transformer": "net", "engine": "draftline", "method": {"name": "autoregressive"}})");
  std::filesystem::create_directories(s.folder() / "cards");
  std::filesystem::create_directories(s.folder() / "net");
  std::filesystem::copy_file(kData / "devices/h100-sxm.json", s.folder() / "cards/mine.json");
  std::filesystem::copy_file(kData / "transformers/llama-3.1-8b.json", s.folder() / "net/config.json");
  CHECK(contains(s.mistakes(), "#/transformer: unknown name \"net\""));  // a name: files have a slash or end in .json
  std::ofstream(s.folder() / "s.json")
      << R"({"device": "cards/mine.json", "transformer": "./net", "engine": "draftline", "method": {"name": "autoregressive"}})";
  const auto sweep = s.sweep();
  CHECK(sweep->scenario().devices.at(0)->name == "mine");
  CHECK(sweep->scenario().transformers.at(0)->name == "net");
  CHECK(std::holds_alternative<Prediction>(sweep->at(0).result));

  std::ofstream(s.folder() / "cards/mine.json") << R"({"title": "x", "datasheet": [{"bandwidth": "3 parsecs"}]})";
  CHECK(contains(s.mistakes(), "cards/mine.json#/datasheet/0/bandwidth: "));
  std::filesystem::remove(s.folder() / "cards/mine.json");
  CHECK(contains(s.mistakes(), "cards/mine.json"));
}

TEST_CASE("a product of more points than a run may have is refused before it is run") {
  std::string many = "[1";
  for (int i = 2; i <= 400; ++i) many += ", " + std::to_string(i);
  many += "]";
  CHECK(mistakes(with("\"batch_size\": " + many + ", \"prompt_tokens\": " + many + ", \"tensor_parallel\": " + many +
                      ", \"precision\": [\"bf16\", \"fp16\"]")) ==
        "#: the product of the lists has more than a hundred million points");
}

TEST_CASE("a scenario of which no point fits says why") {
  const std::string m = mistakes(
      R"({"device": "rtx-3060", "transformer": "llama-2-70b", "engine": "vllm", "method": {"name": "autoregressive"}, "batch_size": [1, 2]})");
  CHECK(starts_with(m, "#: no point can run; the first: needs "));
  CHECK(contains(m, "rtx-3060 has "));
  CHECK(mistakes(with(R"("prompt_tokens": 200000)")) ==
        "#: no point can run; the first: a text of 200256 tokens, llama-3.1-8b has 131072 positions");
}

TEST_CASE("two methods that differ in their acceptance alone are both read") {
  const std::string eagles = R"([{"name": "eagle3", "draft_length": 2, "acceptance": {"rate": 0.5}},
                                 {"name": "eagle3", "draft_length": 2, "acceptance": {"rate": 0.8}}])";
  CHECK(mistakes(with_method(eagles)) == "none");
}

TEST_CASE("of a prompt fewer tokens are cached than it has, and a workload says otherwise what prompts share") {
  const auto cached = [](const std::string& more) {
    return ScenarioText(with(more)).sweep()->scenario().cached_prompt_tokens;
  };
  CHECK(cached("") == 0);
  CHECK(cached(R"("cached_prompt_tokens": 511)") == 511);
  CHECK(mistakes(with(R"("cached_prompt_tokens": 512)")) ==
        "#/cached_prompt_tokens: must be less than #/prompt_tokens, 512, got 512");
  CHECK(mistakes(with(R"("cached_prompt_tokens": 600, "prompt_tokens": [700, 600])")) ==
        "#/cached_prompt_tokens: must be less than #/prompt_tokens, 600, got 600");
  CHECK(mistakes(with(R"("cached_prompt_tokens": -1)")) == "#/cached_prompt_tokens: must be at least 0, got -1");
  CHECK(mistakes(
            with(R"("cached_prompt_tokens": 5, "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}})")) ==
        "#/cached_prompt_tokens: is not allowed with a workload; give \"lengths\": {\"shared_prefix\": ..}");
}

TEST_CASE("a prefix that sequences share is cached, by whole blocks") {
  const auto read = [](const std::string& more) { return ScenarioText(with(more)).sweep()->scenario(); };
  CHECK_FALSE(read("").shared_prefix);
  CHECK_FALSE(read(R"("shared_prefix": 0)").shared_prefix);
  CHECK(read(R"("shared_prefix": 415)").cached_prompt_tokens == 400);
  CHECK(read(R"("shared_prefix": 15)").cached_prompt_tokens == 0);
  const Scenario groups = read(R"("shared_prefix": {"tokens": 400, "groups": 7}, "cached_prompt_tokens": 500)");
  CHECK(groups.cached_prompt_tokens == 500);
  CHECK(groups.shared_prefix->groups == 7);
  CHECK(mistakes(with(R"("shared_prefix": 400, "cached_prompt_tokens": 399)")) ==
        "#/cached_prompt_tokens: must be at least 400, because #/shared_prefix is cached, got 399");
  CHECK(mistakes(with(R"("shared_prefix": 600, "prompt_tokens": [700, 600])")) ==
        "#/shared_prefix: must be less than #/prompt_tokens, 600, got 600");
  CHECK(mistakes(with(R"("shared_prefix": {"tokens": 9, "group": 2})")).starts_with("#/shared_prefix/group: unknown"));
  CHECK(mistakes(with(R"("shared_prefix": 5, "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}})")) ==
        "#/shared_prefix: is not allowed with a workload; give \"lengths\": {\"shared_prefix\": ..}");
}

}  // namespace draftline
