// SPDX-License-Identifier: Apache-2.0
// Servers whose pools bound them, and servers that differ from each other.
#include <algorithm>

#include "sim/serving.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static ServingResult served_scenario(const std::string& json) {
  const FreshFolder folder;
  const std::filesystem::path file = folder.path() / "s.json";
  std::ofstream(file) << json;
  ServingSweep sweep(file, kData);
  sweep.validate();
  ServingOutcome out = sweep.at(0, {});
  if (const auto* why = std::get_if<std::string>(&out.result)) FAIL("skipped: " << *why);
  return std::get<ServingResult>(std::move(out.result));
}

TEST_CASE("a pool of recurrent states limits the sequences of a server, even below the scenario's own limit") {
  const auto served = [](const std::string& engine) {
    return served_scenario(R"({"device": "h200", "transformer": "qwen3.5-35b-a3b", "engine": ")" + engine + R"(",
      "method": {"name": "autoregressive"}, "scheduler": {"max_num_seqs": 400}, "workload": {"requests": 800,
      "arrivals": {"process": "closed", "concurrency": 400}, "lengths": {"prompt": 100, "output": 50}}})");
  };
  CHECK(served("vllm-0.19").batch_limit == 400);
  const ServingResult pool = served("sglang-0.5");
  CHECK(pool.batch_limit < 200);
  CHECK(std::ranges::any_of(pool.warnings, [&](const std::string& w) {
    return contains(w, "pool of recurrent states seats " + std::to_string(pool.batch_limit) + " sequences");
  }));
}

TEST_CASE("servers that compute prompts may have another number of devices than those that decode") {
  const auto served = [](const std::string& own) {
    return served_scenario(
        R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prices": {"h100-sxm": 2},
      "method": {"name": "autoregressive"}, "replicas": 1,
      "disaggregation": {"prefill_replicas": 2, "bandwidth": "50 GB/s")" +
        own + R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": 1}, "requests": 20,
                     "lengths": {"prompt": 4000, "output": 20}}})");
  };
  const ServingResult alike = served(""), wide = served(R"(, "tensor_parallel": 4)");
  const auto mean = [](const ServingResult& r) { return r.runs.front().figures.ttft.mean().value; };
  CHECK(alike.devices == 3);
  CHECK(wide.devices == 9);
  CHECK(wide.cost_per_hour.value() == 18);
  CHECK(mean(wide) < 0.6 * mean(alike));
  CHECK(wide.runs.front().figures.tpot.mean().value == Approx(alike.runs.front().figures.tpot.mean().value));
}

TEST_CASE("servers that compute prompts may divide experts and sequences otherwise than those that decode") {
  const auto json = [](const std::string& decoding, const std::string& own) {
    return R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19", "tensor_parallel": 4,
      "method": {"name": "autoregressive"}, "replicas": 1, )" +
           decoding + R"("disaggregation": {"prefill_replicas": 1, "bandwidth": "50 GB/s")" + own +
           R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": 1}, "requests": 20,
                "lengths": {"prompt": 8000, "output": 50}}})";
  };
  const std::string parts = R"("expert_parallel": true, "data_parallel_attention": 4, )";
  const auto tpot = [](const ServingResult& r) { return r.runs.front().figures.tpot.mean().value; };
  const auto ttft = [](const ServingResult& r) { return r.runs.front().figures.ttft.mean().value; };
  const ServingResult alike = served_scenario(json(parts, "")), together = served_scenario(json("", "")),
                      mixed =
                          served_scenario(json(parts, R"(, "data_parallel_attention": 1, "expert_parallel": false)")),
                      wide = served_scenario(json("", R"(, "data_parallel_attention": 4, "expert_parallel": true)"));
  CHECK(alike.servers == 8);
  CHECK(mixed.servers == 5);
  CHECK(wide.servers == 5);
  CHECK(together.servers == 2);
  // Decoding is that of the servers that decode, whoever computes the prompts.
  CHECK(tpot(mixed) == Approx(tpot(alike)).epsilon(0.1));
  CHECK(tpot(wide) == Approx(tpot(together)).epsilon(0.1));
  // A rank alone computes a prompt in longer than four devices together.
  CHECK(ttft(mixed) < ttft(alike));
  CHECK(ttft(together) < ttft(wide));
}

TEST_CASE("a division of the servers that compute prompts is refused if it is none") {
  const auto why = [](const std::string& own) {
    const FreshFolder folder;
    const std::filesystem::path file = folder.path() / "s.json";
    std::ofstream(file) << R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19",
      "tensor_parallel": 4, "method": {"name": "autoregressive"}, "disaggregation": {"prefill_replicas": 1,
      "bandwidth": "50 GB/s", )" +
                               own + R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": 8},
      "requests": 80, "lengths": {"prompt": 4000, "output": 100}}})";
    return mistake_of([&] {
      ServingSweep sweep(file, kData);
      sweep.validate();
      const ServingOutcome out = sweep.at(0, {});
      if (const auto* skipped = std::get_if<std::string>(&out.result)) throw InputErrors(*skipped);
    });
  };
  CHECK(contains(why(R"("expert_parallel": 3)"), "servers that compute prompts: 3 groups of experts do not divide"));
  CHECK(contains(why(R"("data_parallel_attention": 3)"), "servers that compute prompts: data_parallel_attention 3"));
  CHECK(contains(why(R"("data_parallel_attention": 0)"), "data_parallel_attention"));
}

}  // namespace draftline
