// SPDX-License-Identifier: Apache-2.0
#include "predict/link_errors.h"

#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

// The error of communication of a setup, "low to high", or the reason why it is unknown.
std::string error_among(
    const std::string& device, const std::string& engine, int devices, void (*change)(Links&) = [](Links&) {}) {
  const auto s =
      ScenarioText(R"({"device": ")" + device + R"(", "transformer": "llama-3.1-8b", "engine": ")" + engine +
                   R"(", "method": {"name": "autoregressive"}, "tensor_parallel": )" + std::to_string(devices) + "}")
          .sweep();
  Setup setup = s->setup({});
  setup.parallel.devices = devices;
  Device d = *setup.device;
  change(d.links);
  setup.device = outliving(d);
  KnownErrors errors;
  set_link_errors(errors, setup);
  constexpr auto kLinks = KernelKind::communication;
  if (!errors.of[kLinks]) return errors.why[kLinks];
  return std::to_string(errors.of[kLinks]->low).substr(0, 4) + " to " +
         std::to_string(errors.of[kLinks]->high).substr(0, 4);
}

void two_tables(Links& links) {
  std::erase_if(links.tables, [](const LinkTable& t) { return t.collective != Collective::all_reduce; });
  for (LinkTable& t : links.tables) t.origin.interval = RatioInterval{0.5, 1.1};
  links.tables[0].origin.interval = RatioInterval{0.8, 1.5};
}

}  // namespace

TEST_CASE("communication errs as the widest of the tables that an engine may call among so many devices") {
  CHECK(error_among("h100-sxm", "vllm-0.24", 4, two_tables) == "0.50 to 1.50");
  CHECK(error_among("h100-sxm", "draftline", 4, two_tables) == "0.80 to 1.50");  // it calls NCCL alone, the first table
  const auto only_first = [](Links& links) {                                     // the others have too few points
    two_tables(links);
    for (std::size_t i = 1; i < links.tables.size(); ++i) links.tables[i].origin.interval.reset();
  };
  CHECK(error_among("h100-sxm", "vllm-0.24", 4, only_first) == "0.80 to 1.50");
}

TEST_CASE("every group of the cards whose links were measured has an error of communication") {
  for (const char* device : {"a100-sxm", "h100-sxm", "h200", "b200", "b300", "gb300"})
    for (const char* engine : {"vllm", "sglang", "tensorrt-llm"})
      for (const int devices : {2, 4, 8}) {
        INFO(device << " " << engine << " " << devices);
        CHECK(contains(error_among(device, engine, devices), " to 1."));
      }
  CHECK(contains(error_among("l40s", "vllm", 2), " to 1."));
}

TEST_CASE("times of communication that are borrowed, guessed, derived or extended have no known error") {
  CHECK(error_among("gb200", "vllm", 2) == "the times are those of gb300");
  CHECK(error_among("rtx-4090", "vllm", 2) == "the times are a guess");
  CHECK(error_among("l40s", "vllm", 4) == "the times of 4 devices are derived");
  CHECK(error_among("gb300", "vllm", 32) == "groups of so many devices were not measured");
  CHECK(error_among("cpu", "draftline", 1).empty());
}

}  // namespace draftline
