// SPDX-License-Identifier: Apache-2.0
// `draftline from`: command lines of servers become scenarios that run.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

// The scenario of a line, which runs.
Json scenario_of(const std::string& line, const std::string& options = "") {
  const Program draftline;
  draftline.write("line.sh", line);
  const Ran made = draftline("from line.sh " + options);
  INFO(made.err);
  REQUIRE(made.code == 0);
  draftline.write("s.json", made.out);
  const Ran ran = draftline("run s.json --json");
  INFO(ran.err);
  CHECK(ran.code == 0);
  return Json::parse(made.out);
}

Ran from(const std::string& line, const std::string& options = "") {
  const Program draftline;
  draftline.write("line.sh", line);
  return draftline("from line.sh " + options);
}

}  // namespace

TEST_CASE("a line of vLLM becomes a scenario that runs") {
  const Json s = scenario_of(
      "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B-FP8 --tensor-parallel-size 2 --port 8000 \\\n"
      "  --gpu-memory-utilization=0.85 --max-model-len 32768 --enforce-eager --kv-cache-dtype fp8 \\\n"
      "  --speculative-config '{\"method\": \"eagle3\", \"model\": \"acme/eagle\", \"num_speculative_tokens\": 3}' && "
      "echo up",
      "--device h200");
  CHECK(s.at("device") == "h200");
  CHECK(s.at("transformer") == "Qwen/Qwen3-32B-FP8");
  CHECK(s.at("engine") == "vllm");
  CHECK(s.at("tensor_parallel") == 2);
  CHECK(s.at("gpu_memory_utilization") == 0.85);
  CHECK(s.at("enforce_eager") == true);
  CHECK(s.at("precision") == Json{{"kv_cache", "fp8"}});
  CHECK(s.at("method").at(0).at("name") == "autoregressive");
  CHECK(s.at("method").at(1).at("name") == "eagle3");
  CHECK(s.at("method").at(1).at("draft_length") == 3);
}

TEST_CASE("JSON may stand in a line without quotes around it") {
  const Json s = scenario_of(
      "vllm serve Qwen/Qwen3-8B -tp 2 --speculative-config={\"method\": \"eagle3\", \"num_speculative_tokens\": 5} -dp "
      "1");
  CHECK(s.at("method").at(1).at("draft_length") == 5);
}

TEST_CASE("each flag is told to be used, free, left out or unknown") {
  const Ran r = from(
      "vllm serve Qwen/Qwen3-8B --served-model-name a b --max-num-seqs 64 --cpu-offload-gb 4 --tensor_parallel_size 1 "
      "--frobnicate 7");
  CHECK(r.code == 0);
  CHECK(contains(r.err, "--served-model-name a b"));
  CHECK(contains(r.err, "costs nothing"));
  CHECK(contains(r.err, "give --rate"));
  CHECK(contains(r.err, "memory of the host is not modelled"));
  CHECK(contains(r.err, "--frobnicate 7"));
  CHECK(contains(r.err, "whether it costs is unknown"));
  CHECK(contains(r.err, "a line names none: \"h100-sxm\" stands in"));
}

TEST_CASE("the scheduler's flags need a rate") {
  const Program draftline;
  draftline.write(
      "line.sh", "vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --max-num-batched-tokens 8192 --no-enable-prefix-caching");
  const Ran r = draftline("from line.sh --rate '6 /s'");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json s = Json::parse(r.out);
  CHECK(s.at("scheduler") == Json{{"max_num_seqs", 64}, {"max_num_batched_tokens", 8192}, {"prefix_caching", false}});
  draftline.write("s.json", r.out);
  CHECK(draftline("simulate s.json --json").code == 0);
}

