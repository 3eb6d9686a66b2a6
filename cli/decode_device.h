// SPDX-License-Identifier: Apache-2.0
// `decode --device cuda`: the CUDA backend where this program was built with it.
#pragma once
#include <memory>
#include <string>

#include "decoder/backend.h"

namespace draftline::cli {

struct CudaChoice {
  DType activations;
  bool graphs;
  std::uint64_t seed;
};
// Throws DeviceError if the program was built without CUDA, or there is no device.
std::unique_ptr<Backend> make_cuda_backend(const WeightStore&, WeightSource&, const CudaChoice&);

// What ran, in words, and what it holds; the backend is one of make_cuda_backend.
struct CudaFacts {
  std::string device, driver, runtime;
  Bytes allocated;
  long graph_launches, captures;
};
CudaFacts cuda_facts(Backend&);

}  // namespace draftline::cli
