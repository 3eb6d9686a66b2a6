// SPDX-License-Identifier: Apache-2.0
#include "cli/decode_device.h"

#ifdef DRAFTLINE_WITH_CUDA
#include "decoder/cuda/backend.h"
#endif

namespace draftline::cli {

#ifdef DRAFTLINE_WITH_CUDA

std::unique_ptr<Backend> make_cuda_backend(const WeightStore& store, WeightSource& source, const CudaChoice& c) {
  return std::make_unique<CudaBackend>(store, source,
                                       CudaBackend::Options{c.activations, c.graphs, c.seed, false, 512});
}

CudaFacts cuda_facts(Backend& backend) {
  const auto& cuda = dynamic_cast<CudaBackend&>(backend);
  const auto f = cuda.facts();
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return {f.device,
          version(f.driver),
          version(f.runtime),
          f.allocated,
          cuda.counts().graph_launches,
          cuda.counts().captures};
}

#else

std::unique_ptr<Backend> make_cuda_backend(const WeightStore&, WeightSource&, const CudaChoice&) {
  throw DeviceError("this program was built without CUDA: build it where nvcc is, with -DDRAFTLINE_CUDA=ON");
}
CudaFacts cuda_facts(Backend&) { return {}; }

#endif

}  // namespace draftline::cli
