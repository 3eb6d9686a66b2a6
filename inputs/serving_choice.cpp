// SPDX-License-Identifier: Apache-2.0
#include "inputs/serving_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "inputs/axes.h"

namespace draftline {

namespace {

void read_scheduler(const Reader& in, ServingChoice& c) {
  SchedulerLimits& l = c.limits;
  in.suggest({"host_link"});  // also where it is not needed
  if (const auto n = in.find("max_num_seqs", "max_batch_size")) {
    l.max_num_seqs = n->positive_int(1 << 16);
    c.says_seqs = true;
  }
  if (const auto n = in.find("max_num_batched_tokens", "max_batched_tokens")) {
    l.max_num_batched_tokens = n->positive_int(1 << 20);
    c.says_tokens = true;
  }
  if (const auto steps = in.find("scheduler_recv_interval")) l.receive_interval = steps->positive_int(1 << 16);
  if (const auto steps = in.find("batch_wait_timeout_iters")) {
    l.prompt_wait.steps = steps->integer(0, 1 << 16);
    l.prompt_wait.token_share = in.at("batch_wait_max_tokens_ratio").number(0, 1);
  } else if (const auto ratio = in.find("batch_wait_max_tokens_ratio")) {
    ratio->fail("needs \"batch_wait_timeout_iters\": without it, prompts do not wait");
  }
  if (const auto steps = in.find("attention_dp_timeout_iters")) l.attention_dp_timeout = steps->integer(0, 1 << 16);
  if (const auto chunked = in.find("chunked_prefill")) {
    l.batching = chunked->boolean() ? Batching::continuous : Batching::prefill_first;
    c.says_batching = true;
  }
  if (const auto fixed = in.find("static_batching"); fixed && fixed->boolean()) {
    l.batching = Batching::static_batching;
    c.says_batching = true;
  }
  if (const auto size = in.find("block_size")) {
    l.block_size = size->positive_int(4096);
    if ((l.block_size & (l.block_size - 1)) != 0) size->fail("must be a power of two");
  }
  if (const auto whole = in.find("reserve_prompts")) l.whole_prompts = whole->boolean();
  if (const auto prefixes = in.find("prefix_caching")) l.prefix_caching = prefixes->boolean();
  if (const auto share = in.find("gpu_memory_utilization", "memory_share"))
    c.gpu_memory_utilization = share->number(0.01, 1);
  if (const auto blocks = in.find("kv_blocks")) c.kv_blocks = blocks->long_integer(1, std::int64_t{1} << 40);
  if (const auto preemption = in.find("preemption")) {
    static constexpr std::array<std::string_view, 2> names{"recompute", "swap"};
    l.swap = preemption->word(names) == "swap";
    if (l.swap) c.host_link = in.at("host_link").quantity<BytesPerSecond>();
  }
  in.done();
}

void read_fleet(const Reader& in, ServingChoice& c) {
  if (const auto n = in.find("replicas")) c.fleet.replicas = n->positive_int(4096);
  if (const auto n = in.find("pipeline_parallel")) c.fleet.stages = n->positive_int(1024);
  if (const auto routing = in.find("routing")) {
    using Routing = FleetShape::Routing;
    static constexpr NamedValues<Routing, 2> kRoutings{
        {{"round_robin", Routing::round_robin}, {"least_loaded", Routing::least_loaded}}};
    c.fleet.routing = c.fleet.between_parts = routing->value_in(kRoutings);
  }
  if (const auto apart = in.find("disaggregation")) {
    c.fleet.prefill_replicas = apart->at("prefill_replicas").positive_int(4096);
    c.transfer_rate = apart->at("bandwidth").quantity<BytesPerSecond>();
    PrefillDivision own;
    if (const auto n = apart->find("tensor_parallel")) own.devices = n->positive_int(1024);
    if (const auto n = apart->find("data_parallel_attention")) own.attention_replicas = n->positive_int(1024);
    if (const auto whole = apart->find("expert_parallel")) own.experts = read_whole_experts(*whole);
    if (own.devices || own.attention_replicas || own.experts) c.prefill = own;
    if (const auto latency = apart->find("latency")) c.transfer_fixed = latency->quantity<Seconds>(0);
    apart->done();
    if (c.limits.batching == Batching::static_batching) apart->fail("is not modelled with static batches");
  }
}

// The share of "p95" or "p99.9", and 0 of "mean"; none for other texts. A percentile has one text: its number without
// zeros at the end and with no more digits than it needs.
std::optional<double> share_of(std::string_view statistic) {
  if (statistic == "mean") return 0;
  if (statistic.size() < 2 || statistic[0] != 'p' || statistic[1] < '1' || statistic[1] > '9') return std::nullopt;
  const std::string_view number = statistic.substr(1);
  double percent = 0;
  const auto [rest, error] =
      std::from_chars(number.data(), number.data() + number.size(), percent, std::chars_format::fixed);
  if (error != std::errc() || rest != number.data() + number.size() || percent >= 100) return std::nullopt;
  std::array<char, 32> shortest{};
  const auto written = std::to_chars(shortest.begin(), shortest.end(), percent, std::chars_format::fixed);
  if (number != std::string_view(shortest.data(), at(written.ptr - shortest.data()))) return std::nullopt;
  return percent / 100;
}

// Percentiles that differ in their last digits alone may be one share.
void refuse_equal_shares(const Reader& in, const std::vector<LatencyTargets::Target>& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].of == sorted[i - 1].of && sorted[i].share == sorted[i - 1].share)
      in.at(sorted[i].name).fail("limits the same percentile as \"" + sorted[i - 1].name + "\"");
}

