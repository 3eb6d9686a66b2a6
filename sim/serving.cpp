// SPDX-License-Identifier: Apache-2.0
#include "sim/serving.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "predict/device_memory.h"
#include "predict/prefix_reuse.h"
#include "predict/step_modes.h"
#include "sim/fleet_cost.h"
#include "sim/serving_checks.h"
#include "sim/serving_warnings.h"
#include "sim/step_scale.h"
#include "sim/step_table.h"

namespace draftline {

ServingSweep::ServingSweep(const std::filesystem::path& scenario, const Data& data) : sweep_(scenario, data) {}
ServingSweep::ServingSweep(Document scenario, const Data& data) : sweep_(std::move(scenario), data) {}
ServingSweep::ServingSweep(Scenario scenario, const Data& data) : sweep_(std::move(scenario), data) {}

void ServingSweep::validate() {
  const Reader root = scenario().document.root();
  if (!scenario().serving)
    throw InputErrors(root.place() + ": has no \"workload\" to simulate; `draftline run` predicts it");
  sweep_.validate();
  check_serving(sweep_);
  scenario().document.finish();
}

// The method at every draft length from 0 to its own; of a tree, at 0 and its own.
std::vector<std::unique_ptr<MethodChoice>> ServingSweep::variants(const Setup& s, const MethodChoice& m) {
  const int depth = sweep_.recordings().method(s, m).usual_depth();
  const bool chain = sweep_.recordings().chain_length(s, m).has_value();
  std::vector<std::unique_ptr<MethodChoice>> all;
  if (depth > 0) all.push_back(std::make_unique<MethodChoice>(autoregressive()));
  for (int k = 1; k < depth; ++k) {
    const auto shorter = chain ? m.spec.with_draft_length(k, *s.transformer) : std::nullopt;
    all.push_back(shorter ? std::make_unique<MethodChoice>(m.with(*shorter)) : nullptr);
  }
  all.push_back(std::make_unique<MethodChoice>(m));
  return all;
}

std::shared_ptr<MethodPrices> ServingSweep::prices(const Point& p, const Setup& setup, int stages) {
  Point what = p;
  what.prompt = what.output = what.batch = what.serving = 0;
  if (priced_ != what) prices_.clear();
  priced_ = what;
  auto& known = prices_[{stages, setup.parallel, setup.engine.get()}];
  if (!known) {
    known = std::make_shared<MethodPrices>();
    const MethodChoice& method = scenario().method(p);
    known->by_drafts = variants(setup, method);
    std::vector<const MethodChoice*> by_drafts;
    for (const auto& m : known->by_drafts) by_drafts.push_back(m.get());
    known->table = std::make_unique<StepTable>(sweep_.pricer(), setup, by_drafts, method, stages);
  }
  return known;
}

// Long runs keep no draws, which would take memory that grows with the requests.
const DraftOutcomes& ServingSweep::outcomes(const Point& p, const Setup& s, const Workload& workload) {
  constexpr std::size_t kMost = 16;  // each may keep some 32 MiB of draws
  constexpr std::int64_t kMostRequests = 1 << 15;
  const bool from_start = workload.lengths_of_acceptance, keeps = workload.requests <= kMostRequests;
  const MethodChoice& m = scenario().method(p);
  const int rows = sweep_.recordings().verified_rows(s, m);
  const auto key = std::tuple(p.transformer, p.engine, p.method, rows, from_start, keeps);
  if (const auto known = outcomes_.find(key); known != outcomes_.end()) return known->second;
  if (outcomes_.size() >= kMost) outcomes_.clear();
  DraftOutcomes& fresh =
      outcomes_.emplace(key, m.acceptance.outcomes({m.spec, sweep_.recordings().method(s, m), rows}, from_start))
          .first->second;
  if (keeps) fresh.keep_draws();
  return fresh;
}

// The largest batch that grows to its size in steps within the token budget.
static int largest_batch_within_budget(const SchedulerLimits& limits, const Drafting& drafting) {
  const auto rows = [&](int sequences) {
    const int each =
        drafting.outcomes == nullptr ? 1 : drafting.rows_of(most_drafts(drafting.policy, drafting.lengths, sequences));
    return std::int64_t{sequences} * each;
  };
  if (rows(1) > limits.max_num_batched_tokens)
    throw InputErrors("\"max_num_batched_tokens\" is " + std::to_string(limits.max_num_batched_tokens) +
                      ", but a sequence verifies " + std::to_string(rows(1)) + " rows in a step");
  int most = 1;
  while (most < limits.max_num_seqs && rows(most + 1) <= limits.max_num_batched_tokens) ++most;
  return most;
}

// The choice's workload, its texts as long as the scenario says where it is silent.
static Workload workload_of(const ServingChoice& choice, const MethodChoice& method, const Setup& setup) {
  Workload workload = choice.workload;
  if (std::holds_alternative<ScenarioLength>(workload.prompt)) workload.prompt = FixedLength{setup.prompt_tokens};
  if (std::holds_alternative<ScenarioLength>(workload.output)) workload.output = FixedLength{setup.output_tokens};
  if (workload.lengths_of_acceptance) {
    auto lengths = std::make_shared<WorkloadTrace>();
    const Trace& trace = *method.acceptance.trace();
    for (int i = 0; i < trace.prompts(); ++i)
      lengths->requests.push_back({0, trace.prompt_tokens(i), trace.positions(i), 0});
    workload.length_trace = lengths;
  }
  return workload;
}

static void refuse_long_texts(const Workload& workload, const TransformerShape& network) {
  // Recorded requests are checked one by one, as each has a place of its own to be told at.
  if (is_recorded(workload.prompt) || is_recorded(workload.output)) return;
  const double text = mean_prompt(workload) + mean_output(workload);
  if (const auto most = network.max_positions; most && text > *most)
    throw InputErrors("texts of " + std::to_string(std::llround(text)) + " tokens on average, " + network.name +
                      " has " + std::to_string(*most) + " positions");
}

// What the method drafts, by which policy, and what will be accepted.
void ServingSweep::add_drafting(ServingPoint& point, const Point& p) {
  const MethodChoice& method = scenario().method(p);
  Recordings& steps = sweep_.recordings();
  Drafting& drafting = point.drafting;
  drafting.draft_length = steps.method(point.setup, method).usual_depth();
  if (drafting.draft_length == 0) return;
  point.outcomes = outcomes(p, point.setup, point.workload);
  drafting.draft_length = std::min(drafting.draft_length, point.outcomes.depth());
  drafting.outcomes = &point.outcomes;
  drafting.rows = std::max(steps.verified_rows(point.setup, method), point.outcomes.depth() + 1);
  drafting.policy = scenario().serving->choices[p.serving].policy;
  if (drafting.policy.kind == DraftPolicy::Kind::confidence) {
    point.confidence.emplace(point.outcomes.conditional_rates(), drafting.policy.concentration);
    drafting.confidence = &*point.confidence;
  }
}

static void refuse_full_drafter(const ServerMemory& memory) {
  if (memory.drafter && memory.drafter->left <= Bytes{})
    throw InputErrors(
        "no room for the drafter's KV cache: weights and activations take all that may be used of its "
        "device");
}

// The KV pool in what the server's memory leaves, and what moving its entries costs.
static void add_kv_pool(ServingPoint& point, const ServingChoice& choice, const ServerMemory& memory) {
  const Setup& setup = point.setup;
  SchedulerLimits& limits = point.limits;
  const Bytes taken = memory.taken(choice.fleet.stages), usable = setup.gpu_memory_utilization * setup.device->memory;
  refuse_full_drafter(memory);
  limits.kept = memory.kept;
  limits.kv_blocks =
      choice.kv_blocks.value_or(to_int64(std::max(0.0, memory.tokens(usable - taken) / limits.block_size)));
  if (limits.kv_blocks * limits.block_size <= point.drafting.rows)
    throw InputErrors("no room for a KV cache: weights and activations need " + to_text(taken) + " of " +
                      to_text(usable) + " on each device");
  if (limits.swap) limits.swap_per_token = memory.per_token / choice.host_link;
  point.fleet.transfer_fixed = choice.transfer_fixed;
  if (point.fleet.prefill_replicas > 0) point.fleet.transfer_per_token = memory.per_token / choice.transfer_rate;
  if (!memory.states) return;
  if (point.fleet.prefill_replicas > 0) point.fleet.transfer_fixed += memory.states->state / choice.transfer_rate;
  const int seats = memory.states->sequences(usable - taken);
  if (seats == 0)
    throw InputErrors("no room for recurrent states: one sequence needs " + to_text(memory.states->sequence) + " of " +
                      to_text(memory.states->share * (usable - taken)) + " on each device");
  point.state_seats = seats;
  limits.max_num_seqs = std::min(limits.max_num_seqs, seats);
  point.setup.batch_size = limits.max_num_seqs * setup.parallel.attention_replicas;
}

// Servers that compute prompts, if they divide the network otherwise than those that decode.
void ServingSweep::add_prefill_servers(ServingPoint& point, const Point& p) {
  const ServingChoice& choice = scenario().serving->choices[p.serving];
  if (!choice.prefill) return;
  Setup setup = point.setup;
  setup.parallel = choice.prefill->instead_of(setup.parallel);
  if (const auto why = refuses_sharing(*setup.device, *setup.transformer, setup.parallel))
    throw InputErrors("servers that compute prompts: " + *why);
  const SchedulerLimits& decode = point.limits;
  point.fleet.prefill_parts = setup.parallel.attention_replicas;
  setup.batch_size = decode.max_num_seqs * setup.parallel.attention_replicas;
  const ServerMemory memory = server_memory(sweep_.recordings(), setup, scenario().method(p), decode.max_num_seqs,
                                            decode.max_num_batched_tokens);
  const Bytes taken = memory.taken(choice.fleet.stages), usable = setup.gpu_memory_utilization * setup.device->memory;
  point.prefill = {decode, prices(p, setup, choice.fleet.stages), setup.parallel.devices};
  SchedulerLimits& limits = point.prefill->limits;
  refuse_full_drafter(memory);
  limits.kept = memory.kept;
  limits.kv_blocks = to_int64(std::max(0.0, memory.tokens(usable - taken) / limits.block_size));
  if (limits.kv_blocks * limits.block_size <= point.drafting.rows)
    throw InputErrors("no room for a KV cache on servers that compute prompts: weights and activations need " +
                      to_text(taken) + " of " + to_text(usable) + " on each device");
  point.prefill->prices->table->allow(setup.batch_size);
  Seconds& transfer = point.fleet.transfer_per_token;  // by the side with fewer devices, each of which sends more
  transfer = std::max(transfer, memory.per_token / choice.transfer_rate);
}

std::unique_ptr<ServingPoint> ServingSweep::prepare(const Point& p) {
  const ServingChoice& choice = scenario().serving->choices[p.serving];
  const MethodChoice& method = scenario().method(p);
  auto point = std::make_unique<ServingPoint>();
  point->watcher = watcher_;
  Setup& setup = point->setup = sweep_.setup(p);
  if (const auto why = refuses_sharing(*setup.device, *setup.transformer, setup.parallel)) throw InputErrors(*why);
  if (const auto why = refuses_serving(sweep_, p)) throw InputErrors(*why);
  point->workload = workload_of(choice, method, setup);
  point->workload.drawn = &drawn_;
  refuse_long_texts(point->workload, *setup.transformer);
  point->fleet = choice.fleet;
  point->fleet.parts = point->fleet.prefill_parts = setup.parallel.attention_replicas;
  point->fleet.front_end = setup.engine->front_end;
  add_drafting(*point, p);

  Drafting& drafting = point->drafting;
  SchedulerLimits& limits = point->limits =
      limits_on(choice, *setup.engine, *setup.device, speculation_with(drafting.draft_length));
  const int stages = choice.fleet.stages, most_sequences = limits.max_num_seqs;
  limits.max_num_seqs = std::max(1, limits.max_num_seqs / stages);
  point->prices = prices(p, setup, stages);
  const auto& by_drafts = point->prices->by_drafts;
  for (std::size_t k = 0; k < by_drafts.size(); ++k)
    if (by_drafts[k]) drafting.lengths.push_back(to_int(k));
  limits.prefix_reuse = prefix_reuse(setup, method.spec, limits.block_size);
  limits.max_num_seqs = largest_batch_within_budget(limits, drafting);
  setup.batch_size = limits.max_num_seqs * setup.parallel.attention_replicas;
  point->prices->table->allow(setup.batch_size);
  add_kv_pool(*point, choice,
              server_memory(sweep_.recordings(), setup, method, most_sequences, limits.max_num_batched_tokens));
  add_prefill_servers(*point, p);
  point->choice = without_load_axes(*scenario().serving, choice);
  return point;
}

// The devices that serve a point: what they cost and draw.
static void note_devices(const Scenario& scenario, const ServingPoint& point, const Point& p, ServingResult& out) {
  const Serving& serving = *scenario.serving;
  const ServerDevices each = devices_of_server(scenario, p);
  const int prefilling = point.fleet.prefill_replicas,
            servers = point.fleet.replicas + (point.prefill ? 0 : prefilling);
  out.devices = servers * each.all();
  const bool priced = !serving.prices.per_hour.empty();
  if (priced) out.cost_per_hour = cost_of_fleet(servers, each, serving.prices).per_hour;
  if (point.prefill) {
    ServerDevices own = each;
    own.targets = point.prefill->devices * point.fleet.stages;
    out.devices += prefilling * own.all();
    if (priced) *out.cost_per_hour += cost_of_fleet(prefilling, own, serving.prices).per_hour;
  }
  const auto own = scenario.method(p).drafter_device;
  const auto target = point.setup.device->power_watts, drafter = own ? own->device->power_watts : target;
  if (target && drafter) out.power_watts = own ? (each.targets * *target + *drafter) / each.all() : *target;
}

// At the mean batch of the first run.
std::vector<std::string> ServingSweep::warnings_of_steps(const Point& p, const ServingPoint& point,
                                                         const ServingResult& r) {
  const MethodChoice& method = scenario().method(p);
  Setup busy = point.setup;
  const double running = r.runs.front().figures.mean_in_system() / (point.fleet.servers() * point.fleet.parts);
  busy.batch_size = std::clamp(to_int(std::lround(std::min(running, 1.0 * r.batch_limit))), 1, r.batch_limit) *
                    busy.parallel.attention_replicas;
  const auto priced = sweep_.pricer().of(busy, method);
  const BuiltMethod built{method.spec, priced->method()};
  auto all = mode_warnings(busy, method.spec, *priced, method.acceptance.draft_counts(built));
  if (auto unknown = method.acceptance.unknown_drafts(built)) all.push_back(*std::move(unknown));
  return all;
}

// Both ends at the mean number of requests in flight.
void ServingSweep::add_ends(ServingResult& out, const Point& p, ServingPoint& point, std::uint64_t seed) {
  const double in_flight = out.runs.front().figures.mean_in_system() / point.fleet.servers();
  const StepOutlook busy = outlook(p, point, in_flight);
  out.no_interval = busy.caveats.no_interval;
  if (!busy.step) return;
  const Engine& engine = *point.setup.engine;
  const auto known = engine.intervals.find("front_end");
  const Interval front_end = known == engine.intervals.end()
                                 ? Interval{point.fleet.front_end.value, point.fleet.front_end.value}
                                 : known->second;
  const auto run = [&](double factor, double prompts, double first) {
    const StepScale scale(point, factor, prompts, Seconds{first});
    return point.run(seed, scenario().serving->targets);
  };
  const RatioInterval& prompts = engine.prompt_error;
  try {
    out.ends = {*busy.step, run(busy.step->low, prompts.low, front_end.low),
                run(busy.step->high, prompts.high, front_end.high)};
  } catch (const InputErrors& e) {  // the point has its result all the same
    out.no_interval = std::string("no interval: with the longest steps of the interval ") + e.what();
  }
}

ServingResult ServingSweep::serve(const Point& p, const Options& o) {
  const Serving& serving = *scenario().serving;
  const auto point = prepare(p);
  ServingResult out;
  out.kv_blocks = point->limits.kv_blocks;
  out.batch_limit = point->limits.max_num_seqs;
  out.servers = point->fleet.schedulers();
  note_devices(scenario(), *point, p, out);
  for (int i = 0; i < serving.replications.value_or(1); ++i)
    out.runs.push_back(
        point->run(seed_of_replication(o.seed, i), serving.targets, i == 0 ? o.observer : nullptr, o.progress));
  if (o.intervals) add_ends(out, p, *point, o.seed);
  out.warnings = serving_warnings(serving.choices[p.serving], *point, scenario().method(p), out);
  const auto modes = warnings_of_steps(p, *point, out);
  out.warnings.insert(out.warnings.end(), modes.begin(), modes.end());
  if (o.oracle && point->fleet.parts == 1 && point->drafting.lengths.size() > 1 &&
      point->drafting.outcomes != nullptr && !point->outcomes.by_length()) {
    point->drafting.policy.kind = DraftPolicy::Kind::oracle;
    out.oracle = point->run(o.seed, serving.targets);
  }
  return out;
}

StepOutlook ServingSweep::outlook(const Point& p, const ServingPoint& point, double in_flight) {
  Setup setup = point.setup;
  setup.batch_size = std::clamp(to_int(in_flight), 1, point.limits.max_num_seqs * point.fleet.parts);
  setup.prompt_tokens = std::max(1, to_int(std::lround(mean_prompt(point.workload))));
  setup.output_tokens = std::max(2, to_int(std::lround(mean_output(point.workload))));
  const auto outcome = predict(sweep_.pricer(), setup, scenario().method(p));
  StepOutlook out;
  if (const auto* predicted = std::get_if<Prediction>(&outcome)) {
    if (predicted->interval) out.step = predicted->interval->step_time;
    out.caveats.note(*predicted);
  }
  return out;
}

ServingOutcome ServingSweep::at(std::size_t index, const Options& o) {
  const Point p = point_at(scenario(), index);
  try {
    return {p, serve(p, o)};
  } catch (const InputErrors& e) { return {p, std::string(e.what())}; }
}

}  // namespace draftline
