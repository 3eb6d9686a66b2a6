// SPDX-License-Identifier: Apache-2.0
// Decoders on a GPU for `draftline validate`: bf16, graphs, random weights made there, no more cache than the steps need.
// What steps accept is forced where that changes nothing but the numbers.
#pragma once
#include "decoder/random_weights.h"
#include "measure/decoding.h"

namespace draftline::measure {

class CudaDecoding : public Decoding {
 public:
  // `shared`: of share_cuda_weights(). `algorithms`: of cuda_algorithms(). `rate`: of a draft's acceptance.
  // OutOfDeviceMemory where it does not fit, at once or at the first steps.
  CudaDecoding(const Networks&, const std::string& target, const MethodSpec&, int slots, int context, double rate,
               std::shared_ptr<void> shared, std::shared_ptr<void> algorithms);

 private:
  RandomWeights weights_{1};
};

}  // namespace draftline::measure
