// SPDX-License-Identifier: Apache-2.0
// One method on one network, on a device, for `draftline validate` to step: contexts are assumed where only their cost
// counts. CpuDecoding and CudaDecoding are made; what is done with them is the same.
#pragma once
#include <memory>
#include <string>

#include "measure/validation.h"
#include "measure/validation_grid.h"
#include "methods/decoder.h"
#include "probes/step_clock.h"

namespace draftline::measure {

class Decoding {
 public:
  virtual ~Decoding() = default;
  // `batch_size` sequences of that committed length.
  void start_batch(int batch_size, int context);
  StepClock& clock() { return *clock_; }
  StepMeter& meter() { return *meter_; }
  Generator& generator() { return decoder_->generator; }
  const Method& method() const { return *decoder_->method; }
  const TransformerShape& target() const { return target_; }

 protected:
  static constexpr int kTail = 160;   // rows beyond a text that a step may write, where they depend on it
  static constexpr int kGrown = 640;  // by which a text may grow, where steps differ

  // `decoder`: of `capacity` rows, of which a step needs `tail` beyond the text. `warm_up`: steps until all runs as it will.
  Decoding(const Networks& networks, const std::string& target, MethodSpec method)
      : target_(networks.at(target)), spec_(std::move(method)) {}
  void use(std::unique_ptr<Decoder> decoder, std::unique_ptr<StepMeter> meter, int capacity, int tail, int warm_up);
  const MethodSpec& spec() const { return spec_; }

 private:
  TransformerShape target_;
  MethodSpec spec_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<StepMeter> meter_;
  std::unique_ptr<StepClock> clock_;
  int longest_ = 0, warm_up_ = 0;
};

// Times one cell: the method's steps and plain ones in turn. `plain` and `method` are on the same network. A cell that can't
// be timed says why.
MeasuredCell measure(const GridCell&, Decoding& plain, Decoding& method, int turns, Seconds time_budget);

}  // namespace draftline::measure
