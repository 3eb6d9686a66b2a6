// SPDX-License-Identifier: Apache-2.0
// Servers whose drafter has a device of its own.
#include <nlohmann/json.hpp>

#include "sim/capacity.h"
#include "sim/serving.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

std::string pearl(const std::string& device, const std::string& more = "") {
  return R"({"name": "pearl", "draft": "llama-3.2-1b", "draft_length": 4, "acceptance": {"rate": 0.8}, "drafter_device":
             {"device": ")" +
         device + R"(", "latency": "20 us")" + more + "}}";
}
const std::string kLoop =
    R"("workload": {"arrivals": {"process": "closed", "concurrency": 8}, "requests": 160, "warm_up": 16},
                             "scheduler": {"max_num_seqs": 8}, "prompt_tokens": 512, "output_tokens": 256)";

ServingResult served(const std::string& json) {
  const FreshFolder folder;
  std::ofstream(folder.path() / "s.json") << json;
  ServingSweep sweep(folder.path() / "s.json", kData);
  sweep.validate();
  ServingOutcome o = sweep.at(0, {});
  if (const auto* why = std::get_if<std::string>(&o.result)) FAIL("skipped: " << *why);
  return std::get<ServingResult>(std::move(o.result));
}

std::string mistakes(const std::string& json, bool plan = false) {
  const FreshFolder folder;
  std::ofstream(folder.path() / "s.json") << json;
  const std::string all = mistake_of([&] {
    ServingSweep sweep(folder.path() / "s.json", kData);
    sweep.validate();
    if (plan) check_plannable(sweep.scenario());
  });
  return all.substr(all.find('#') == std::string::npos ? 0 : all.find('#'));
}

}  // namespace

TEST_CASE("a closed loop of requests whose drafts are made ahead has the tokens and the latency that run predicts") {
  const Prediction p =
      prediction(with(R"("batch_size": 8, "prompt_tokens": 512, "output_tokens": 256)", pearl("h100-sxm")));
  const ServingResult r = served(with(kLoop, pearl("h100-sxm")));
  const ServingFigures& f = r.runs.front().figures;
  CHECK(f.acceptance_length() == Approx(p.acceptance_length).epsilon(0.02));
  CHECK(p.request.e2e.value == Approx(f.e2e.mean().value).epsilon(0.05));
}

TEST_CASE("a sequence needs room in both caches: the smaller pool counts") {
  const auto blocks = [](const std::string& method) { return served(with(kLoop, method)).kv_blocks; };
  const std::string local =
      R"({"name": "pearl", "draft": "llama-3.2-1b", "draft_length": 4, "acceptance": {"rate": 0.8}})";
  // On an H100 of its own the drafter has room to spare, and the target's device more than with both.
  CHECK(blocks(pearl("h100-sxm")) > blocks(local));
  // An RTX 3060 has 11.6 GB for a drafter of 2.5 GB, at 32 KiB a token 280,000 tokens; the target's H100 has 440,000 of
  // 128 KiB.
  CHECK(10 * blocks(pearl("rtx-3060")) < 7 * blocks(pearl("h100-sxm")));
}

TEST_CASE("a drafter's own device counts among the devices, with its price") {
  const ServingResult r = served(with(kLoop + R"(, "replicas": 2, "prices": {"h100-sxm": 3, "l4": 1})", pearl("l4")));
  CHECK(r.servers == 2);
  CHECK(r.devices == 4);
  CHECK(r.devices * r.price == Approx(2 * 3 + 2 * 1));
  CHECK(served(with(kLoop + R"(, "prices": {"h100-sxm": 3})", pearl("l4"))).price == 0);  // the L4's is not known
}

TEST_CASE("servers that are not modelled with a drafter's own device are refused") {
  CHECK(mistakes(with(kLoop + R"(, "pipeline_parallel": 2)", pearl("h100-sxm"))) ==
        "#/pipeline_parallel: a drafter on a device of its own beside it is not modelled: leave one of them out");
  const std::string load = R"("workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 100})";
  CHECK(mistakes(with(load + R"(, "disaggregation": {"prefill_replicas": 1, "bandwidth": "50 GB/s"})", pearl("l4"))) ==
        "#/disaggregation: a drafter on a device of its own beside it is not modelled: leave one of them out");
  CHECK(mistakes(with(load + R"(, "slo": {"ttft_p99": "500 ms"})", pearl("l4")), true) ==
        "#/method/drafter_device: a plan buys devices of one kind; `simulate` serves with a drafter on a device of its "
        "own");
}

}  // namespace draftline
