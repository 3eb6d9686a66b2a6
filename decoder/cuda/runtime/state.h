// SPDX-License-Identifier: Apache-2.0
// The state of the CUDA interpreter, shared by the files that implement it: backend.cpp, clock.cpp, load_weights.cpp
// and run_ops.cpp.
#pragma once
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/runtime/backend.h"
#include "decoder/cuda/runtime/device.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

class SharedWeights {
 public:
  std::map<std::tuple<std::string, int, int, DType>, std::shared_ptr<Buffer>> all;
};

struct CacheData {
  Buffer values, blocks;
  int blocks_per_kv_slot = 0, block_count = 0;
};

struct StateData {
  Buffer states, rows;
  int kv_slots = 0;
};

// The graph of one tape; empty until it is captured.
struct TapeGraph {
  GraphExec exec;
  long kernels = 0;
};

}  // namespace draftline::cuda

namespace draftline {

inline std::size_t size_of(DType t) { return at(bits_of(t)) / 8; }

struct CudaBackend::State final : cuda::Addresses {
  State(const WeightStore&, WeightSource&, const Options&);

  // ---- addresses
  std::byte* address(const Tensor&) const override;
  const void* weight(const Weight&) override;  // loads it at its first use, which must not happen while capturing
  const int* whole_numbers(const Weight&) override;
  const float* frequencies(const Rope&) override;
  const Pass& pass(PassRef p) const override { return tape->pass(p); }
  cuda::CacheMemory memory(const Cache& c) const override {
    const cuda::CacheData& d = caches[at(c.id)];
    return {d.values.data(), reinterpret_cast<const int*>(d.blocks.data()), d.blocks_per_kv_slot, d.block_count};
  }
  cuda::StateMemory memory(const StateCache& c) const override {
    const cuda::StateData& d = states[at(c.id)];
    return {d.states.data(), d.rows.data(), d.kv_slots};
  }
  cuda::Surroundings surroundings() override {
    return {stream, {scratch.data(), scratch.bytes()}, device.multiprocessors, device.shared, options.seed, &blas};
  }
  void make_weight(const Weight&, cuda::Buffer&);
  void fill_cache(const Cache&, cuda::Buffer&);

  // ---- running (run_ops.cpp)
  void prepare(const Op&);  // does what must not happen while capturing: loads weights and chooses algorithms
  void launch(const Op&);
  int launches(const Op&);  // kernels that a prepared op launches
  std::size_t scratch_bytes(const Op&);
  void launch_all();
  void launch_clocked();

  // ---- memory
  void poison(cuda::Buffer&, std::size_t bytes);
  void copy_in(std::byte* to, const void* from, std::size_t bytes);  // from pageable host memory, in stream order
  std::byte* staging(std::size_t bytes);
  void upload();
  void plan();
  void capture(cuda::TapeGraph&);
  cuda::TapeGraph* graph_for(std::uint64_t hash);  // null the first time that a hash is seen
  void collect_times();                            // adds up the times of all that has been waited for

  const WeightStore& store;
  WeightSource& source;
  Options options;
  cuda::DeviceFacts device;
  cuda::Stream stream;
  cuda::Blas blas;
  Counts counts;
  std::size_t allocated = 0;

  const Tape* tape = nullptr;
  const ArenaPlan* arena_plan = nullptr;
  std::unordered_map<std::uint64_t, ArenaPlan> plans;
  std::unordered_map<std::uint64_t, std::size_t> scratch_of;  // bytes of scratch by tape
  cuda::Buffer arena, scratch;
  std::vector<cuda::Buffer> persistent;
  std::vector<std::size_t> persistent_bytes;
  std::vector<cuda::CacheData> caches;
  std::vector<cuda::StateData> states;
  std::unordered_map<int, std::shared_ptr<cuda::Buffer>> weights;
  std::vector<std::pair<Rope, cuda::Buffer>> rope_tables;

  std::vector<std::vector<int>> staged;
  std::size_t next_staged = 0;
  cuda::Pinned ring, read_back;
  std::size_t ring_used = 0;
  std::optional<int> read_buffer;  // the persistent buffer whose values `read_back` holds

  struct Stored {
    cuda::TapeGraph graph;
    std::list<std::uint64_t>::iterator used;
  };
  std::unordered_map<std::uint64_t, Stored> graphs;
  std::list<std::uint64_t> recently;  // hashes of graphs, the most recently used first

  // Two events around consecutive ops of one phase, or around a graph, which has no single phase.
  struct Interval {
    std::optional<Phase> phase;
    std::size_t begin, end;
  };
  std::vector<cuda::Event> events;
  std::size_t events_used = 0;
  std::vector<Interval> intervals;
  struct Clocked {  // two events around an op
    const Tape* tape;
    std::size_t op, begin, end;
  };
  std::vector<Clocked> clocked;
  std::function<void(const Tape&, std::size_t, Seconds)>* on_op = nullptr;
  DeviceSeconds seconds;
  std::size_t mark();
};

}  // namespace draftline
