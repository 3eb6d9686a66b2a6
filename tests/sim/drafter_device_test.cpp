// SPDX-License-Identifier: Apache-2.0
// Servers whose drafter has a device of its own.
#include <nlohmann/json.hpp>

#include "sim/capacity.h"
#include "tests/core/messages.h"
#include "tests/sim/served.h"

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

TEST_CASE("what each sequence prepares ahead takes room from the drafter's pool") {
  const auto blocks = [](int drafts, int fan_out) {
    return served(with(kLoop, R"({"name": "ssd", "draft": "llama-3.2-1b", "draft_length": )" + std::to_string(drafts) +
                                  R"(, "fan_out": )" + std::to_string(fan_out) +
                                  R"(, "acceptance": {"rate": 0.8, "hit_share": 0.8}, "drafter_device":
                                     {"device": "rtx-3060", "latency": "20 us"}})"))
        .kv_blocks;
  };
  // 8 sequences, blocks of 16 entries: (K + 1) (1 + K F) entries of each, 40 and 144, of which 12 are rows of one pass.
  CHECK(blocks(3, 3) - blocks(11, 1) == Approx(8 * (144 - 40) / 16.0).margin(1));
}

TEST_CASE("a drafter's own device counts among the devices, with its price") {
  const ServingResult r = served(with(kLoop + R"(, "replicas": 2, "prices": {"h100-sxm": 3, "l4": 1})", pearl("l4")));
  CHECK(r.servers == 2);
  CHECK(r.devices == 4);
  CHECK(*r.cost_per_hour == Approx(2 * 3 + 2 * 1));
  CHECK(mistakes(with(kLoop + R"(, "prices": {"h100-sxm": 3})", pearl("l4"))) == "#/prices: lacks the price of l4");
}

TEST_CASE("servers that are not modelled with a drafter's own device are refused") {
  CHECK(mistakes(with(kLoop + R"(, "pipeline_parallel": 2)", pearl("h100-sxm"))) ==
        "#/pipeline_parallel: is not modelled with a drafter on its own device: remove one of the two");
  const std::string load = R"("workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 100})";
  CHECK(mistakes(with(load + R"(, "disaggregation": {"prefill_replicas": 1, "bandwidth": "50 GB/s"})", pearl("l4"))) ==
        "#/disaggregation: is not modelled with a drafter on its own device: remove one of the two");
  std::string parts =
      R"({"device": "h100-sxm", "transformer": "mixtral-8x7b", "engine": "vllm", "tensor_parallel": 2,
          "data_parallel_attention": 2, "method": )" +
      pearl("h100-sxm") + ", " + kLoop + "}";
  parts.replace(parts.find("llama-3.2-1b"), 12, "llama-68m");  // of Mixtral's vocabulary
  CHECK(contains(mistakes(parts), "#/data_parallel_attention: is not modelled with a drafter on its own device"));
}

TEST_CASE("a plan buys each replica a device for its drafter, in whole nodes of its kind", "[once]") {
  const auto planned = [](const std::string& method, const std::string& more) {
    const FreshFolder folder;
    std::ofstream(folder.path() / "s.json") << with(
        R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 60},
           "slo": {"ttft_p99": "1 s"}, "replications": 1, )" +
            more,
        method);
    ServingSweep sweep(folder.path() / "s.json", kData);
    sweep.validate();
    check_plannable(sweep.scenario());
    const FleetOption o = smallest_fleet(sweep, 0, sweep.scenario().serving->prices, 64, 1);
    REQUIRE(!o.obstacle);
    CHECK(o.replicas == 1);
    CHECK(o.devices == 2);
    return std::tuple(o.nodes, o.cost, o.cost_with_spare);
  };
  using Nodes = std::optional<int>;
  const std::string prices = R"("prices": {"h100-sxm": 3, "l4": 1})";
  CHECK(planned(pearl("l4"), prices) == std::tuple(Nodes(), 4.0, 8.0));
  CHECK(planned(pearl("h100-sxm"), prices) == std::tuple(Nodes(), 6.0, 12.0));
  // Drafters of the targets' kind take what these leave free: two servers are four of eight devices, and two nodes of
  // two.
  CHECK(planned(pearl("h100-sxm"), prices + R"(, "devices_per_node": 8)") == std::tuple(Nodes(1), 24.0, 24.0));
  CHECK(planned(pearl("h100-sxm"), prices + R"(, "devices_per_node": 2)") == std::tuple(Nodes(1), 6.0, 12.0));
  // Others have nodes of their own, or come one by one.
  CHECK(planned(pearl("l4"), prices + R"(, "devices_per_node": 8)") == std::tuple(Nodes(2), 32.0, 32.0));
  CHECK(planned(pearl("l4"), prices + R"(, "devices_per_node": {"h100-sxm": 8})") == std::tuple(Nodes(1), 25.0, 26.0));
  CHECK(mistakes(with(R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 60},
                         "slo": {"ttft_p99": "1 s"}, "prices": {"h100-sxm": 3})",
                      pearl("l4")),
                 true) == "#/prices: lacks the price of l4");
}

TEST_CASE("a policy that switches speculation off leaves the drafter's own device idle, and its messages unsent") {
  const auto tpot = [](const std::string& method, const std::string& policy = "") {
    return served(with(kLoop + policy, method)).runs.front().figures.tpot.mean().value;
  };
  const std::string near = pearl("l4"), off = R"(, "policy": {"draft_length_by_batch_size": {"1": 0}})";
  std::string far = near;
  far.replace(far.find("20 us"), 5, "20 ms");
  CHECK(tpot(far) > tpot(near) + 5e-3);
  CHECK(tpot(far, off) == Approx(tpot(near, off)));
  CHECK(tpot(far, off) == Approx(tpot(R"({"name": "autoregressive"})")).epsilon(0.01));
}

}  // namespace draftline
