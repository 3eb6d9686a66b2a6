// SPDX-License-Identifier: Apache-2.0
// Decoders on a GPU for `draftline validate`: bf16, CUDA graphs, random weights that the device generates, and only as
// much cache as the steps need. Acceptance is forced for methods whose steps do not depend on it.
#pragma once
#include "decoder/random_weights.h"
#include "measure/decode_device.h"
#include "measure/decoding.h"

namespace draftline::measure {

class CudaDecoding : public Decoding {
 public:
  // `rate`: the acceptance rate of drafts. Throws OutOfDeviceMemory if the decoder does not fit; the first steps may
  // throw it too.
  CudaDecoding(const DecodingSetup&, double rate, std::shared_ptr<cuda::SharedWeights> shared,
               std::shared_ptr<cuda::ProductChoices> algorithms);

 private:
  RandomWeights weights_{1};
};

}  // namespace draftline::measure
