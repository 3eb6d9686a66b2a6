// SPDX-License-Identifier: Apache-2.0
// The CUDA backend of `decode` and `validate`, in programs that were built with CUDA. In other programs
// make_cuda_backend() and cuda_device_name() throw DeviceError, and the other functions do nothing.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "decoder/backend.h"

namespace draftline::cuda {
class SharedWeights;
struct ProductChoices;
}  // namespace draftline::cuda

namespace draftline::measure {

struct CudaChoice {
  DType activations = DType::bf16;
  bool graphs = true;
  std::uint64_t seed = 0;
  std::shared_ptr<cuda::SharedWeights> shared = {};       // null: the backend has its own weights
  std::shared_ptr<cuda::ProductChoices> algorithms = {};  // null: algorithms are chosen again
  bool filled = false;                                    // caches start with random values
};
// Throws DeviceError if the program was built without CUDA, or if there is no suitable device.
std::unique_ptr<Backend> make_cuda_backend(const WeightStore&, WeightSource&, const CudaChoice&);

// The device and software of a backend that make_cuda_backend() made, its allocated memory and its launches.
struct CudaFacts {
  std::string device, driver, runtime;  // versions as "13.0"
  Bytes allocated;
  long graph_launches, captures;
};
CudaFacts cuda_facts(Backend&);
std::string cuda_device_name();

// Weights for several backends: each is made once. drop_unused_cuda_weights() frees weights that no backend uses.
std::shared_ptr<cuda::SharedWeights> share_cuda_weights();
void drop_unused_cuda_weights(cuda::SharedWeights*);

// Algorithms of matrix products for several backends, read from a file if it exists; entries of other devices are
// preserved. Throws InputErrors if the file has another content. keep_cuda_algorithms() writes the file if new
// algorithms were timed.
std::shared_ptr<cuda::ProductChoices> cuda_algorithms(const std::filesystem::path&);
void keep_cuda_algorithms(const cuda::ProductChoices*, const std::filesystem::path&);
int cuda_algorithms_timed(const cuda::ProductChoices*);

// The number of segments so far that were run op by op or captured, so that their times differ from those of later
// runs.
long cuda_first_sights(Backend&);
// Calls `on_op` with the time of every op from now on and uses no graphs meanwhile; null: stops timing ops.
void clock_cuda_ops(Backend&, std::function<void(const Tape&, std::size_t op, Seconds)> on_op);
Seconds cuda_event_time(Backend&);  // the time between two events with no work between them
// Reads the clock of the GPU's multiprocessors, in MHz; none if the driver does not report it.
using ReadClock = std::function<std::optional<double>()>;
ReadClock cuda_clock();

}  // namespace draftline::measure
