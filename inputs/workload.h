// SPDX-License-Identifier: Apache-2.0
// The workload of a server: requests in order of arrival, drawn from random processes or read from recorded traces
// (docs/explanation/simulator.md).
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/int_indexed.h"
#include "inputs/catalogue.h"
#include "inputs/lengths.h"

namespace draftline {

struct Request {
  std::int64_t id = 0;  // in order of arrival, from 0
  Ticks arrival = 0;
  int prompt = 0, output = 0;  // tokens
  // Hashes that name the prompt's prefix blocks (sim/prefix_cache), of prefix_block() tokens each; null if they are
  // unknown. Names beyond the prompt's end are ignored.
  const std::vector<int>* prefix_hashes = nullptr;
};

struct ArrivalProcess {
  enum class Kind { closed, poisson, gamma, on_off, trace } kind = Kind::poisson;
  double rate = 0;         // requests/s; of `on_off`: during the on phases
  double cv = 1;           // of `gamma`: coefficient of variation of the interarrival times
  double on = 0, off = 0;  // of `on_off`: mean durations of the exponentially distributed phases, in seconds
  int concurrency = 0;     // of `closed`: requests in flight; each is followed by the next
  double scale = 1;        // of `trace`: factor on the rate
};

// Requests whose prompts begin alike: with the tokens of one of several prefixes, drawn uniformly. A prompt that is no
// longer than that is a prefix's beginning.
struct SharedPrefix {
  int tokens = 0, groups = 1;  // groups: number of prefixes
  int block = 16;              // tokens by which prompts are compared; the server's block_size
  int whole_blocks(int of) const {
    return std::min(tokens, of) / block * block;
  }  // cached tokens of a prompt of `of` tokens
  int whole_blocks() const { return whole_blocks(tokens); }
};

class DrawnRequests;

struct Workload {
  ArrivalProcess arrivals;
  Lengths prompt, output;
  bool lengths_in_order = true;        // of a trace: row by row; otherwise random rows
  bool lengths_of_acceptance = false;  // the lengths of the acceptance trace, whose prompts are replayed from the start
  std::shared_ptr<const WorkloadTrace> arrival_trace, length_trace;
  std::optional<SharedPrefix> shared_prefix;
  std::int64_t requests = 0;
  std::int64_t warm_up = 0;        // the first requests, left out of the figures of requests but not of those of steps
  DrawnRequests* drawn = nullptr;  // random draws that several runs share; null: each run draws its own
};

double mean_rate(const Workload&);          // requests/s; 0 for a closed loop
double mean_prompt(const Workload&);        // tokens; 0: the scenario's prompt_tokens
double mean_output(const Workload&);        // tokens; 0: the scenario's output_tokens
bool draws_lengths(const Workload&);        // whether prompt or output lengths are drawn from a distribution
bool is_recorded(const Workload&);          // whether its number of requests is that of a trace
int prefix_block(const Workload&);          // tokens of such a block
Workload at_rate(Workload, double factor);  // the same requests at `factor` times the rate
Workload one_by_one(Workload);              // the same requests, each after the end of the one before it

Workload read_workload(const Reader&, Catalogue&);  // mistakes are noted at the reader
// A number of tokens, or {"tokens": .., "groups": ..}; none if there are no tokens. Mistakes are noted at the reader.
std::optional<SharedPrefix> read_shared_prefix(const Reader&);

// Random draws, kept for later runs with the same seed and distribution, because a quantile costs more time than
// simulating a request. Runs with different seeds, of a plan's replications, take turns.
template <class Distribution, class Value>
class KeptDraws {
 public:
  class Stream {
   public:
    Stream(std::uint64_t seed, std::string_view purpose) : rng_(seed, purpose) {}
    // The i-th value; `draw` draws further values.
    template <class Draw>
    Value at(std::int64_t i, Draw draw) {
      while (std::ssize(values_) <= i) values_.push_back(draw(rng_));
      return values_[draftline::at(i)];
    }
    std::size_t size() const { return values_.size(); }

   private:
    Rng rng_;
    std::vector<Value> values_;
  };
  // The stream of a seed and a distribution. All other streams are dropped first if they hold too many values.
  std::shared_ptr<Stream> stream(const Distribution& distribution, std::uint64_t seed, std::string_view purpose) {
    std::size_t values = 0;
    for (const Known& k : known_) {
      if (k.seed == seed && k.distribution == distribution) return k.stream;
      values += k.stream->size();
    }
    if (values > kMostValues || known_.size() >= kMostStreams) known_.clear();
    return known_.emplace_back(Known{distribution, seed, std::make_shared<Stream>(seed, purpose)}).stream;
  }

 private:
  static constexpr std::size_t kMostValues = 1 << 20, kMostStreams = 64;
  struct Known {
    Distribution distribution;
    std::uint64_t seed;
    std::shared_ptr<Stream> stream;
  };
  std::vector<Known> known_;
};

// The draws of a workload that do not depend on the rate and the fleet. `gaps`: gamma variates of scale 1, by shape.
class DrawnRequests {
 public:
  static constexpr std::int64_t kMostRequests = 1 << 18;  // longer runs keep no draws
  using OfLengths = KeptDraws<Lengths, int>;
  using OfGaps = KeptDraws<double, double>;
  OfLengths prompts, outputs;
  OfGaps gaps;
};

// The requests of one run in order of arrival. In a closed loop all arrive at 0, and the server delays them.
class Requests {
 public:
  Requests(const Workload&, std::uint64_t seed);  // the workload must outlive this object, and this object the requests
  std::optional<Request> next();  // none after the last; InputErrors if it arrives beyond simulated time (core/clock)
  std::string place(const Request&) const;  // for messages: "request 7", or its file and line

 private:
  double gap();
  double gamma_gap();
  const std::vector<int>* draw_prefix(int prompt);
  const Workload& workload_;
  Rng gaps_, prompts_, outputs_, rows_, groups_;
  std::unordered_map<int, std::vector<int>> prefixes_;  // by group: names of the blocks that prompts had so far
  // Draws that several runs share; null: this run draws its own.
  std::shared_ptr<DrawnRequests::OfLengths::Stream> kept_prompts_, kept_outputs_;
  std::shared_ptr<DrawnRequests::OfGaps::Stream> kept_gaps_;
  std::int64_t made_ = 0;
  double time_ = 0, on_left_ = 0;
};

}  // namespace draftline