// "ttft_p95": a latency and its mean or any percentile.
LatencyTargets read_latency_targets(const Reader& in) {
  using Target = LatencyTargets::Target;
  using Of = Target::Of;
  constexpr NamedValues<Of, 3> kLatencies{{{"ttft", Of::ttft}, {"tpot", Of::tpot}, {"e2e", Of::e2e}}};
  in.suggest({"ttft_mean", "ttft_p50", "ttft_p90", "ttft_p95", "ttft_p99", "tpot_mean", "tpot_p50", "tpot_p90",
              "tpot_p95", "tpot_p99", "e2e_mean", "e2e_p50", "e2e_p90", "e2e_p95", "e2e_p99"});
  LatencyTargets all;
  for (const auto& [key, unread] : in.unread_entries()) {
    const std::size_t bar = key.find('_');
    if (bar == std::string::npos) continue;
    const auto of = value_named(kLatencies, std::string_view(key).substr(0, bar));
    const auto share = share_of(std::string_view(key).substr(bar + 1));
    if (of && share) all.targets.push_back({*of, *share, in.at(key).quantity<Seconds>(), key});
  }
  std::ranges::stable_sort(
      all.targets, [](const Target& a, const Target& b) { return a.of != b.of ? a.of < b.of : a.share < b.share; });
  refuse_equal_shares(in, all.targets);
  in.done();
  return all;
}

void read_nodes(const Reader& in, Prices& prices) {
  constexpr int kMost = 4096;
  if (!in.is_object()) {
    prices.usual_devices_per_node = in.positive_int(kMost);
    return;
  }
  for (const auto& [device, count] : in.entries()) prices.devices_per_node[device] = count.positive_int(kMost);
}

// A choice as text: {"off_above": 24} is "off_above:24"; the key of an object's only member is left out if that is an
// object: "1:5,16:3".
std::string label(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump();
  if (value.size() == 1 && value.front().is_object()) return label(value.front());
  std::string text;
  for (const auto& [key, member] : value.items()) text += (text.empty() ? "" : ",") + key + ":" + label(member);
  return text;
}

