// SPDX-License-Identifier: Apache-2.0
// `--device cuda` of `decode` and `validate`: the CUDA backend where this program was built with it.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "decoder/backend.h"

namespace draftline::measure {

struct CudaChoice {
  DType activations;
  bool graphs;
  std::uint64_t seed;
  std::shared_ptr<void> shared;      // of share_cuda_weights(); null: weights of its own
  std::shared_ptr<void> algorithms;  // of cuda_algorithms(); null: chosen anew
  bool filled;                       // caches start with random values
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
std::string cuda_device_name();

// For several backends: each weight is made once, while one of them has it.
std::shared_ptr<void> share_cuda_weights();
void drop_unused_cuda_weights(void* shared);

// Algorithms of matrix products that were timed on this device or another, for several backends: those of a file, if it is
// there. InputErrors where it is none of such. Kept: written there again, if any was timed since.
std::shared_ptr<void> cuda_algorithms(const std::filesystem::path&);
void keep_cuda_algorithms(const void* algorithms, const std::filesystem::path&);
int cuda_algorithms_timed(const void* algorithms);

// Segments that ran in another way than they will from then on: op by op, or captured.
long cuda_first_sights(Backend&);
// Every op between two events, none in a graph; null: no more. And what two events take with nothing between them.
void clock_cuda_ops(Backend&, std::function<void(const Tape&, std::size_t op, Seconds)>);
Seconds cuda_event_time(Backend&);

}  // namespace draftline::measure
