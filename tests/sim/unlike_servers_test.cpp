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

}  // namespace draftline
