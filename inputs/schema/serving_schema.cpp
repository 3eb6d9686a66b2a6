// SPDX-License-Identifier: Apache-2.0
// The schema of a scenario's servers: scheduler, fleet, targets, prices and the policy of drafts.
#include "inputs/schema/schema_parts.h"

namespace draftline::schema {

namespace {

constexpr int kMostSequences = 1 << 20;

Json power_of_two(int most) {
  Json sizes{{"enum", Json::array()}};
  for (int size = 1; size <= most; size *= 2) sizes["enum"].push_back(size);
  return sizes;
}

Json scheduler() {
  Json s = object(
      {optional("max_num_seqs", positive_int(1 << 16), "sequences that run at the same time")
           .formerly("max_batch_size"),
       optional("max_num_batched_tokens", positive_int(1 << 20), "token budget of a step")
           .formerly("max_batched_tokens"),
       optional("scheduler_recv_interval", positive_int(1 << 16),
                "decode steps after which the scheduler receives the requests that arrived, as in SGLang"),
       optional("batch_wait_timeout_iters", integer(0, 1 << 16),
                "steps that prompts wait at most beside running sequences, as in TensorRT-LLM"),
       optional("batch_wait_max_tokens_ratio", number(0, 1),
                "share of max_num_batched_tokens from which prompts do not wait"),
       optional(
           "attention_dp_timeout_iters", integer(0, 1 << 16),
           "steps that prompts wait at most until each rank of data-parallel attention has one, as in TensorRT-LLM"),
       optional("chunked_prefill", boolean(),
                "true: prompts join decode steps in chunks; false: in steps of their own"),
       optional("static_batching", boolean(), "a batch waits until it is full and ends with its longest sequence"),
       optional("block_size", power_of_two(4096), "tokens of a KV block; by default 16"),
       optional("reserve_prompts", boolean(), "a prompt is admitted only if blocks for all of it are free"),
       optional("prefix_caching", boolean(), "prompts share cached prefixes"),
       optional("gpu_memory_utilization", number(0.01, 1), "share of the device's memory that the engine uses")
           .formerly("memory_share"),
       optional("kv_blocks", integer(1, 0x1p40), "KV blocks of the pool; by default what memory leaves"),
       optional("preemption", word({"recompute", "swap"}), "what becomes of sequences for which there is no block"),
       optional("host_link", quantity<BytesPerSecond>(), "with swap: bandwidth between device and host")});
  s["dependentRequired"] = {{"batch_wait_timeout_iters", {"batch_wait_max_tokens_ratio"}},
                            {"batch_wait_max_tokens_ratio", {"batch_wait_timeout_iters"}}};
  s["if"] = {{"properties", {{"preemption", {{"const", "swap"}}}}}, {"required", {"preemption"}}};
  s["then"] = {{"required", {"host_link"}}};
  s["else"] = {{"if", {{"properties", {{"preemption", {{"type", "array"}}}}}, {"required", {"preemption"}}}},
               {"then", true},
               {"else", {{"not", {{"required", {"host_link"}}}}}}};
  return s;
}

Json policy() {
  const Json drafts = integer(0),
             range{{"type", "array"},
                   {"prefixItems", {integer(1, kMostSequences), integer(1, kMostSequences), drafts}},
                   {"items", false},
                   {"minItems", 3}};
  Json by_batch = map(drafts);
  by_batch["propertyNames"] = {{"pattern", "^0*[1-9][0-9]*$"}};
  by_batch["required"] = {"1"};
  const Json chosen =
      with_one_of(object({optional("off_above", positive_int(kMostSequences), "no drafts above this batch size"),
                          optional("draft_length_by_batch_size", by_batch,
                                   "draft length from each batch size on, such as "
                                   "{\"1\": 5, \"16\": 2}"),
                          optional("num_speculative_tokens_per_batch_size", list(range),
                                   "vLLM's form: [[from, to, draft length], "
                                   "..]"),
                          optional("confidence",
                                   object({needed("concentration", number(0.01, 1e4),
                                                  "how narrow confidences lie around a "
                                                  "sequence's rate")}),
                                   "per sequence, by the drafter's confidence")}),
                  {"off_above", "draft_length_by_batch_size", "num_speculative_tokens_per_batch_size", "confidence"});
  return any_of({word({"fixed", "goodput", "oracle"}), chosen});
}

Json targets() {
  Json limits{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const char* of : {"ttft", "tpot", "e2e"})
    for (const char* share : {"mean", "p50", "p90", "p95", "p99"})
      limits["properties"][std::string(of) + "_" + share] = {
          {"$ref", "#/$defs/limit"}, {"description", std::string("limit on the ") + share + " of the " + of}};
  limits["patternProperties"][R"(^(ttft|tpot|e2e)_p[1-9][0-9]?(\.[0-9]*[1-9])?$)"] = defined("limit");
  return limits;
}

Json disaggregation() {
  return object(
      {needed("prefill_replicas", positive_int(4096), "servers that compute prompts"),
       needed("bandwidth", quantity<BytesPerSecond>(), "of the KV transfer, per device"),
       optional("latency", quantity<Seconds>(Zero::yes), "of the KV transfer"),
       optional("tensor_parallel", positive_int(1024), "devices of a server that computes prompts"),
       optional("data_parallel_attention", positive_int(1024), "groups of them with sequences of their own"),
       optional("expert_parallel", any_of({boolean(), positive_int(1024)}), "their experts are divided whole")});
}

}  // namespace

Keys serving_keys() {
  const auto varied = [](const Json& value) { return any_of({swept(value), list(value)}); };
  const Json nodes = positive_int(4096);
  return {
      optional("workload", varied(workload()), "the requests that `simulate`, `plan` and `advise` serve"),
      optional("scheduler", varied(scheduler()), "limits of a server's scheduler, in vLLM's words"),
      optional("policy", varied(policy()), "chooses the draft length of each step"),
      optional("replicas", varied(positive_int(4096)), "servers; by default 1"),
      optional("pipeline_parallel", varied(positive_int(1024)), "pipeline stages of a server; by default 1"),
      optional("routing", varied(word({"round_robin", "least_loaded"})), "how requests are given to servers"),
      optional("disaggregation", varied(disaggregation()), "prompts are computed by servers of their own"),
      optional("slo", targets(), "limits of latencies, such as {\"ttft_p99\": \"500 ms\"}").formerly("latency_targets"),
      optional("replications", positive_int(10'000), "simulations with different seeds; by default 1, of a plan 3"),
      optional("prices", map(number(0, 1e9)), "price per device and hour, by device"),
      optional("devices_per_node", any_of({nodes, map(nodes)}), "whole nodes are paid for: devices of a node")};
}

}  // namespace draftline::schema
