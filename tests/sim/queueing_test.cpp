// SPDX-License-Identifier: Apache-2.0
// The event loop against queueing theory: a server of one seat whose service is a prompt's length.
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/factorials.hpp>
#include <cmath>
#include <functional>

#include "tests/catch.h"
#include "tests/sim/plain_cost.h"

namespace draftline {

namespace {

constexpr double kLoad = 0.7;
constexpr int kMeanTokens = 10'000;  // of a service of 1 s

struct Mean {
  double value, half;  // of a 99 % interval
};

// Replicated runs of a seat with mean service 1 s; the figure's mean and interval.
std::vector<Mean> replicate(const Lengths& service,
                            const std::vector<std::function<double(const ServingFigures&)>>& of) {
  constexpr int kRuns = 20;
  PlainCost cost;
  cost.fixed = cost.per_sequence = cost.per_context = 0;
  cost.per_prompt_token = std::llround(kTicksPerSecond / kMeanTokens);
  SchedulerLimits limits;
  limits.max_num_seqs = 1;
  limits.max_num_batched_tokens = 1 << 24;
  Workload w = poisson(kLoad, 22'000, service, FixedLength{1});
  w.warm_up = 2000;
  std::vector<std::vector<double>> seen(of.size());
  for (int run = 0; run < kRuns; ++run) {
    const ServingRun r = Fleet({}, limits, {}, cost).run(w, static_cast<std::uint64_t>(run), {});
    for (std::size_t i = 0; i < of.size(); ++i) seen[i].push_back(of[i](r.figures));
  }
  std::vector<Mean> means;
  for (const auto& values : seen) {
    double sum = 0, squares = 0;
    for (const double v : values) sum += v / kRuns;
    for (const double v : values) squares += (v - sum) * (v - sum);
    const double t = boost::math::quantile(boost::math::students_t(kRuns - 1), 0.995);
    means.push_back({sum, t * std::sqrt(squares / (kRuns - 1) / kRuns)});
  }
  return means;
}

void check_near(const Mean& m, double theory) {
  INFO(m.value << " +- " << m.half << ", theory " << theory);
  CHECK(std::abs(m.value - theory) < m.half);
  CHECK(m.half < 0.05 * theory);  // narrow enough to tell a wrong queue
}

double mean_time(const ServingFigures& f) { return f.e2e.mean().value; }

}  // namespace

TEST_CASE("one seat with exponential service is M/M/1", "[S10]") {
  const auto m = replicate(ExponentialLength{kMeanTokens},
                           {mean_time, [](const ServingFigures& f) { return f.e2e.quantile(0.9).value; },
                            [](const ServingFigures& f) { return f.mean_in_system(); },
                            [](const ServingFigures& f) { return f.busy_share(); }});
  check_near(m[0], 1 / (1 - kLoad));
  check_near(m[1], std::log(10) / (1 - kLoad));
  check_near(m[2], kLoad / (1 - kLoad));  // Little's law: the load over what is left of it
  check_near(m[3], kLoad);
}

TEST_CASE("one seat with constant service is M/D/1", "[S10]") {
  const double t = 3;  // P(waits at most t), Erlang 1909
  double theory = 0;
  for (unsigned k = 0; k <= static_cast<unsigned>(t); ++k)
    theory += std::pow(kLoad * (k - t), k) / boost::math::factorial<double>(k) * std::exp(-kLoad * (k - t));
  theory *= 1 - kLoad;
  const auto m = replicate(FixedLength{kMeanTokens},
                           {mean_time, [](const ServingFigures& f) { return f.queueing.share_below({3.0}); }});
  check_near(m[0], 1 + kLoad / (2 * (1 - kLoad)));
  check_near(m[1], theory);
}

TEST_CASE("a closed loop of one is as fast as its service") {
  PlainCost cost;
  Workload w = poisson(1, 50, FixedLength{10}, FixedLength{5});
  w.arrivals.kind = ArrivalProcess::Kind::closed;
  w.arrivals.concurrency = 1;
  Log log;
  const ServingRun r = Fleet({}, {}, {}, cost).run(w, 1, {}, &log);
  Ticks service = 10 * cost.per_prompt_token;
  for (int i = 0; i < 4; ++i) service += cost.fixed + cost.per_sequence + cost.per_context * (10 + i);
  CHECK(log.requests.back().last_token == 50 * service);
  CHECK(r.figures.busy_share() == Approx(1));
  CHECK(r.figures.mean_in_system() == Approx(1));
}

}  // namespace draftline
