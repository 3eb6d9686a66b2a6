// SPDX-License-Identifier: Apache-2.0
#include "sim/advice.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace draftline {

namespace {

constexpr int kMostBatch = 1 << 14;

std::optional<Prediction> predict(Predictor& predictor, const Setup& s, const MethodChoice& m) {
  auto out = predictor.predict(s, m);
  if (auto* p = std::get_if<Prediction>(&out)) return *p;
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

BatchAdvice at_batch(Predictor& predictor, const Setup& s, const Prediction& with) {
  const Prediction plain = *predict(predictor, s, autoregressive());
  BatchAdvice a;
  a.batch_size = s.batch_size;
  a.speedup = with.speedup;
  a.request_speedup = with.speedup_with_prefill;
  a.length = with.acceptance_length;
  a.needed_length = with.acceptance_length / with.speedup;
  a.plain_step = plain.step_time;
  a.step = with.step_time;
  a.losses = losses_of(with.breakdown - plain.breakdown, plain.step_time);
  return a;
}

// The tokens in the KV pool of a server with default limits; negative if the weights leave no memory for a pool.
double pool_tokens(Predictor& predictor, Setup s, const MethodChoice& m) {
  const ServingChoice usual;
  const SchedulerLimits limits = limits_on(usual, *s.engine, *s.device, !m.spec.is_plain());
  s.batch_size = 1;
  s.batch_size = batch_limit(limits, predictor.verified_rows(s, m));
  const Predictor::Room room = predictor.room(s, m, limits.max_num_batched_tokens);
  return room.tokens(s.gpu_memory_utilization * s.device->memory - room.taken());
}

RateAdvice advise_rate(ServingSweep& serving, const Point& p, std::size_t plain_method, std::uint64_t seed) {
  Point plain_point = p;
  plain_point.method = plain_method;
  const auto plain = serving.prepare(plain_point), with = serving.prepare(p);
  const Workload whole = plain->workload;
  struct Seen {
    double ratio;  // mean latency with speculation over that of plain decoding
    bool overloaded;
  };
  const auto at = [&](double rate) {
    plain->workload = with->workload = at_rate(whole, rate / mean_rate(whole));
    const ServingRun a = plain->run(seed, {}), b = with->run(seed, {});
    return Seen{b.figures.e2e.mean() / a.figures.e2e.mean(), a.diverges};
  };
  // The search starts at a rate at which the server is idle most of the time.
  plain->workload.arrivals = {ArrivalProcess::Kind::closed};
  plain->workload.arrivals.concurrency = 1;
  plain->workload.requests = std::min<std::int64_t>(whole.requests, 20);
  plain->workload.warm_up = 0;
  const double alone = plain->run(seed, {}).figures.e2e.mean().value;
  const double burst = static_cast<double>(whole.requests) / alone;  // all requests arrive while one is served
  double low = 0.02 / alone, high = low;
  RateAdvice out;
  if (at(low).ratio >= 1) {
    out.never = true;
    return out;
  }
  for (;;) {
    high *= 2;
    if (high > 2 * burst) {
      out.too_few = true;
      return out;
    }
    const Seen seen = at(high);
    if (seen.ratio >= 1) break;
    if (seen.overloaded) {
      out.overloaded = true;
      break;
    }
    low = high;
  }
  while (high / low > 1.03) {
    const double middle = std::sqrt(low * high);
    const Seen seen = at(middle);
    ((out.overloaded ? seen.overloaded : seen.ratio >= 1) ? high : low) = middle;
  }
  out.pays_to = {low};
  return out;
}

}  // namespace

Advice advise(Sweep& sweep, std::size_t index, const std::vector<int>& batches, ServingSweep* serving,
              std::uint64_t seed) {
  const Scenario& scenario = sweep.scenario();
  Predictor& predictor = sweep.predictor();
  Advice out;
  out.point = point_at(scenario, index);
  const MethodChoice& m = scenario.method(out.point);
  Setup s = sweep.setup(out.point);
  const auto at = [&](int batch) {
    s.batch_size = batch;
    return predict(predictor, s, m);
  };
  s.batch_size = 1;
  auto first = predictor.predict(s, m);
  if (const auto* why = std::get_if<std::string>(&first)) {
    out.obstacle = *why;
    return out;
  }

  int low = 1, high = 2;  // low fits
  while (high <= kMostBatch && at(high)) low = high, high *= 2;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) ? low : high) = middle;
  }
  out.largest_batch = low;
  // Doubling finds a batch at which requests lose, and bisection the smallest one.
  int pays = 0, loses = 0;
  for (int batch = 1;; batch = std::min(2 * batch, out.largest_batch)) {
    if (at(batch)->speedup_with_prefill < 1) {
      loses = batch;
      break;
    }
    pays = batch;
    if (batch == out.largest_batch) break;
  }
  while (loses > 0 && loses - pays > 1) {
    const int middle = (pays + loses) / 2;
    (at(middle)->speedup_with_prefill < 1 ? loses : pays) = middle;
  }
  out.pays_to_batch = pays;

  std::vector<int> reported;
  std::copy_if(batches.begin(), batches.end(), std::back_inserter(reported),
               [&](int batch) { return at(batch).has_value(); });
  if (reported.empty()) reported = {out.largest_batch};  // no requested batch size fits
  const auto sharded = predictor.with_sharded_draft(s, m);
  for (const int batch : reported) {
    const auto prediction = at(batch);
    BatchAdvice a = at_batch(predictor, s, *prediction);
    if (sharded)
      if (const auto p = predict(predictor, s, *sharded)) a.sharded_speedup = p->speedup;
    out.batches.push_back(a);
  }
  for (const BatchAdvice& b : out.batches)
    out.gain *= std::pow(std::max(1.0, b.request_speedup), 1.0 / static_cast<double>(out.batches.size()));
  DraftSchedule lengths(predictor, s, m);
  for (const int prompt : lengths.knows_lengths() ? scenario.prompt_tokens : std::vector<int>{}) {
    for (const int batch : reported)
      if (const auto best = lengths.best(prompt, batch)) out.best.push_back(*best);
    std::set<int> all(reported.begin(), reported.end());
    all.insert(out.largest_batch);
    const std::vector<int> ascending(all.begin(), all.end());
    const auto schedule = lengths.by_batch(prompt, ascending);
    out.schedule.insert(out.schedule.end(), schedule.begin(), schedule.end());
  }

  if (const double plain = pool_tokens(predictor, s, autoregressive()); plain > 0)
    out.pool_lost = 1 - std::max(0.0, pool_tokens(predictor, s, m)) / plain;
  if (serving != nullptr) {
    const auto& methods = serving->scenario().methods;
    const auto plain =
        std::find_if(methods.begin(), methods.end(), [](const MethodChoice& x) { return x.spec.is_plain(); });
    Point p = out.point;
    p.batch = 0;
    try {
      if (plain != methods.end() && mean_rate(serving->scenario().serving->choices[p.serving].workload) > 0)
        out.rate = advise_rate(*serving, p, static_cast<std::size_t>(plain - methods.begin()), seed);
    } catch (const InputErrors&) {}  // no KV pool fits
  }
  return out;
}

Scenario with_arrivals(Scenario s) {
  s.batch_sizes = {1};
  if (!s.serving) {
    ServingChoice load;
    load.workload.arrivals.rate = 1;
    load.workload.requests = 600;
    s.serving.emplace().choices = {load};
  }
  s.methods.push_back(autoregressive());  // last, so that the indices of the others remain valid
  return s;
}

}  // namespace draftline
