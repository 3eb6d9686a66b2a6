// SPDX-License-Identifier: Apache-2.0
// Names of the hub, of cards and engines that are not listed, and engines' keys in a scenario (F14, F15, F16).
#include "inputs/catalogue.h"
#include "inputs/hub_names.h"
#include "inputs/kindred_names.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

using namespace draftline;

TEST_CASE("a name of the hub is an alias of a network that ships, in the format that it states") {
  struct Case {
    std::string_view id, network, format;
  };
  const auto [id, network, format] = GENERATE(
      Case{"Qwen/Qwen3-32B-FP8", "qwen3-32b", "fp8-block"}, Case{"Qwen/Qwen3-32B", "qwen3-32b", ""},
      Case{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", ""},
      Case{"meta-llama/Meta-Llama-3-70B-Instruct", "llama-3-70b", ""},
      Case{"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b", ""},
      Case{"nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8-static"},
      Case{"nvidia/Llama-3.3-70B-Instruct-FP8", "llama-3.3-70b-fp8", ""},
      Case{"meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b", ""},
      Case{"RedHatAI/Qwen3-8B-FP8-dynamic", "qwen3-8b", "fp8"},
      Case{"Qwen/Qwen2.5-72B-Instruct-AWQ", "qwen2.5-72b", "awq"},
      Case{"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b", "gptq"},
      Case{"nvidia/DeepSeek-R1-0528-FP4", "deepseek-r1", "nvfp4"},
      Case{"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout", ""},
      Case{"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b", ""},
      Case{"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", ""}, Case{"openai/gpt-oss-120b", "gpt-oss-120b", ""},
      Case{"unsloth/Qwen3-8B-GGUF:Q4_K_M", "qwen3-8b", "q4_k_m"});
  CAPTURE(id);
  const auto found = hub_network(id, Catalogue(kData).names("transformers"));
  REQUIRE(found);
  CHECK(found->network == network);
  CHECK(found->format.value_or("") == format);
}

TEST_CASE("other networks are no aliases") {
  const auto known = Catalogue(kData).names("transformers");
  for (const char* id : {"Qwen/Qwen3-VL-8B-Instruct", "mistralai/Mistral-7B-Instruct-v0.3", "Qwen/Qwen3-33B"}) {
    CAPTURE(id);
    CHECK_FALSE(hub_network(id, known));
  }
  CHECK_FALSE(is_hub_name("./qwen/config.json"));
  CHECK_FALSE(is_hub_name("/models/qwen"));
  CHECK_FALSE(is_hub_name("a/b/c"));
}

TEST_CASE("a scenario with a name of the hub is priced in its format, and a note says so") {
  const auto scenario = [](const std::string& transformer) {
    return R"({"device": "h100-sxm", "engine": "vllm", "method": {"name": "autoregressive"}, "transformer": )" +
           transformer + "}";
  };
  const ScenarioText named(scenario(R"("Qwen/Qwen3-32B-FP8")"));
  const auto sweep = named.sweep();
  const auto& notes = sweep->scenario().document.notes();
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0], "Qwen/Qwen3-32B-FP8 is read as qwen3-32b in fp8-block"));
  CHECK(std::get<Prediction>(sweep->at(0).result).step_time ==
        prediction(scenario(R"("qwen3-32b", "precision": "fp8-block")")).step_time);
  CHECK(contains(
      ScenarioText(scenario(R"("acme/Zeta-99X")")).mistakes(),
      "it is of no network that ships: download its config.json and give the path, \"./Zeta-99X/config.json\""));
}

TEST_CASE("an unlisted card or engine is answered with one that is alike and the way to a file") {
  const auto with_names = [](const std::string& device, const std::string& engine) {
    return ScenarioText(R"({"device": ")" + device + R"(", "engine": ")" + engine +
                        R"(", "transformer": "llama-3.1-8b", "method": {"name": "autoregressive"}})")
        .mistakes();
  };
  const std::string card = with_names("mi300x", "vllm");
  if (card != "none") CHECK(contains(card, "--as-file > my.json"));
  CHECK(contains(with_names("mi210", "vllm"), "\"a100-sxm\" is most alike"));
  CHECK(contains(with_names("mi210", "vllm"), "`draftline list devices a100-sxm --as-file > my.json`"));
  CHECK(contains(with_names("abacus", "vllm"), "`draftline list devices h100-sxm --as-file > my.json`"));
  for (const char* engine : {"ollama", "lmdeploy", "mlc", "unheard-of"}) {
    CAPTURE(engine);
    const std::string why = with_names("h100-sxm", engine);
    CHECK(contains(why, "#/engine: unknown name"));
    CHECK(contains(why, "--as-file > my.json"));
  }
  CHECK(contains(with_names("h100-sxm", "ollama"), "\"llama.cpp\" is most alike (it runs llama.cpp)"));
}

TEST_CASE("the listed kin of an unlisted name exist") {
  Catalogue catalogue(kData);
  for (const char* name : {"mi300x", "gaudi3", "V100", "T4", "RTX A6000", "rtx 6000 ada", "rtx-5080", "RTX4080", "a40",
                           "b300", "gb300", "gh200", "gb10", "rx-7900-xtx", "arc-b60", "m3-ultra"}) {
    const std::string way = way_to_own_file(name, "devices");
    CAPTURE(name, way);
    const std::size_t at = way.find('"') + 1;
    REQUIRE(at > 0);
    CHECK_NOTHROW(catalogue.device(way.substr(at, way.find('"', at) - at)));
  }
}

TEST_CASE("GGUF's names of formats are read") {
  CHECK(ScenarioText(R"({"device": "rtx-4090", "transformer": "llama-3.1-8b", "engine": "llama.cpp",
    "precision": {"weights": "q4_k_m", "kv_cache": "q8_0"}, "method": {"name": "autoregressive"}})")
            .mistakes() == "none");
}

TEST_CASE("an engine's key is answered with the key of a scenario") {
  const auto answer = [](const std::string& key) { return ScenarioText(with("\"" + key + "\": 8")).mistakes(); };
  CHECK(contains(answer("max_model_len"), "#/max_model_len: unknown key; a longest text costs nothing by itself"));
  CHECK(contains(answer("max_num_seqs"), "\"max_num_seqs\" of \"scheduler\", which needs a \"workload\""));
  CHECK(contains(answer("max_running_requests"), "\"max_num_seqs\" of \"scheduler\""));
  CHECK(contains(answer("max_num_batched_tokens"), "\"max_num_batched_tokens\" of \"scheduler\""));
  CHECK(contains(answer("mem_fraction_static"), "\"gpu_memory_utilization\" is the share of all"));
  CHECK(contains(answer("tensor_parallel_size"), "did you mean \"tensor_parallel\"?"));
  CHECK(contains(ScenarioText(with(R"("scheduler": {"max_running_requests": 8}, "workload": {"arrivals": {"process":
    "poisson", "rate": "1 /s"}})"))
                     .mistakes(),
                 "#/scheduler/max_running_requests: unknown key; did you mean \"max_num_seqs\"?"));
  CHECK(contains(ScenarioText(with_method(R"({"name": "draft_model", "draft": "llama-3.2-1b", "draft_length": 3,
    "draft_tensor_parallel_size": 1, "acceptance": {"rate": 0.7}})"))
                     .mistakes(),
                 "draft_tensor_parallel_size: unknown key; \"shard_draft\": false keeps the draft network whole"));
  CHECK(ScenarioText(with("\"gpu_memory_utilization\": 0.85")).mistakes() == "none");
}
