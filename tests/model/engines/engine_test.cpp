// SPDX-License-Identifier: Apache-2.0
// Engine profiles: which row an op gets, what a profile must say, and what the profiles in data/ say.
#include "model/engines/engine.h"

#include <filesystem>
#include <set>

#include "model/devices/device.h"
#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

const std::filesystem::path kEngines = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "engines";

Engine engine_of(const std::string& text) {
  const Document d = Document::from_text(text, "engine.json");
  Engine e = read_engine(d.root());
  d.finish();
  return e;
}

std::string mistakes_of_profile(const std::string& text) {
  return mistake_of([&] { engine_of(text); });
}

std::string profile(const std::string& more) {
  return R"({"name": "a", "version": "1", "source": "s", "locator": "l")" + more + "}";
}

}  // namespace

TEST_CASE("an op gets the most specific row of its engine") {
  Engine e;
  e.ops["attention"].launches = 3;
  e.ops["attention.verify"].launches = 8;
  e.ops["draft/attention"].launches = 27;
  CHECK(e.cost_of("attention.verify").launches == 8);
  CHECK(e.cost_of("attention.prefill").launches == 3);
  CHECK(e.cost_of("attention.prefill.latent").launches == 3);
  CHECK(e.cost_of("linear.int8") == OpCost{});
  CHECK(e.cost_of("attention.verify", true).launches == 27);  // the drafter's code, even where it is less specific
  CHECK(e.cost_of("linear", true) == OpCost{});
}

TEST_CASE("grouped queries cost what repeating their keys costs") {
  OpCost c;
  c.launches = 1, c.group_launches = 2, c.cache_traffic = 2, c.group_traffic = 2;
  // 32 heads on 8: K and V are written 4 times and read 1 + 4 - 1 times more: 2 * 4, beside the 2 of the cat
  CHECK(c.of_heads(32, 8).launches == 3);
  CHECK(c.of_heads(32, 8).cache_traffic == 10);
  CHECK(c.of_heads(32, 32).launches == 1);
  CHECK(c.of_heads(32, 32).cache_traffic == 2);
}

