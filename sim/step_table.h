// SPDX-License-Identifier: Apache-2.0
// Step times from the predictor, in tables that are filled on demand: decode steps by batch size, draft length and
// context, prompt chunks by tokens and context. At a table's nodes the time is what `run` predicts; between them it is
// linear. A mixed step costs its decode step, plus the growth of the target's GEMMs by the chunk's rows, their
// attention and the drafter's pass over them; device time that is idle because of the host is used first.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "predict/prediction.h"
#include "sim/step_cost.h"

namespace draftline {

class StepTable : public StepCost {
 public:
  // `by_drafts[k]`: the method with draft length k, null if it is not used. `prompts`: the method whose prefill is
  // priced. `stages`: of a pipeline; passing hidden states to the next stage costs an all-reduce of two devices. The
  // references must outlive the table.
  StepTable(Predictor&, const Setup&, std::vector<const MethodChoice*> by_drafts, const MethodChoice& prompts,
            int stages = 1);

  Line decode(int sequences, int drafts, std::int64_t context) override;
  Ticks after_prompts(int sequences, int drafts, std::int64_t context, Ticks prompts, int fresh) override;
  Ticks prefill(int sequences, int drafts, std::int64_t context, std::span<const Chunk>) override;
  Ticks token() const override { return token_; }
  Seconds pricing_time() const override { return pricing_time_; }
  void allow(int sequences) const;  // throws InputErrors if the host time of so many sequences' tokens is hours
  int rows(int drafts);             // verified rows per sequence at a draft length

 private:
  struct Batch {  // for one batch size and draft length
    std::unique_ptr<ExpectedStep> price;
    std::vector<Line> cells;  // by context; to == 0: not computed yet
    // What attention takes more where its launches compute prompts' chunks too; none: nothing. By context, in ps.
    std::optional<std::optional<BesidePrompt>> beside;
    std::map<std::size_t, double> more;
  };
  struct Prompt {  // for one number of prompt tokens
    std::unique_ptr<StepPrice> price;
    double products = 0;       // ps: the part of the target's pass that does not depend on the context
    std::vector<double> rest;  // ps, by context: the other part; below 0: not computed yet
  };
  Batch& batch(int sequences, int drafts);
  Prompt& prompt(std::size_t node);
  Seconds hops(int rows) const;
  double products(int rows);
  double products_between(int rows);
  double rest(const Chunk&);
  double beside_prompt(int sequences, int drafts, std::int64_t context);
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
  std::vector<double> products_;             // ps, by rows; below 0: not computed yet
  std::vector<int> rows_;
};

}  // namespace draftline
