// SPDX-License-Identifier: Apache-2.0
// The predictor's prices as tables that fill as they are asked for: decode steps by batch, drafts and context, chunks
// of prompts by tokens and context. At its nodes a table is what `run` predicts; between them it is linear. A step with
// both costs what its decode part costs, plus what the chunk's rows add to the target's products, their attention, and
// the drafter's pass over them; device time that the host leaves idle is used first.
#pragma once
#include <memory>
#include <vector>

#include "predict/prediction.h"
#include "sim/step_cost.h"

namespace draftline {

class StepTable : public StepCost {
 public:
  // `by_drafts[k]`: the method when it drafts k (null: never asked for). `prompts`: the one whose drafter reads
  // prompts. `stages` of a pipeline: each hands its rows' hidden states on, as an all-reduce of two devices would.
  StepTable(Predictor&, const Setup&, std::vector<const MethodChoice*> by_drafts, const MethodChoice& prompts,
            int stages = 1);

  Line decode(int sequences, int drafts, std::int64_t context) override;
  Ticks after_prompts(int sequences, int drafts, std::int64_t context, Ticks prompts, int fresh) override;
  Ticks prefill(int sequences, int drafts, std::span<const Chunk>) override;
  Ticks token() const override { return token_; }
  Seconds pricing_time() const override { return pricing_time_; }
  void allow(int sequences) const;  // InputErrors if a step of so many takes longer than can be simulated
  int rows(int drafts);             // that a sequence verifies

 private:
  struct Batch {  // of one number of sequences and drafts
    std::unique_ptr<StepPrice> price;
    std::vector<Line> cells;  // by context; to == 0: not asked for yet
  };
  struct Prompt {  // of one number of tokens
    std::unique_ptr<StepPrice> price;
    double products = 0;       // ps of the target's part that no context changes
    std::vector<double> rest;  // ps, by context; below 0: not asked for yet
  };
  Batch& batch(int sequences, int drafts);
  Prompt& prompt(std::size_t node);
  Seconds hops(int rows) const;
  double products(int rows);
  double products_between(int rows);
  double rest(const Chunk&);
  double rest_at(std::size_t tokens_node, std::size_t context_node);

  Predictor& predictor_;
  Setup setup_;
  std::vector<const MethodChoice*> by_drafts_;
  const MethodChoice& prompts_;
  Ticks token_;
  int stages_;
  Seconds pricing_time_;
  std::vector<std::vector<Batch>> batches_;  // [drafts][sequences]
  std::vector<Prompt> prompt_;               // by node
  std::vector<double> products_;             // ps, by rows; below 0: not asked for yet
  std::vector<int> rows_;
};

}  // namespace draftline
