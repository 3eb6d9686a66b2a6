// SPDX-License-Identifier: Apache-2.0
// The CUDA interpreter: the reference decoder that is measured on GPUs. It gets segments as finished tapes. Temporaries
// lie in one arena. The ops of a tape are launched one by one the first time, and as one CUDA graph from the second
// time on. No op waits for the device; only read() does. This header needs no CUDA.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "decoder/backend.h"
#include "decoder/cuda/gemm/product_choices.h"

namespace draftline {

namespace cuda {
// Weights that several backends share, by name, shape and format: each is made once and kept while a backend uses it,
// until drop_unused() is called.
class SharedWeights;
std::shared_ptr<SharedWeights> share_weights();
void drop_unused(SharedWeights&);
}  // namespace cuda

class CudaBackend : public Backend {
 public:
  struct Options {
    DType activations = DType::bf16;  // fp32 or bf16; weights have the same format
    bool graphs = true;               // false: ops are always launched one by one, which shows the host's cost
    std::uint64_t seed = 0;           // of sampled tokens
    bool poison = false;              // fills memory that is not written yet with NaN, so that tests notice reads of it
    int most_graphs = 512;            // beyond these the least recently used graph is dropped
    bool timed_products = true;       // false: cuBLASLt's first choice, so that two runs have the same bits
    std::shared_ptr<cuda::SharedWeights> shared = {};  // none: the backend has weights of its own
    bool filled = false;  // caches start with random values, for measurements that assume a context
    std::shared_ptr<cuda::ProductChoices> products = {};  // algorithms chosen in earlier runs; new ones are added
  };
  // Throws DeviceError if there is no suitable device, driver or cuBLASLt.
  CudaBackend(const WeightStore&, WeightSource&, const Options&);
  ~CudaBackend() override;

  void make_persistent(const Tensor&, std::span<const int> initial) override;
  void make_cache(const Cache&, int kv_slots, int capacity) override;
  void make_state_cache(const StateCache&, int kv_slots) override;
  void stage(std::span<const int> data) override;
  void finish(const Tape&) override;
  std::vector<int> read(const Tensor& buffer) override;
  DeviceSeconds device_seconds() override;

  // While this is set, every op is launched by itself between two events, and no graph is run. It is called with the
  // time of each op when that has been waited for.
  std::function<void(const Tape&, std::size_t op, Seconds)> on_op;
  Seconds event_time();  // the time between two events with no work between them

  std::vector<float> read_floats(const Tensor& buffer);  // for tests

  struct Facts {
    std::string device;
    int driver = 0, runtime = 0;
    Bytes allocated;
  };
  Facts facts() const;
  struct Counts {
    long segments = 0, graph_launches = 0, captures = 0;
    long kernels = 0;  // all that were launched, in graphs or one by one
    long single = 0;   // segments whose ops were launched one by one
    long reads = 0;    // host reads
  };
  const Counts& counts() const;

  // The kernels of an op, as the engine profile "draftline" prices it. What joins the parts of a matrix product or of
  // an attention is one more, whose time is part of the op's as probes measure it.
  static int declared_launches(const Op&);

  struct State;  // defined in decoder/cuda/runtime/state.h

 private:
  std::unique_ptr<State> state_;
};

}  // namespace draftline
