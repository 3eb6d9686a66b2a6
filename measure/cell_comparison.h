// SPDX-License-Identifier: Apache-2.0
// One cell of `draftline validate`: its measured steps compared with the model's prediction of the same steps.
#pragma once
#include <vector>

#include "measure/validation.h"

namespace draftline {

class CellComparison {
 public:
  // `rate`: the acceptance rate, for methods whose steps do not depend on acceptance. `find`: finds draft networks. All
  // arguments must outlive this object.
  CellComparison(const MeasuredCell&, const Setup&, double rate, Pricer&, const Decoder::FindTransformer& find);
  ValidationCell result();

 private:
  struct Steps {                   // of the method
    StepBreakdown predicted;       // of a mean step
    std::vector<OpPrice> ops;      // of a mean step
    std::vector<double> measured;  // seconds per step of each turn, scaled to the steps of the mean
  };
  StepBreakdown plain_step();
  Steps steps() { return steered() ? steered_steps() : alike_steps(); }
  Steps alike_steps();
  Steps steered_steps();
  std::vector<ComparedOp> ops(const Steps&, const Compared& step) const;
  void add_ops(Steps&, const std::vector<SegmentRun>&, double weight) const;
  bool steered() const { return !m_.turns.front().steered.empty(); }
  Seconds of_tokens(double emitted) const { return m_.batch_size * emitted * setup_.engine->token; }

  const MeasuredCell& m_;
  const Setup& setup_;
  double rate_;
  Pricer& pricer_;
  const Decoder::FindTransformer& find_;
  MethodChoice choice_;
  int depth_;
  double length_ = 0, emitted_ = 0;  // means over the method's turns
};

}  // namespace draftline