// Where a workload has its lengths from: "800", "trace:azure.csv"; "" if from the scenario.
std::string lengths_of(const Reader& workload, const char* which) {
  const nlohmann::json all = workload.chosen();
  const auto lengths = all.find("lengths");
  const auto given = [&](const char* key) { return lengths->contains(key); };
  if (lengths == all.end() || (lengths->is_object() && !given("prompt") && !given("output") && !given("trace"))) {
    const auto arrivals = all.find("arrivals");
    const bool recorded = arrivals != all.end() && arrivals->is_object() && arrivals->contains("trace");
    return recorded ? "trace:" + label(arrivals->at("trace")) : "";
  }
  if (!lengths->is_object()) return label(*lengths);
  if (given(which)) return label(lengths->at(which));
  return given("trace") ? "trace:" + label(lengths->at("trace")) : "";
}

}  // namespace

SchedulerLimits engine_limits(const Engine& e, const Device& d, Speculation speculation) {
  return limits_on({}, e, d, speculation);
}
SchedulerLimits limits_on(const ServingChoice& c, const Engine& e, const Device& d, Speculation speculation) {
  SchedulerLimits l = c.limits;
  const CardLimits card = e.scheduler.on(d);
  if (!c.says_seqs) {
    l.max_num_seqs = card.max_num_seqs.value_or(l.max_num_seqs);
    if (speculation == Speculation::on) l.max_num_seqs = card.max_num_seqs_speculating.value_or(l.max_num_seqs);
  }
  if (!c.says_tokens) l.max_num_batched_tokens = card.max_num_batched_tokens.value_or(l.max_num_batched_tokens);
  if (!c.says_batching && e.scheduler.prompts_apart && l.batching != Batching::static_batching)
    l.batching = *e.scheduler.prompts_apart ? Batching::prefill_first : Batching::continuous;
  return l;
}

std::optional<int> Prices::node_of(const std::string& device) const {
  const auto own = devices_per_node.find(device);
  return own == devices_per_node.end() ? usual_devices_per_node : std::optional(own->second);
}

Serving read_serving(const Reader& scenario, double gpu_memory_utilization, Catalogue& catalogue) {
  constexpr std::array<const char*, 7> kParts{"workload",          "scheduler",      "policy", "replicas",
                                              "pipeline_parallel", "disaggregation", "routing"};
  Serving s;
  std::vector<Axis> axes;
  for (const char* part : kParts)
    if (const auto in = scenario.find(part)) find_axes(*in, part, axes);
  for (const Axis& a : axes) s.axes.push_back(a.key);
  std::vector<Axis> of_workload;
  find_axes(scenario.at("workload"), "workload", of_workload);
  s.axes_of_workload = of_workload.size();
  if (const auto slo = scenario.find("slo", "latency_targets")) s.targets = read_latency_targets(*slo);
  if (const auto n = scenario.find("replications")) s.replications = n->positive_int(10'000);
  if (const auto prices = scenario.find("prices"))
    for (const auto& [device, price] : prices->entries()) s.prices.per_hour[device] = price.number(0, 1e9);
  if (const auto nodes = scenario.find("devices_per_node")) read_nodes(*nodes, s.prices);
  const std::size_t count = combinations(axes);
  if (count > kMostChoices) {
    scenario.fail("the product of the lists in workload, scheduler and policy has more than a million alternatives");
    return s;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto choices = combination(axes, i);
    const Reader in = scenario.choosing(choices);
    ServingChoice c;
    c.load = i / (count / combinations(of_workload));  // its lists are the first, which vary slowest
    c.gpu_memory_utilization = gpu_memory_utilization;
    c.workload = read_workload(in.at("workload"), catalogue);
    if (const auto scheduler = in.find("scheduler")) read_scheduler(*scheduler, c);
    if (c.workload.shared_prefix) c.workload.shared_prefix->block = c.limits.block_size;
    read_fleet(in, c);
    c.prompt_lengths = lengths_of(in.at("workload"), "prompt");
    c.output_lengths = lengths_of(in.at("workload"), "output");
    if (const auto policy = in.find("policy")) c.policy = read_draft_policy(*policy);
    for (auto choice = choices.rbegin(); choice != choices.rend(); ++choice) {
      c.varying.push_back(label(choice->list.item(choice->index).json()));
    }
    s.choices.push_back(std::move(c));
    if (scenario.failed()) break;  // the other choices would repeat the mistakes
  }
  return s;
}

}  // namespace draftline
