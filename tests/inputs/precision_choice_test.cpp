// SPDX-License-Identifier: Apache-2.0
// How a scenario says in which formats a network is served.
#include "inputs/precision_choice.h"

#include "core/text_file.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static Precision precision(const std::string& value) {
  const auto sweep = ScenarioText(with(R"("precision": )" + value)).sweep();
  return precision_at(sweep->scenario(), {});
}
static std::string mistakes_of_precision(const std::string& value) {
  return ScenarioText(with(R"("precision": )" + value)).mistakes();
}

TEST_CASE("a short name is the format of the layers' weights; the old names are read") {
  CHECK(precision(R"("bf16")") == Precision(DType::bf16));
  for (const std::string name :
       {"fp32", "fp16", "fp8", "int8", "int4", "int8-w8a8", "fp8-static", "fp8-block", "awq", "nvfp4", "mxfp4"}) {
    const Precision p = precision("\"" + name + "\"");
    CHECK(p.name == name);
    CHECK(p.mlp == format_named(name)->layers);
  }
  CHECK(precision(R"("fp8")").mlp.inputs == DType::fp8);
  CHECK(!precision(R"("int8")").mlp.inputs);
  CHECK(precision(R"("int8-weight-only")").name == "int8");
  CHECK(precision(R"("modelopt-fp8")").name == "fp8-static");
}

TEST_CASE("an object has a format for each class of tensor, under our names or vLLM's") {
  const Precision p = precision(R"({"weights": "fp8", "kv_cache": "fp8", "lm_head": "fp8", "experts": "mxfp4",
      "attention": "bf16", "draft": "int4", "embedding": "fp32"})");
  CHECK(p.name == "fp8,attention:bf16,experts:mxfp4,lm_head:fp8,draft:int4,kv_cache:fp8,embedding:fp32");
  CHECK((p.mlp.weights == DType::fp8 && p.attention.weights == DType::bf16 && p.experts.weights == DType::fp4));
  CHECK((p.lm_head.inputs == DType::fp8 && p.draft.weights == DType::int4));
  CHECK((p.kv_cache == DType::fp8 && p.embedding == DType::fp32 && p.activations == DType::bf16));
  const Precision vllm = precision(
      R"({"quantization": "fp8", "kv_cache_dtype": "fp8_e4m3", "draft_quantization": "fp8", "dtype": "half"})");
  CHECK(vllm.name == "fp8,activations:fp16,draft:fp8,kv_cache:fp8");
}

TEST_CASE("what is said twice has one name") {
  CHECK(precision(R"({"weights": "fp8", "kv_cache": "bf16"})").name == precision(R"("fp8")").name);
  CHECK(precision(R"({"weights": "bf16", "draft": "bf16"})").name == precision(R"("bf16")").name);
}

TEST_CASE("a drafter in 16 bits is told, as a layer of the target's would have its format") {
  CHECK(precision(R"({"weights": "fp8", "draft": "bf16"})").name == "fp8,draft:bf16");
}

TEST_CASE("activations in another 16-bit format take what is not quantised with them") {
  const Precision p = precision(R"({"weights": "fp8", "activations": "fp16"})");
  CHECK(p.name == "fp8,activations:fp16");
  CHECK((p.activations == DType::fp16 && p.kv_cache == DType::fp16 && p.lm_head.weights == DType::fp16));
  CHECK((p.mlp.weights == DType::fp8 && p.draft.weights == DType::fp16));
}

TEST_CASE("precisions sweep as a list, and lists inside an object multiply") {
  const auto sweep =
      ScenarioText(with(R"("precision": ["bf16", {"weights": ["fp8", "int4"], "kv_cache": ["auto", "fp8"]}])")).sweep();
  const Scenario& s = sweep->scenario();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < s.points(); ++i) names.push_back(precision_at(s, point_at(s, i)).name);
  CHECK(names == std::vector<std::string>{"bf16", "fp8", "fp8,kv_cache:fp8", "int4", "int4,kv_cache:fp8"});
}

TEST_CASE("a mistake in a precision has its place") {
  CHECK(mistakes_of_precision(R"("fp9")").starts_with("#/precision: unknown value \"fp9\"; did you mean \"fp8\"?"));
  CHECK(mistakes_of_precision(R"({"weight": "fp8"})") == "#/precision/weight: unknown key; did you mean \"weights\"?");
  CHECK(mistakes_of_precision(R"({"weights": "fp8", "kv_cache": "int3"})")
            .starts_with("#/precision/kv_cache: unknown value"));
  CHECK(mistakes_of_precision(R"({"kv_cache": "fp8", "kv_cache_dtype": "fp8"})") != "none");
  CHECK(mistakes_of_precision("8").starts_with("#/precision: "));
}

static std::string checkpoint(const FreshFolder& folder) {
  std::string config = read_text_file(kData / "transformers" / "llama-3.1-8b.json");
  config.insert(config.find('{') + 1, R"("quantization_config": {"quant_method": "fp8"},)");
  write_text_file(folder.path() / "config.json", config);
  return folder.path().string();
}

TEST_CASE("a quantised checkpoint is served as it is unless the scenario says otherwise, and that is told") {
  const FreshFolder folder;
  const std::string target =
      R"({"device": "h100-sxm", "engine": "vllm", "method": {"name": "autoregressive"}, "transformer": ")" +
      checkpoint(folder) + "\"";
  std::vector<std::string> told;
  const auto name = [&](const std::string& more) {
    const auto sweep = ScenarioText(target + more + "}").sweep();
    const std::vector<std::string>& notes = sweep->scenario().document.notes();
    for (const std::string& note : notes)  // the block has one key alone
      if (!contains(note, "lacks \"weight_block_size\"")) told.push_back(note);
    return precision_at(sweep->scenario(), {}).name;
  };
  CHECK(name("") == "fp8");
  CHECK(name(R"(, "precision": {"kv_cache": "fp8"})") == "fp8,kv_cache:fp8");
  CHECK(name(R"(, "precision": "fp8")") == "fp8");
  CHECK(told.empty());
  CHECK(name(R"(, "precision": "bf16")") == "bf16");
  REQUIRE(told.size() == 1);
  CHECK(told.front().ends_with("has weights in fp8, \"bf16\" is priced instead; \"auto\" selects the checkpoint's"));
}

TEST_CASE("one memory share holds for a run and, unless its scheduler says one, for a server") {
  const auto scenario = [](const std::string& more) { return ScenarioText(with(more)).sweep(); };
  CHECK(scenario("")->setup({}).gpu_memory_utilization == 0.9);
  CHECK(scenario(R"("gpu_memory_utilization": 0.8)")->setup({}).gpu_memory_utilization == 0.8);
  const std::string load = R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 10})";
  CHECK(scenario(load)->setup({}).gpu_memory_utilization == 0.9);
  CHECK(scenario(load + R"(, "gpu_memory_utilization": 0.8)")->setup({}).gpu_memory_utilization == 0.8);
  CHECK(scenario(load + R"(, "gpu_memory_utilization": 0.8, "scheduler": {"gpu_memory_utilization": 0.7})")
            ->setup({})
            .gpu_memory_utilization == 0.7);
  CHECK(ScenarioText(with(R"("gpu_memory_utilization": 1.5)")).mistakes() ==
        "#/gpu_memory_utilization: must be at most 1, got 1.5");
}

}  // namespace draftline