TEST_CASE("a profile is read with units and knows which of its values are guesses") {
  const Engine e = engine_of(profile(R"(,
    "graphs": {"value": true, "kind": "default", "source": "s", "locator": "l"},
    "issue": {"value": "8 us", "kind": "guess", "because": "why"},
    "step": {"value": "1 ms", "kind": "measured", "source": "s", "locator": "l"},
    "step_speculating": {"value": "2 ms", "kind": "guess", "because": "why"},
    "graph_sizes": {"value": [1, 2, 8], "kind": "default", "source": "s", "locator": "l"},
    "ops": {"embed": {"launches": 15, "waits": 1, "kind": "derived", "source": "s", "locator": "l"},
            "draft/rms_norm": {"launches": 1, "kind": "guess", "because": "why"}})"));
  CHECK(e.graphs);
  CHECK(e.issue.value == Approx(8e-6));
  CHECK(e.step_speculating.value == Approx(2e-3));
  CHECK(e.graph_sizes == std::vector<int>{1, 2, 8});
  CHECK(e.cost_of("embed").launches == 15);
  CHECK(e.cost_of("embed").waits == 1);
  CHECK(e.guesses == std::vector<std::string>{"issue", "step_speculating", "ops/draft/rms_norm"});
}

TEST_CASE(
    "a fitted profile says what a layer and a draft pass cost, a share of the bandwidth, and intervals for people") {
  const Engine e = engine_of(profile(R"(,
    "layer": {"value": "2 us", "low": "1 us", "high": "4 us", "kind": "calibrated", "source": "s", "locator": "l"},
    "draft_pass_exposed": {"value": "0.1 ms", "kind": "guess", "because": "why"},
    "bandwidth_share": {"value": 0.96, "low": 0.9, "high": 1.02, "kind": "calibrated", "source": "s", "locator": "l"},
    "ops": {})"));
  CHECK(e.layer.value == Approx(2e-6));
  CHECK(e.draft_pass_exposed.value == Approx(1e-4));
  CHECK(e.bandwidth_share == 0.96);
  CHECK(engine_of(profile(R"(, "ops": {})")).bandwidth_share == 1);
  CHECK(
      mistakes_of_profile(profile(R"(, "ops": {}, "bandwidth_share": {"value": 0, "kind": "guess", "because": "why"})"))
          .find("engine.json#/bandwidth_share/value: ") != std::string::npos);
}

TEST_CASE("a profile says what its scheduler does by card, how prompts are launched, and what it drafts") {
  const Engine e = engine_of(profile(R"(,
    "prompt_graphs": {"value": 512, "kind": "default", "source": "s", "locator": "l"},
    "chain": {"value": 3, "kind": "guess", "because": "why"},
    "shards_drafts": {"value": true, "kind": "default", "source": "s", "locator": "l"},
    "layer_tree": {"value": "25 us", "kind": "calibrated", "source": "s", "locator": "l"},
    "layer_rows": {"value": "9 us", "kind": "calibrated", "source": "s", "locator": "l"},
    "scheduler": {"kind": "default", "source": "s", "locator": "l", "prompts": "apart", "cards": [
      {"compute_capability": "8.0", "max_num_seqs": 128},
      {"memory": "70 GiB", "max_num_seqs": 1024, "max_num_seqs_speculating": 48, "max_num_batched_tokens": 8192},
      {"max_num_seqs": 256}]},
    "ops": {"expert_mlp": {"fixed": "9 us", "kind": "guess", "because": "why"}})"));
  CHECK(e.chain == 3);
  CHECK(e.shards_drafts);
  CHECK(e.layer_tree.value == Approx(25e-6));
  CHECK(e.layer_rows->value == Approx(9e-6));
  CHECK_FALSE(engine_of(profile(R"(, "ops": {})")).layer_rows);
  CHECK(mistakes_of_profile(profile(R"(, "ops": {}, "layer": {"value": "-1 us", "kind": "guess", "because": "why"})"))
            .find("engine.json#/layer/value: ") != std::string::npos);
  CHECK(
      mistakes_of_profile(profile(R"(, "ops": {}, "launch_overlap": {"value": 2, "kind": "guess", "because": "why"})"))
          .find("engine.json#/launch_overlap/value: ") != std::string::npos);
  CHECK(e.cost_of("expert_mlp").fixed->value == Approx(9e-6));
  CHECK(e.scheduler.prompts_apart == true);
  constexpr double kGiB = 1 << 30;
  const auto limits_on = [&](double memory, const char* capability, const char* file = "any") {
    Device d;
    d.name = file;
    d.memory = Bytes{memory};
    d.links.compute_capability = capability;
    return e.scheduler.on(d);
  };
  CHECK(limits_on(80 * kGiB, "9.0").max_num_seqs == 1024);
  CHECK(limits_on(80 * kGiB, "9.0").max_num_seqs_speculating == 48);
  CHECK(limits_on(80 * kGiB, "8.0").max_num_seqs == 128);
  CHECK(limits_on(80 * kGiB, "8.9", "a100-sxm").max_num_seqs == 1024);  // a name is no property of a device
  CHECK(limits_on(80 * kGiB, "").max_num_seqs == 1024);
  CHECK(limits_on(24 * kGiB, "8.9").max_num_seqs == 256);
  CHECK(!limits_on(24 * kGiB, "8.9").max_num_batched_tokens);
  Engine graphs = e;
  graphs.graphs = true;
  CHECK(for_prompt(graphs, 512).step_mode().target == Graphs::full);
  CHECK(for_prompt(graphs, 513).step_mode().target == Graphs::none);
  graphs.mode = StepMode{.target = Graphs::full, .prompts = Graphs::piecewise};
  CHECK(for_prompt(graphs, 512).step_mode().target == Graphs::piecewise);
  CHECK(contains(
      mistakes_of_profile(profile(R"(, "ops": {}, "scheduler": {"kind": "guess", "because": "why", "prompts": "alone",
    "cards": [{"max_num_seqs": 0, "gpu": "h100"}]})")),
      "engine.json#/scheduler/cards/0/gpu"));
}

TEST_CASE("launches overlap by a share that a profile may exclude on devices of a compute capability") {
  const Engine e = engine_of(profile(
      R"(, "ops": {}, "launch_overlap": {"value": 0.25, "not_on": ["10", "8.9"], "kind": "guess", "because": "why"})"));
  CHECK(e.launch_overlap_on("9.0") == 0.25);
  CHECK(e.launch_overlap_on("8.0") == 0.25);
  CHECK(e.launch_overlap_on("") == 0.25);
  for (const char* without : {"10.0", "10.3", "8.9"}) CHECK(e.launch_overlap_on(without) == 0);
  CHECK(
      contains(mistakes_of_profile(profile(R"(, "ops": {}, "token": {"value": "1 us", "not_on": ["10"], "kind": "guess",
    "because": "why"})")),
               "engine.json#/token/not_on"));
}

TEST_CASE("the largest graph is chosen: sizes are left out, or continue in the same steps") {
  Engine e;
  e.graph_sizes = {1, 2, 4, 8, 16, 24};
  e.prompt_graphs = 24;
  CHECK(with_largest_graph(e, 8).graph_sizes == std::vector{1, 2, 4, 8});
  CHECK(with_largest_graph(e, 8).prompt_graphs == 8);
  CHECK(with_largest_graph(e, 41).graph_sizes == std::vector{1, 2, 4, 8, 16, 24, 32, 40});
  CHECK(with_largest_graph(e, 41).options.largest_graph == 41);
  CHECK(with_largest_graph(e, 41).prompt_graphs == 40);
  CHECK(with_largest_graph({}, 64).prompt_graphs == std::nullopt);
  CHECK(with_largest_graph({}, 64).graph_sizes.empty());  // graphs of all sizes
}

TEST_CASE("a profile has intervals of what it leaves unmodelled, of the front end and of terms with a prior") {
  const std::string why = R"(, "kind": "guess", "because": "why"})";
  const Engine e = engine_of(profile(R"(, "ops": {}, "step_error": {"low": 0.9, "high": 1.2)" + why +
                                     R"(, "prompt_error": {"low": 1, "high": 3)" + why +
                                     R"(, "front_end": {"value": "9 ms", "low": "4 ms", "high": "20 ms")" + why));
  CHECK(e.step_error.low == 0.9);
  CHECK(e.step_error.high == 1.2);
  CHECK(e.prompt_error.high == 3);
  REQUIRE(e.intervals.contains("front_end"));
  CHECK(e.intervals.at("front_end").high == 0.02);
  CHECK(mistakes_of_profile(
            profile(R"(, "ops": {}, "front_end": {"value": "1 ms", "low": "4 ms", "high": "20 ms")" + why))
            .find("engine.json#/front_end/value: is not between") != std::string::npos);
  CHECK(engine_of(profile(R"(, "ops": {})")).step_error.high == 1);
  CHECK(mistakes_of_profile(profile(R"(, "ops": {}, "step_error": {"low": 1.1, "high": 1.2)" + why))
            .find("engine.json#/step_error/low") != std::string::npos);
  CHECK(mistakes_of_profile(profile(R"(, "ops": {}, "prompt_error": {"low": 0.9)" + why)).find("\"high\"") !=
        std::string::npos);
}

TEST_CASE("a profile with mistakes names them all") {
  CHECK(mistakes_of_profile(profile(R"(, "ops": {}, "isue": 1)")).find("isue") != std::string::npos);
  const std::string all = mistakes_of_profile(profile(R"(,
    "issue": {"value": "-8 us", "kind": "measured", "source": "s", "locator": "l"},
    "sync": {"value": "1 us", "kind": "measured"},
    "step": {"value": "1 us", "kind": "guess"},
    "token": {"value": "1 us", "kind": "gues", "because": "why"},
    "graph_sizes": {"value": [4, 2], "kind": "default", "source": "s", "locator": "l"},
    "ops": {"atention": {"launches": 1, "kind": "guess", "because": "why"},
            "add": {"launches": -1, "kind": "guess", "because": "why"}})"));
  INFO(all);
  for (const char* part :
       {"engine.json#/issue/value", "engine.json#/sync", "\"source\"", "engine.json#/step", "\"because\"",
        "engine.json#/token/kind", "did you mean \"guess\"", "must be above the number before it",
        "did you mean \"attention\"", "engine.json#/ops/add/launches"})
    CHECK(all.find(part) != std::string::npos);
}

TEST_CASE("speculation can't make an engine's step shorter") {
  CHECK(mistakes_of_profile(profile(R"(, "step": {"value": "2 ms", "kind": "guess", "because": "why"},
                             "step_speculating": {"value": "1 ms", "kind": "guess", "because": "why"}, "ops": {})"))
            .find("is below step") != std::string::npos);
}

TEST_CASE("versions are ordered number by number") {
  CHECK(version_less("0.9", "0.10"));
  CHECK_FALSE(version_less("0.10", "0.9"));
  CHECK(version_less("0.10", "0.10.1"));
  CHECK_FALSE(version_less("4.51", "4.51"));
}

TEST_CASE("every profile in data is named for its engine and version, and eager ones say what a launch costs") {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kEngines)) {
    INFO(file.path().filename().string());
    const Engine e = read_file(file.path(), read_engine);
    CHECK(file.path().stem().string() == e.name + "-" + e.version);
    CHECK(e.issue.value > 0);
    CHECK((e.graphs ? e.graph_launch.value > 0 : e.graph_sizes.empty()));
    names.insert(e.name);
  }
  CHECK(names == std::set<std::string>{"draftline", "hf-eager", "llama.cpp", "llama.cpp-cpu", "sglang", "tensorrt-llm",
                                       "tgi", "vllm"});
}

TEST_CASE("an eager layer launches the kernels that were counted in Hugging Face's code") {
  // Counted by dispatch on tiny networks, a flash kernel for attention: 42 a layer with grouped queries, 58 with
  // QK-norm, 40 without groups; a masked pass of several rows 4 more.
  const Engine e = read_file(kEngines / "hf-eager-4.51.json", read_engine);
  const auto layer = [&](const char* attention, int kv_heads, bool qk_norm) {
    double n = 2 * e.cost_of("add_rms_norm").launches + 4 * e.cost_of("linear").launches +
               e.cost_of("rope_append").launches + e.cost_of(attention).of_heads(32, kv_heads).launches +
               e.cost_of("silu_mul").launches;
    if (qk_norm) n += 2 * e.cost_of("rms_norm").launches;
    return n;
  };
  CHECK(layer("attention", 8, false) == 42);
  CHECK(layer("attention", 8, true) == 58);
  CHECK(layer("attention", 32, false) == 40);
  CHECK(layer("attention.verify", 8, false) == 46);
  // Falcon: two layer norms, a fused linear into q, k and v
  CHECK(2 * e.cost_of("layer_norm").launches + 4 * e.cost_of("linear").launches + e.cost_of("rope_append").launches +
            e.cost_of("attention").of_heads(128, 8).launches + e.cost_of("gelu").launches +
            2 * e.cost_of("add").launches ==
        26);
}
