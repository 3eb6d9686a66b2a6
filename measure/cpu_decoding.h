// SPDX-License-Identifier: Apache-2.0
// Decoders on this machine's CPU for `draftline validate`, with random weights that are generated quickly.
#pragma once
#include "measure/decoding.h"

namespace draftline::measure {

class CpuDecoding : public Decoding {
 public:
  // `late_layers` scales the output of all layers after the second. If it is small, drafts of an early exit are often
  // accepted.
  CpuDecoding(const DecodingSetup&, ClockReference&, float late_layers = 1);

 private:
  class Weights : public WeightSource {
   public:
    explicit Weights(float late_layers) : late_layers_(late_layers) {}
    void load(const std::string& name, int in, int out, std::span<float> to) override;

   private:
    float late_layers_;
  };
  Weights weights_;
};

}  // namespace draftline::measure
