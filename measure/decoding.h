// SPDX-License-Identifier: Apache-2.0
// A decoder of one method on one network and device, whose steps `draftline validate` times. Contexts are assumed
// instead of computed if only their cost matters. CpuDecoding and CudaDecoding differ only in their construction.
#pragma once
#include <memory>
#include <string>

#include "measure/validation.h"
#include "measure/validation_grid.h"
#include "methods/decoder.h"
#include "probes/step_clock.h"

namespace draftline::measure {

// A method on a target, for at most `slots` sequences of at most `context` tokens.
struct DecodingSetup {
  const Networks& networks;
  std::string target;
  MethodSpec method;
  int slots = 1, context = 1;
};

class Decoding {
 public:
  virtual ~Decoding() = default;
  // Starts a new batch of sequences with `context` committed tokens.
  void start_batch(int batch_size, int context);
  StepClock& clock() { return *clock_; }
  StepMeter& meter() { return *meter_; }
  Generator& generator() { return decoder_->generator; }
  const Method& method() const { return *decoder_->method; }
  const TransformerShape& target() const { return target_; }

 protected:
  static constexpr int kTail = 160;   // rows that a step may write beyond the text if steps depend on the text
  static constexpr int kGrown = 640;  // tokens by which a text may grow if steps differ

  // `capacity`: cache entries of a sequence, of which a step needs `tail` beyond the text. `warm_up`: steps until
  // graphs are captured and algorithms are chosen.
  explicit Decoding(const DecodingSetup& s) : target_(s.networks.at(s.target)) {}
  void use(std::unique_ptr<Decoder> decoder, std::unique_ptr<StepMeter> meter, int capacity, int tail, int warm_up);

 private:
  TransformerShape target_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<StepMeter> meter_;
  std::unique_ptr<StepClock> clock_;
  int longest_ = 0, warm_up_ = 0;
};

// Times one cell: steps of the method and of plain decoding in turn, on the same network. If a cell can't be timed,
// `skipped` contains the reason.
MeasuredCell measure(const GridCell&, Decoding& plain, Decoding& method, int turns, Seconds time_budget);

}  // namespace draftline::measure