TEST_CASE("flags that make prompts wait, and the largest graph, have keys") {
  const auto scheduler = [](const std::string& line) {
    const Ran r = from(line, "--rate '6 /s'");
    INFO(r.err);
    REQUIRE(r.code == 0);
    return Json::parse(r.out).at("scheduler");
  };
  CHECK(scheduler("python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --scheduler-recv-interval 30 "
                  "--stream-interval 10") == Json{{"scheduler_recv_interval", 30}});
  CHECK(scheduler("echo '{\"batch_wait_timeout_iters\": 20, \"batch_wait_max_tokens_ratio\": 0.9}' > options.yaml; "
                  "trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options options.yaml") ==
        Json{{"batch_wait_timeout_iters", 20}, {"batch_wait_max_tokens_ratio", 0.9}});
  const std::string attention = "echo '{\"enable_attention_dp\": true, \"attention_dp_config\": {\"enable_balance\": ",
                    serve =
                        "}}' > options.yaml; trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 "
                        "--extra_llm_api_options options.yaml";
  CHECK(scheduler(attention + "true, \"timeout_iters\": 60" + serve).at("attention_dp_timeout_iters") == 60);
  CHECK(scheduler(attention + "true" + serve).at("attention_dp_timeout_iters") == 50);
  const std::string off = "echo '{\"enable_attention_dp\": false, \"attention_dp_config\": {\"enable_balance\": true";
  CHECK_FALSE(contains(from(off + serve, "--rate '6 /s'").out, "attention_dp_timeout_iters"));
  const Ran wrong = from(attention + "\"yes\"" + serve, "--rate '6 /s'");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "enable_balance: must be true or false"));
  CHECK(scheduler("echo '{\"batch_wait_timeout_iters\": 20}' > options.yaml; trtllm-serve Qwen/Qwen3-8B "
                  "--extra_llm_api_options options.yaml")
            .at("batch_wait_max_tokens_ratio") == 0);
  CHECK(scenario_of("vllm serve Qwen/Qwen3-8B -sc '{\"method\": \"eagle3\", \"model\": \"acme/e\", "
                    "\"num_speculative_tokens\": 2, \"enforce_eager\": true}'")
            .at("eager_drafter") == true);
  CHECK(scenario_of("vllm serve Qwen/Qwen3-8B --moe-backend triton").at("moe_backend") == "triton");
  CHECK(scenario_of("vllm serve Qwen/Qwen3-8B --max-cudagraph-capture-size 0").at("cudagraph_mode") == "NONE");
  CHECK_FALSE(scenario_of("vllm serve Qwen/Qwen3-8B -cc '{\"max_cudagraph_capture_size\": null}'")
                  .contains("max_cudagraph_capture_size"));
  CHECK(scenario_of("vllm serve Qwen/Qwen3-8B --max-cudagraph-capture-size 2048").at("max_cudagraph_capture_size") ==
        2048);
  CHECK(scenario_of("vllm serve Qwen/Qwen3-8B -cc '{\"max_cudagraph_capture_size\": 64}'")
            .at("max_cudagraph_capture_size") == 64);
}

TEST_CASE("data-parallel attention of vLLM multiplies the devices") {
  const Json s = scenario_of(
      "vllm serve deepseek-ai/DeepSeek-R1 -tp 1 -dp 8 --enable-expert-parallel --speculative-config.method "
      "deepseek_mtp --speculative-config.num_speculative_tokens 1",
      "--device h200 --acceptance '{\"rate\": 0.8}'");
  CHECK(s.at("tensor_parallel") == 8);
  CHECK(s.at("data_parallel_attention") == 8);
  CHECK(s.at("expert_parallel") == true);
  CHECK(s.at("method").at(1) == Json{{"name", "mtp_sequential"}, {"draft_length", 1}, {"acceptance", {{"rate", 0.8}}}});
}

