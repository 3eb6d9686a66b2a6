// SPDX-License-Identifier: Apache-2.0
// The schema of a scenario (docs/reference/scenario.md).
#include "inputs/scenario.h"
#include "inputs/schema/schema_parts.h"
#include "inputs/serving_keys.h"
#include "model/engines/step_mode.h"

namespace draftline::schema {

namespace {

constexpr int kMostTokens = 1 << 24, kMostDevices = 1024, kMostRows = 1 << 20;
constexpr double kMostVariation = 10;

Json expert_routing() {
  const Keys kind{
      optional("topics", word({"many", "one"}), "of a batch's sequences: many, or one kind of prompts"),
      optional("load_cv", number(0, kMostVariation), "variation of the experts' loads: standard deviation over mean")},
      count{needed("rows", positive_int(kMostRows), "rows that were counted"),
            needed("experts_touched", number(0), "different experts of a layer that the rows read")};
  const Json counted = object(kind + Keys{needed("counted", list(object(count)),
                                                 "counts of rows of one sequence, by ascending rows")}),
             touched = object(
                 kind + count +
                 Keys{optional("sequences", positive_int(kMostRows), "sequences of the counted rows; by default 1")});
  Json overlapping = object(kind + Keys{optional("overlap", ratio(),
                                                 "share of a row's choices that repeat those of the "
                                                 "row before it, beyond chance")});
  overlapping["minProperties"] = 1;
  return if_given("counted", counted, if_given("experts_touched", touched, overlapping));
}

Keys texts() {
  return {optional("name", text(), "name of the scenario, for readers of the output"),
          optional("question", text(), "printed above the table"), optional("note", text(), "printed below the table")};
}

Keys setup() {
  const Json count = positive_int(kMostDevices), whole = any_of({boolean(), positive_int()});
  return {needed("device", alternatives(defined("device")), "a GPU or CPU: a name, or a file"),
          needed("transformer", alternatives(defined("transformer")),
                 "the target: a name, also one of the hub, a config.json, its folder, a .gguf file, or an object of "
                 "shapes"),
          needed("engine", alternatives(defined("engine")), "an engine profile: a name, or a file"),
          needed("method", alternatives(swept(defined("method"))), "a method with its acceptance, or a list"),
          optional("precision", any_of({swept(precision()), list(swept(precision()))}),
                   "formats of weights, activations and KV cache; by default the checkpoint's, else bf16"),
          optional("tensor_parallel", alternatives(count), "devices that share each layer; by default 1"),
          optional("data_parallel_attention", alternatives(count), "groups of devices with sequences of their own"),
          optional("expert_parallel", alternatives(whole),
                   "true: each device holds whole experts; a number: so many groups of devices do"),
          optional("expert_balancedness", alternatives(number(1e-4, 1)), "mean over maximum of the rows per device"),
          optional("expert_exchange", word({"all_gather", "all_to_all"}), "how rows reach the experts' devices"),
          optional("expert_routing", expert_routing(), "how alike rows choose experts"),
          optional("gpu_memory_utilization", number(0.01, 1), "share of the device's memory that the engine uses")};
}

Keys server_options() {
  return {
      optional("enforce_eager", alternatives(boolean()), "vLLM: true: no CUDA graphs"),
      optional("eager_drafter", alternatives(boolean()), "vLLM: true: the drafter has no CUDA graphs"),
      optional("moe_backend", alternatives(word({"auto", "triton"})), "vLLM: library of the experts"),
      optional("tf32", alternatives(boolean()), "vLLM: true: products in 32 bits take TF32"),
      optional("max_cudagraph_capture_size", alternatives(positive_int(1 << 16)),
               "vLLM: the largest number of rows of a graph"),
      optional("cudagraph_mode", alternatives(value_in(kCudagraphModes)), "vLLM: the graphs that it captures"),
      optional("async_scheduling", alternatives(boolean()),
               "vLLM: the next step is scheduled while the device computes"),
      optional("disable_overlap_schedule", alternatives(boolean()), "SGLang: true: the next step is scheduled after"),
      optional("host_speed", alternatives(number(0.05, 20)),
               "speed of the server's cores, relative to the host of the engine's profile")};
}

Keys batch() {
  return {optional("batch_size", alternatives(positive_int(kMostBatchSize)), "sequences in one step; by default 1"),
          optional("prompt_tokens", alternatives(positive_int(kMostTokens)), "tokens of a prompt; by default 512"),
          optional("output_tokens", alternatives(integer(2, kMostTokens)), "tokens of an output; by default 256"),
          optional("cached_prompt_tokens", integer(0, kMostTokens), "tokens of each prompt that are in the KV cache"),
          optional("shared_prefix", shared_prefix(), "tokens that prompts of the batch begin with, stored once")};
}

}  // namespace

Json scenario_file() {
  Json s = object(texts() + setup() + server_options() + batch() + serving_keys());
  for (const char* key : kServingKeys) s["dependentRequired"][key] = {"workload"};
  for (const char* key : {"batch_size", "cached_prompt_tokens", "shared_prefix"})
    s["allOf"].push_back({{"not", {{"required", {"workload", key}}}}});
  s["$defs"]["limit"] = quantity<Seconds>();
  return s;
}

}  // namespace draftline::schema
