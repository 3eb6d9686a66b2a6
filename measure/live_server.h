// SPDX-License-Identifier: Apache-2.0
// The decoder as a small server: requests arrive in virtual time, whose clock moves on by what each step took in fact.
// Nothing that a device does but once is in that time (docs/validate.md, "A live server").
#pragma once
#include <vector>

#include "measure/decoding.h"

namespace draftline::measure {

struct LiveRequest {
  double arrival = 0;  // s
  int prompt = 1, output = 2;
};
struct LiveServed {
  double first = 0, last = 0;  // s: when its first and last token came
  std::vector<int> steps;      // tokens emitted by each of its steps
};
enum class LiveBatching {
  prefill_first,
  fixed
};  // as the simulator's: prompts in steps of their own, or static batches

// Poisson arrivals at that rate, prompts and outputs within a factor of three of each other.
std::vector<LiveRequest> live_requests(int n, double rate, int prompt, int output, std::uint64_t seed);

class LiveServer {
 public:
  // Takes steps of every batch size until they are no longer the first of their kind.
  LiveServer(Decoding&, int max_batch_size, int longest_prompt);
  // Serves all requests, in order of arrival.
  std::vector<LiveServed> serve(const std::vector<LiveRequest>&, LiveBatching);
  // No step of what was served last was the first of its kind: the clock can be believed.
  bool settled() const { return settled_; }

 private:
  void empty();
  template <class Work>
  bool timed(const Work&);  // moves the clock; false: something in it was the first of its kind
  void join(const std::vector<LiveRequest>&, std::size_t n);
  void step();
  void leave_done(LiveBatching);

  Decoding& decoding_;
  Generator& generator_;
  std::size_t limit_;
  double now_ = 0,
         move_ = 0;  // s; move_: what the last move of a batch slot took, which also stands for one never seen before
  bool settled_ = true;
  double usual_ = 1, typical_ = 1;  // paces of a free core; asked once a run, as that empties caches
  std::size_t next_ = 0;            // request that waits first
  std::vector<std::size_t> who_;    // request of each batch slot
  std::vector<int> left_;  // tokens still to come, of each batch slot; of a static batch also of those that are done
  std::vector<LiveServed> served_;
};

}  // namespace draftline::measure