TEST_CASE("lines of SGLang: a chain, and a tree") {
  const std::string line =
      "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --mem-fraction-static 0.8 "
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path acme/eagle --speculative-num-steps 3 ";
  const Json chain = scenario_of(line + "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4");
  CHECK(chain.at("engine") == "sglang");
  CHECK(chain.at("transformer") == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(chain.at("method").at(1).at("draft_length") == 3);
  const Json tree = scenario_of(line + "--speculative-eagle-topk 4 --speculative-num-draft-tokens 8");
  CHECK(tree.at("method").at(1).at("tree") == Json{{"eagle_topk", 4}, {"num_steps", 3}, {"num_draft_tokens", 8}});
}

TEST_CASE("a line of trtllm-serve, with its options as JSON") {
  const Json s = scenario_of(
      "echo '{\"speculative_config\": {\"decoding_type\": \"Eagle3\", \"max_draft_len\": 4}, \"kv_cache_config\": "
      "{\"dtype\": \"fp8\"}}' > options.yaml; trtllm-serve meta-llama/Llama-3.3-70B-Instruct --tp_size 4 "
      "--max_batch_size 64 "
      "--extra_llm_api_options options.yaml");
  CHECK(s.at("engine") == "tensorrt-llm");
  CHECK(s.at("tensor_parallel") == 4);
  CHECK(s.at("precision") == Json{{"kv_cache", "fp8"}});
  CHECK(s.at("method").at(1).at("name") == "eagle3");
  CHECK(s.at("method").at(1).at("draft_length") == 4);
}

TEST_CASE("a line of llama-server names formats in its files") {
  const Json s = scenario_of(
      "./build/bin/llama-server -m /models/Qwen3-8B-Q4_K_M.gguf -md /models/Qwen3-0.6B-Q8_0.gguf --draft-max 8 -ngl 99 "
      "-c 8192 "
      "-fa on -ctk q8_0 -ctv q8_0",
      "--device rtx-4090");
  CHECK(s.at("engine") == "llama.cpp");
  CHECK(s.at("transformer") == "qwen3-8b");
  CHECK(s.at("precision") == Json{{"weights", "q4_k_m"}, {"kv_cache", "q8_0"}});
  CHECK(s.at("method").at(1).at("name") == "draft_model");
  CHECK(s.at("method").at(1).at("draft") == "qwen3-0.6b");
  CHECK(s.at("method").at(1).at("draft_length") == 8);
}

TEST_CASE("llama-server's least probability of a draft ends chains as assisted generation does") {
  const std::string line =
      "llama-server -m /models/Qwen3-8B-Q4_K_M.gguf -md /models/Qwen3-0.6B-Q8_0.gguf --draft-max 8 --draft-p-min ";
  const Json method = scenario_of(line + "0.75", "--device rtx-4090").at("method").at(1);
  CHECK(method.at("name") == "assisted");
  CHECK(method.at("confidence") == 0.75);
  CHECK(method.at("draft_length") == 8);
  CHECK(scenario_of(line + "0", "--device rtx-4090").at("method").at(1).at("name") == "draft_model");
}

TEST_CASE("containers of docker-compose and Kubernetes have the line in their keys") {
  const Json compose = scenario_of(
      "services:\n  llm:\n    image: vllm/vllm-openai:v0.19.1\n    ports:\n      - \"8000:8000\"\n    command: >\n"
      "      --model Qwen/Qwen3-8B\n      --tensor-parallel-size 2\n    volumes:\n      - ./a:/a\n");
  CHECK(compose.at("engine") == "vllm-0.19");
  CHECK(compose.at("tensor_parallel") == 2);
  const Json kubernetes = scenario_of(
      "spec:\n  containers:\n  - name: llm\n    image: vllm/vllm-openai:latest\n    command: [\"vllm\", \"serve\"]\n"
      "    args:\n    - Qwen/Qwen3-8B\n    - --tensor-parallel-size=2\n    - \"--speculative-config\"\n"
      "    - '{\"method\": \"ngram\", \"num_speculative_tokens\": 4, \"prompt_lookup_max\": 3}'\n    resources:\n"
      "      limits:\n        nvidia.com/gpu: 2\n");
  CHECK(kubernetes.at("tensor_parallel") == 2);
  CHECK(kubernetes.at("method").at(1).at("name") == "prompt_lookup");
  const Json shell = scenario_of("args: [\"-c\", \"vllm serve Qwen/Qwen3-8B -tp 2\"]\n");
  CHECK(shell.at("tensor_parallel") == 2);
}

TEST_CASE("a line that can't become a scenario is exit code 2 with the way out") {
  struct Case {
    std::string line, message;
  };
  const Case c = GENERATE(
      Case{"python train.py --lr 1", "starts no known server"},
      Case{"vllm serve acme/Zeta-99X", "is of no network that ships: download its config.json and give --transformer"},
      Case{"vllm serve Qwen/Qwen3-8B -tp two", "-tp: \"two\" is not a whole number"},
      Case{"vllm serve Qwen/Qwen3-8B -tp", "-tp has no value"},
      Case{"vllm serve Qwen/Qwen3-8B --speculative-config {", "is not JSON"},
      Case{"vllm serve --host 0.0.0.0", "names no model"});
  const Ran r = from(c.line);
  CAPTURE(c.line, r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
}

TEST_CASE("the file of a listed device reads back to its figures") {
  const Program draftline;
  const Ran file = draftline("list devices h200 --as-file");
  REQUIRE(file.code == 0);
  draftline.write("my.json", file.out);
  const auto figures = [&](const std::string& device) {
    draftline.write("s.json", R"({"device": ")" + device +
                                  R"(", "transformer": "llama-3.1-8b", "engine": "draftline", "batch_size": [1, 32],
      "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}})");
    const Ran r = draftline("run s.json --json");
    INFO(r.err);
    REQUIRE(r.code == 0);
    const Json points = Json::parse(r.out).at("results");
    std::vector<double> times;
    for (const Json& point : points) times.push_back(point.at("step_time").at("value").get<double>());
    return times;
  };
  CHECK(figures("./my.json") == figures("h200"));
  CHECK(draftline("list devices --as-file").code == 2);
  CHECK(draftline("list engines vllm --as-file").code == 0);
}

}  // namespace draftline
