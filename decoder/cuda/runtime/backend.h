// SPDX-License-Identifier: Apache-2.0
// The CUDA interpreter: the reference decoder that is measured. A segment arrives as a finished tape; its temporaries lie
// where the arena's plan says, its ops are launched in order, or, from the second sight of its hash on, as one CUDA graph.
// Nothing in an op waits: read() alone does. No CUDA header in here: cli/ includes it.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "decoder/backend.h"
#include "decoder/cuda/gemm/product_choices.h"

namespace draftline {

class CudaBackend : public Backend {
 public:
  // Weights of several backends, by name, shape and format: each is made once, while one of them has it.
  class SharedWeights;
  static std::shared_ptr<SharedWeights> share_weights();
  static void drop_unused(SharedWeights&);

  struct Options {
    DType activations = DType::bf16;  // fp32 or bf16; all weights have it too
    bool graphs = true;               // false: every op is launched by itself, which shows the host's cost
    std::uint64_t seed = 0;           // of sampled tokens
    bool poison = false;              // fill what is not written yet with NaN, so that reading it shows
    int most_graphs = 512;            // the least recently used is dropped first
    bool timed_products = true;       // false: cuBLASLt's first choice, so that two runs have the same bits
    std::shared_ptr<SharedWeights> shared = {};
    bool filled = false;  // caches start with random values: a context may be assumed where only its cost counts
    std::shared_ptr<cuda::ProductChoices> products = {};  // timed before, and now; may be shared
  };
  // Throws DeviceError if there is no device, driver or cuBLASLt that will do.
  CudaBackend(const WeightStore&, WeightSource&, const Options&);
  ~CudaBackend() override;

  void make_persistent(const Tensor&, std::span<const int> initial) override;
  void make_cache(const Cache&, int kv_slots, int capacity) override;
  void stage(std::span<const int> data) override;
  void finish(const Tape&) override;
  std::vector<int> read(const Tensor& buffer) override;
  DeviceSeconds device_seconds() override;

  // While set, no graph is run: every op is launched by itself between two events. Told when what ran is waited for.
  std::function<void(const Tape&, std::size_t op, Seconds)> on_op;
  Seconds event_time();  // between two events with nothing between them

  std::vector<float> read_floats(const Tensor& buffer);  // for tests

  struct Facts {
    std::string device;
    int driver = 0, runtime = 0;
    Bytes allocated;
  };
  Facts facts() const;
  struct Counts {
    long segments = 0, graph_launches = 0, captures = 0, kernels = 0;  // kernels: launched, in graphs or without
    long single = 0;                                                   // segments whose ops were launched one by one
    long reads = 0, split_products = 0;  // split_products: launches of products above one each
  };
  const Counts& counts() const;

  // Kernels that an op is, as the engine profile "draftline" prices it. A product may be split and joined on top of that.
  static int declared_launches(const Op&);

  struct State;  // decoder/cuda's own

 private:
  std::unique_ptr<State> state_;
};

}  // namespace draftline
