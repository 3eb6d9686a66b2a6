// SPDX-License-Identifier: Apache-2.0
// The best draft length by batch size, of a method that drafts chains: by what a request sees, its prompt included.
#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "predict/prediction.h"

namespace draftline {

// The draft length with the highest speedup at a prompt length and batch size.
struct BestLength {
  int prompt_tokens = 0, batch_size = 0, draft_length = 0;  // draft_length 0: plain decoding is faster
  double speedup = 1;                                       // of requests
};

// From `from_batch` to `to_batch` `draft_length` is the best; 0: plain decoding is faster.
struct ScheduledLength {
  int prompt_tokens = 0, from_batch = 1, to_batch = 1, draft_length = 0;
};

class DraftSchedule {
 public:
  // The predictor, the setup's pointers and the method must outlive it. Draft lengths are those whose acceptance is
  // known: as many as there are rates by position; of a single rate or a mean length, up to the method's own, as nobody
  // measured whether later drafts are accepted as often.
  DraftSchedule(Predictor&, const Setup&, const MethodChoice&);
  bool knows_lengths() const { return !lengths_.empty(); }  // false unless the method drafts a chain of a given length

  // The best length from `least` to `most`, 0 being plain decoding; none if no such batch fits in device memory.
  std::optional<BestLength> best(int prompt_tokens, int batch_size, int least = 0,
                                 int most = std::numeric_limits<int>::max());
  // The batch sizes at which the best length changes, found by bisection between `batches`, which ascend.
  std::vector<ScheduledLength> by_batch(int prompt_tokens, const std::vector<int>& batches);

 private:
  void changes_between(const BestLength& low, const BestLength& high, std::vector<ScheduledLength>&);
  Predictor& predictor_;
  Setup setup_;
  std::vector<MethodChoice> lengths_;
};

}  // namespace draftline
