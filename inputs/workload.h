// SPDX-License-Identifier: Apache-2.0
// Who asks for what, and when: requests one after the other, from a process or a recorded trace.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/reader.h"
#include "core/rng.h"
#include "inputs/catalogue.h"

namespace draftline {

struct Request {
  std::int64_t id = 0;  // in order of arrival, from 0
  Ticks arrival = 0;
  int prompt = 0, output = 0;  // tokens
  const std::vector<int>* prefix_hashes =
      nullptr;  // hashes that name its prompt's prefix blocks (sim/prefix_cache), if the trace has them
};

// What is recorded of a request by others: arrival in seconds (from the first's), lengths in tokens.
struct RecordedRequest {
  double arrival = 0;
  int prompt = 0, output = 0, line = 0;  // line: of the file
};
// Recognised by its columns or keys: Azure LLM 2023/2024 and BurstGPT (CSV),
// arrived_at/num_prefill_tokens/num_decode_tokens (CSV), Mooncake (JSON lines), per-request logs of vLLM (JSON lines)
// and results of its serving benchmark (JSON). Also *.gz. A request without an output is an InputErrors with file and
// line; so are times that run backwards or below zero.
struct WorkloadTrace {
  std::filesystem::path file;
  std::vector<RecordedRequest> requests;
  std::vector<std::vector<int>> prefix_hashes;  // of each request's prefix blocks; empty: not recorded
  bool has_arrivals = true;                     // a benchmark's result may know lengths alone
};
WorkloadTrace read_workload_trace(const std::filesystem::path&);

// A number of tokens: fixed, drawn from a distribution, or from a trace's column.
struct Lengths {
  enum class Kind {
    fixed,
    uniform,
    exponential,
    gamma,
    lognormal,
    trace
  } kind = Kind::fixed;            // fixed at 0: the scenario's
  double mean = 0, deviation = 0;  // of lognormal: of the logarithm; of uniform: the ends
  int draw(Rng&) const;            // not of traces; at least 1
  bool operator==(const Lengths&) const = default;
};

struct ArrivalProcess {
  enum class Kind { closed, poisson, gamma, on_off, trace } kind = Kind::poisson;
  double rate = 0;         // per second; of on/off: while on
  double cv = 1;           // gamma: coefficient of variation of the gaps
  double on = 0, off = 0;  // seconds, mean; exponential
  int concurrency = 0;     // closed: so many requests are in flight, each followed by the next
  double scale = 1;        // of a trace's rate
};

class DrawnRequests;

struct Workload {
  ArrivalProcess arrivals;
  Lengths prompt, output;
  bool lengths_in_order = true;        // of a trace: row by row, else drawn among its rows
  bool lengths_of_acceptance = false;  // those of the acceptance trace's prompts, each replayed from its first token
  std::shared_ptr<const WorkloadTrace> arrival_trace, length_trace;
  std::int64_t requests = 0;
  std::int64_t warm_up = 0;        // of them, left out of the figures of requests; those of steps count them
  DrawnRequests* drawn = nullptr;  // draws that runs share; null: each draws its own
};

double mean_rate(const Workload&);          // requests per second; of a closed loop 0
bool draws_lengths(const Workload&);        // from a distribution: nobody wrote down each request
Workload at_rate(Workload, double factor);  // the same requests, so many times as fast

Workload read_workload(const Reader&, Catalogue&);

// Draws of one stream, kept for later runs that would repeat them: a quantile costs more than a request's share of the
// event loop. A stream of another distribution or seed takes their place.
template <class Distribution, class Value>
class KeptDraws {
 public:
  void use(const Distribution& distribution, std::uint64_t seed, std::string_view purpose) {
    if (rng_ && distribution_ == distribution && seed_ == seed) return;
    distribution_ = distribution;
    seed_ = seed;
    rng_.emplace(seed, purpose);
    values_.clear();
  }
  // The i-th value; `draw` makes the next one.
  template <class Draw>
  Value at(std::int64_t i, Draw draw) {
    while (static_cast<std::int64_t>(values_.size()) <= i) values_.push_back(draw(*rng_));
    return values_[static_cast<std::size_t>(i)];
  }

 private:
  Distribution distribution_{};
  std::uint64_t seed_ = 0;
  std::optional<Rng> rng_;
  std::vector<Value> values_;
};

// What runs of one workload draw alike, whatever the rate and the fleet. Gaps: gamma variates of scale 1, by their
// shape.
class DrawnRequests {
 public:
  static constexpr std::int64_t kMostRequests = 1 << 18;  // of a longer run nothing is kept
  KeptDraws<Lengths, int> prompts, outputs;
  KeptDraws<double, double> gaps;
};

// The requests of one run, in order of arrival. Closed loops: all arrive at 0, who serves them holds them back.
class Requests {
 public:
  Requests(const Workload&, std::uint64_t seed);
  std::optional<Request> next();
  std::string place(const Request&) const;  // for messages: "request 7", or its file and line

 private:
  double gap();
  double gamma_gap();
  const Workload& workload_;
  DrawnRequests* drawn_;
  Rng gaps_, prompts_, outputs_, rows_;
  std::int64_t made_ = 0;
  double time_ = 0, on_left_ = 0;
};

}  // namespace draftline
