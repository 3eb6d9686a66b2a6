// SPDX-License-Identifier: Apache-2.0
// The decoder as a small server. Requests arrive in virtual time, which advances by the measured time of each step.
// One-time work of a device, such as capturing a graph, is not counted (docs/recipes/validate.md, "A live server").
#pragma once
#include <functional>
#include <vector>

#include "inputs/serving_limits.h"
#include "measure/decoding.h"

namespace draftline::measure {

struct LiveRequest {
  double arrival = 0;  // s
  int prompt = 1, output = 2;
};
struct LiveServed {
  double first = 0, last = 0;  // s: the times of its first and last token
  std::vector<int> steps;      // emitted tokens of each of its steps
};
// Poisson arrivals at `rate` requests/s, with prompts and outputs between half and 1.5 times these lengths.
std::vector<LiveRequest> live_requests(int n, double rate, int prompt, int output, std::uint64_t seed);

class LiveServer {
 public:
  // Warms up: runs steps at every batch size until they contain no one-time work. Warm-up and serve() end early once
  // `interrupted()`.
  LiveServer(Decoding&, int max_batch_size, int longest_prompt, std::function<bool()> interrupted);
  // Serves all requests in order of arrival, with separate steps for prompts or with static batches.
  std::vector<LiveServed> serve(const std::vector<LiveRequest>&, Batching);
  // Whether the last serve() timed no one-time work, so that its times are valid.
  bool warm() const { return warm_; }

 private:
  void empty();
  template <class Work>
  bool timed(const Work&);  // advances the clock; returns false for one-time work
  void join(const std::vector<LiveRequest>&, std::size_t n);
  void step();
  void leave_done(Batching);

  Decoding& decoding_;
  Generator& generator_;
  std::size_t limit_;
  std::function<bool()> interrupted_;
  double now_ = 0;   // s
  double move_ = 0;  // s: time of the last move of a sequence to another slot; replaces times with one-time work
  bool warm_ = true;
  double usual_ = 1, typical_ = 1;  // paces of a free core; read once per run, because reading evicts caches
  std::size_t next_ = 0;            // the first waiting request
  std::vector<std::size_t> who_;    // the request in each batch slot
  std::vector<int> left_;           // remaining tokens of each batch slot; 0 or less: finished, in a static batch
  std::vector<LiveServed> served_;
};

}  // namespace draftline::measure
