// SPDX-License-Identifier: Apache-2.0
// The best draft length by batch size for a method that drafts chains, measured by the speedup of requests with their
// prompts.
#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "predict/prediction.h"

namespace draftline {

// The draft length with the highest speedup at a prompt length and batch size.
struct BestLength {
  int prompt_tokens = 0, batch_size = 0, draft_length = 0;  // draft_length 0: plain decoding is faster
  double speedup = 1;                                       // of requests
};

// The draft length of batches from `from_batch` to `to_batch`; 0: plain decoding.
struct ScheduledLength {
  int prompt_tokens = 0, from_batch = 1, to_batch = 1, draft_length = 0;
};

class DraftSchedule {
 public:
  // The pricer must outlive it. It considers the draft lengths whose acceptance is known: with rates by position, up to
  // their number; with a single rate or a mean length, up to the method's own length, because acceptance of later
  // drafts was not measured.
  DraftSchedule(Pricer&, const Setup&, const MethodChoice&);
  bool knows_lengths() const { return !choices_.empty(); }  // false unless the method drafts a chain of fixed length

  // The best length (0: plain decoding); none if the batch does not fit in device memory.
  std::optional<BestLength> best(int prompt_tokens, int batch_size);
  // The schedule with the fewest changes of length that, at every tested batch size, is within kNear of the best length
  // and not slower than plain decoding. Tested are all sizes to 64, then steps of 1/32, and `largest`, which must fit.
  // Plain decoding is chosen where no length is faster. Without the tolerance kNear the best length would alternate,
  // because verified rows fill tiles of GEMMs.
  std::vector<ScheduledLength> by_batch(int prompt_tokens, int largest);
  static constexpr double kNear = 0.03;  // share of the best speedup; smaller than the errors of kernel times

 private:
  // The speedups of requests by draft length, from 0 (plain decoding). A speedup of 0 means that the batch does not
  // fit, or that the length and all longer ones are below kNear of the best, as those cost as much and emit no more.
  std::vector<double> speedups(int prompt_tokens, int batch_size);
  Predictor& length(std::size_t index);
  Pricer& pricer_;
  Setup setup_;
  std::vector<MethodChoice> choices_;  // of 1, 2, .. drafts
  std::deque<Predictor> lengths_;      // of the first choices, as they are needed
  double most_tokens_ = 1;             // that a step of the longest chain emits on average
};

}  // namespace draftline
