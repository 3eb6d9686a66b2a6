// SPDX-License-Identifier: Apache-2.0
// Step times of a method, in tables that are filled on demand: decode steps by batch size, draft length and
// context, prompt chunks by tokens and context. At a table's nodes the time is the prediction of `run`; between them it
// is linear. A mixed step costs its decode step plus, for the chunk's rows, the growth of the target's GEMMs, their
// attention and the drafter's pass; device time that is idle because of the host is used first. A step with too many
// rows for a graph takes at least the host's time to issue its kernels.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "predict/chunk_prices.h"
#include "predict/pricer.h"
#include "sim/step_cost.h"

namespace draftline {

class StepTable : public StepCost {
 public:
  // `by_drafts[k]`: the method with draft length k, null if it is not used. `prompts`: the method whose prefill is
  // priced. Sequences and tokens are those of one replica of the attention; all replicas have equal numbers. `stages`:
  // of the pipeline; sending hidden states to the next stage is priced as an all-reduce of two devices. The pricer and
  // the methods must outlive the table.
  StepTable(Pricer&, const Setup&, std::vector<const MethodChoice*> by_drafts, const MethodChoice& prompts,
            int stages = 1);
  StepTable(const StepTable&) = delete;  // its tables of prompts refer to it

  Line decode(const DecodeBatch&) override;
  Ticks after_prompts(const DecodeBatch&, Ticks prompts, int fresh) override;
  Prompts prefill(const DecodeBatch&, std::span<const Chunk>) override;
  Ticks shared_time(const StepLoad&) override;
  Ticks token() const override { return token_; }
  Seconds pricing_time() const override { return pricing_time_; }
  void scale_prompts(double factor) { prompt_factor_ = factor; }  // on what prompts add to a step
  void allow(int sequences) const;  // throws InputErrors if the tokens of these sequences need hours of host time

 private:
  struct Batch {  // for one batch size and draft length
    std::shared_ptr<const PricedStep> priced;
    const ExpectedStep& price() const { return priced->price; }
    std::vector<std::optional<Line>> cells;  // by context
    std::optional<Seconds> shared_time;
    std::optional<std::optional<MixedAttention>> mixed;   // inner none: a mixed step costs the sum of its parts
    std::vector<std::optional<Seconds>> extra_attention;  // additional time of mixed attention, by context
  };
  Batch& batch(int sequences, int drafts);
  const VerifiedRows& rows(int sequences, int drafts);  // verified rows of such a step; empty without sequences
  Line line(const Batch&, int sequences, std::size_t cell) const;
  Seconds pipeline_transfer(double rows) const;
  Seconds extra_attention(const DecodeBatch&);

  Pricer& pricer_;
  Setup setup_;
  std::vector<const MethodChoice*> by_drafts_;
  ChunkPrices chunks_;
  Ticks token_;
  int stages_;
  double prompt_factor_ = 1;
  Seconds pricing_time_;
  std::vector<std::vector<Batch>> batches_;  // [drafts][sequences]
};

}  // namespace draftline
