// SPDX-License-Identifier: Apache-2.0
// The best draft length by batch size, of a method that drafts chains: by what a request sees, its prompt included.
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
  // The pricer must outlive it. Draft lengths are those whose acceptance is
  // known: as many as there are rates by position; of a single rate or a mean length, up to the method's own, as nobody
  // measured whether later drafts are accepted as often.
  DraftSchedule(Pricer&, const Setup&, const MethodChoice&);
  bool knows_lengths() const { return !lengths_.empty(); }  // false unless the method drafts a chain of a given length

  // The best length, 0 being plain decoding; none if no such batch fits in device memory.
  std::optional<BestLength> best(int prompt_tokens, int batch_size);
  // The fewest changes of the length with which it loses to no other by more than kNear, and nothing to plain decoding,
  // at every batch size that is looked at: each to 64, then each that is a 32nd part larger, and `largest`, which fits.
  // Plain decoding is chosen where no length gains. Which one is the best changes back and forth, as verified rows fill
  // tiles of GEMMs.
  std::vector<ScheduledLength> by_batch(int prompt_tokens, int largest);
  static constexpr double kNear = 0.03;  // a share of the best speedup, less than kernels' errors

 private:
  // The speedups of requests, by draft length from 0, plain decoding, on; 0 where a batch does not fit.
  std::vector<double> speedups(int prompt_tokens, int batch_size);
  int output_tokens_;
  std::deque<Predictor> lengths_;  // of 1, 2, .. drafts
};

}  // namespace draftline
