// SPDX-License-Identifier: Apache-2.0
#include "sim/advice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "predict/device_memory.h"
#include "predict/prefix_reuse.h"

namespace draftline {

namespace {

std::optional<Prediction> predicted(Predictor& predictor, const Setup& s) {
  auto out = predictor.at(s.batch_size, s.prompt_tokens, s.output_tokens);
  if (auto* p = std::get_if<Prediction>(&out)) return std::move(*p);
  return std::nullopt;
}

StepLosses losses_of(const StepBreakdown& more, Seconds plain_step) {
  const auto verify = [&](KernelKind k) { return more.of(Phase::verify, k) / plain_step; };
  return {.draft = more.of(Phase::draft) / plain_step,
          .products = verify(KernelKind::gemm) + verify(KernelKind::elementwise),
          .cache_reads = verify(KernelKind::attention) + verify(KernelKind::recurrence),
          .experts = verify(KernelKind::experts),
          .communication = more.communication() / plain_step,
          .commit = more.of(Phase::commit) / plain_step,
          .host = more.host() / plain_step};
}

BatchAdvice at_batch(int batch, const Prediction& with, const Prediction& plain) {
  BatchAdvice a;
  a.batch_size = batch;
  a.speedup = with.speedup;
  a.request_speedup = with.speedup_with_prefill;
  if (with.interval) a.interval = with.interval->speedup;
  a.acceptance_length = with.acceptance_length;
  a.break_even_length = with.acceptance_length / with.speedup;
  a.plain_step = plain.step_time;
  a.step = with.step_time;
  a.losses = losses_of(with.breakdown - plain.breakdown, plain.step_time);
  return a;
}

// The tokens in the KV pool of a server with default limits; negative if the weights leave no memory for a pool.
double pool_tokens(Recordings& recordings, Setup s, const MethodChoice& m) {
  const SchedulerLimits limits = engine_limits(*s.engine, *s.device, m.spec.speculation());
  s.batch_size = 1;
  s.batch_size = batch_limit(limits, recordings.verified_rows(s, m));
  const ServerMemory memory = server_memory(recordings, s, m, limits.max_num_seqs, limits.max_num_batched_tokens);
  return memory.tokens(s.gpu_memory_utilization * s.device->memory - memory.taken());
}

// The largest batch that fits in device memory, up to kMostBatchSize; 0: none.
int largest_batch(Predictor& predictor, Setup s) {
  const auto fits = [&](int batch) {
    s.batch_size = batch;
    return predicted(predictor, s).has_value();
  };
  if (!fits(1)) return 0;
  int low = 1, high = 2;  // low fits
  while (high <= kMostBatchSize && fits(high)) low = high, high *= 2;
  high = std::min(high, kMostBatchSize + 1);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// The sequences of a server with plain decoding under this workload, at most `largest`; none without a rate.
std::optional<int> batch_under(const ServingChoice& choice, Predictor& plain, Setup s, int largest) {
  const int servers = std::max(1, choice.fleet.replicas);
  if (const int loop = choice.workload.arrivals.concurrency; loop > 0)
    return std::clamp((loop + servers - 1) / servers, 1, largest);
  const double rate = mean_rate(choice.workload) / servers;
  if (rate <= 0) return std::nullopt;
  const auto keeps_up = [&](int batch) {  // Little's law: a batch of requests leaves in the time of one
    s.batch_size = batch;
    const auto p = predicted(plain, s);
    return p && rate * p->request.e2e.value <= batch;
  };
  int low = 0, high = largest;  // low does not keep up
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (keeps_up(middle) ? high : low) = middle;
  }
  return std::max(1, high);
}

// Batches between which changes are looked for: those that are reported, powers of two, and the largest.
std::vector<int> looked_at(const std::vector<int>& reported, int largest) {
  std::set<int> all{largest};
  for (const int batch : reported)
    if (batch <= largest) all.insert(batch);
  for (int batch = 1; batch < largest; batch *= 2) all.insert(batch);
  return {all.begin(), all.end()};
}

}  // namespace

Payoff verdict_on(const BatchAdvice& b) {
  const RatioInterval i = b.interval.value_or(RatioInterval{1 / kUnknownError, kUnknownError});
  if (b.request_speedup * i.low >= 1) return Payoff::pays;
  return b.request_speedup * i.high < 1 ? Payoff::does_not_pay : Payoff::too_close;
}

Payoff Advice::verdict() const {
  const auto any = [&](Payoff v) {
    return std::ranges::any_of(batches, [&](const BatchAdvice& b) {
      return (!batch_at_load || b.batch_size == batch_at_load) && verdict_on(b) == v;
    });
  };
  return any(Payoff::pays) ? Payoff::pays : any(Payoff::too_close) ? Payoff::too_close : Payoff::does_not_pay;
}

Advice advise(Sweep& sweep, std::size_t index, const std::vector<int>& batches, LoadAdvisor* load, std::uint64_t seed) {
  const Scenario& scenario = sweep.scenario();
  Recordings& recordings = sweep.recordings();
  Advice out;
  out.point = point_at(scenario, index);
  const MethodChoice& m = scenario.method(out.point);
  Setup s = sweep.setup(out.point);
  using enum Predictor::Intervals;
  Predictor predictor(sweep.pricer(), s, m, left_out), with_intervals(sweep.pricer(), s, m, computed),
      plain(sweep.pricer(), s, autoregressive(), left_out);
  const auto at = [&](int batch) {
    s.batch_size = batch;
    return predicted(predictor, s);
  };
  s.batch_size = 1;
  const auto first = predictor.at(s.batch_size, s.prompt_tokens, s.output_tokens);
  if (const auto* why = std::get_if<std::string>(&first)) {
    out.obstacle = *why;
    return out;
  }

  out.largest_batch = largest_batch(predictor, s);
  const SchedulerLimits usual = limits_on(scenario.serving ? scenario.serving->choices.front() : ServingChoice{},
                                          *s.engine, *s.device, Speculation::on);
  out.batch_limit = batch_limit(usual, recordings.verified_rows(s, m));
  std::vector<int> reported;
  std::copy_if(batches.begin(), batches.end(), std::back_inserter(reported),
               [&](int batch) { return at(batch).has_value(); });
  if (scenario.serving) out.batch_at_load = batch_under(scenario.serving->choices.front(), plain, s, out.largest_batch);
  if (out.batch_at_load && std::ranges::find(reported, *out.batch_at_load) == reported.end())
    reported.insert(std::ranges::upper_bound(reported, *out.batch_at_load), *out.batch_at_load);
  if (reported.empty()) reported = {out.largest_batch};  // no requested batch size fits
  out.pays_at = stretches(
      looked_at(reported, out.largest_batch), [&](int batch) { return at(batch)->speedup_with_prefill >= 1; },
      [](int a, int b) { return b - a > 1 ? std::optional(a + (b - a) / 2) : std::nullopt; });
  std::optional<Predictor> sharded;
  if (const auto choice = recordings.with_sharded_draft(s, m)) sharded.emplace(sweep.pricer(), s, *choice);
  for (const int batch : reported) {
    s.batch_size = batch;
    const auto prediction = predicted(with_intervals, s);
    BatchAdvice a = at_batch(batch, *prediction, *predicted(plain, s));
    out.caveats.note(*prediction);
    if (sharded)
      if (const auto p = predicted(*sharded, s)) a.sharded_speedup = p->speedup;
    out.batches.push_back(a);
  }
  for (const BatchAdvice& b : out.batches) {
    const double share = !out.batch_at_load ? 1.0 / to_double(out.batches.size()) : b.batch_size == out.batch_at_load;
    out.gain *= std::pow(std::max(1.0, b.request_speedup), share);
  }
  out.draft_length = recordings.chain_length(s, m);
  DraftSchedule lengths(sweep.pricer(), s, m);
  for (const int prompt : lengths.knows_lengths() ? scenario.prompt_tokens : std::vector<int>{}) {
    for (const int batch : reported)
      if (const auto best = lengths.best(prompt, batch)) out.best.push_back(*best);
    Setup longer = s;
    longer.prompt_tokens = prompt;
    const int largest = largest_batch(predictor, longer);
    if (largest == 0) continue;
    const auto schedule = lengths.by_batch(prompt, largest);
    out.schedule.insert(out.schedule.end(), schedule.begin(), schedule.end());
  }

  if (const double pool = pool_tokens(recordings, s, autoregressive()); pool > 0)
    out.pool_lost = std::clamp(1 - pool_tokens(recordings, s, m) / pool, 0.0, 1.0);  // fewer sequences leave more
  if (load != nullptr) {
    Point p = out.point;
    p.batch = 0;
    out.rate = load->at(p, seed);
  }
  return out;
}

Scenario with_arrivals(Scenario s) {
  s.batch_sizes = {1};
  if (!s.serving) {
    ServingChoice load;
    load.workload.arrivals.rate = 1;
    load.workload.requests = 600;
    load.workload.shared_prefix = s.shared_prefix;
    if (!s.shared_prefix && s.cached_prompt_tokens > 0)
      load.workload.shared_prefix = SharedPrefix{s.cached_prompt_tokens};
    s.serving.emplace().choices = {load};
  }
  s.methods.push_back(autoregressive());  // last, so that the indices of the others remain valid
  return s;
}

Scenario with_mean_lengths(Scenario s) {
  if (!s.serving) return s;
  const Workload& w = s.serving->choices.front().workload;
  const auto take = [&](const char* key, double mean, int least, std::vector<int>& tokens) {
    if (!s.document.root().has(key) && mean > 0) tokens = {std::max(least, to_int(std::lround(mean)))};
  };
  take("prompt_tokens", mean_prompt(w), 1, s.prompt_tokens);
  take("output_tokens", mean_output(w), 2, s.output_tokens);
  // Networks that share no prefixes in the simulator (SchedulerLimits::shares_prefixes) have none cached here.
  const bool shares = std::ranges::all_of(s.transformers, [&](const auto& t) {
    return std::ranges::all_of(s.engines, [&](const auto& e) { return reuses_prefixes(*e, *t); });
  });
  if (w.shared_prefix && shares && s.serving->choices.front().limits.prefix_caching) {
    s.shared_prefix = w.shared_prefix;
    s.shared_prefix->tokens = s.cached_prompt_tokens = w.shared_prefix->whole_blocks(s.prompt_tokens.front() - 1);
  }
  return s;
}

}  // namespace draftline
