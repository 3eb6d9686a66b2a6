// SPDX-License-Identifier: Apache-2.0
// What the CUDA interpreter holds, shared between the file that keeps it (backend.cpp) and the one that launches ops
// (run_ops.cpp).
#pragma once
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/runtime/backend.h"
#include "decoder/cuda/runtime/device.h"

namespace draftline::cuda {

struct CacheData {
  Buffer values, blocks;
  int blocks_per_kv_slot = 0, block_count = 0;
};

struct Graph {  // of one tape
  Graph() = default;
  Graph(Graph&& o) noexcept : exec(std::exchange(o.exec, nullptr)), kernels(o.kernels) {}
  Graph& operator=(Graph&& o) noexcept {
    std::swap(exec, o.exec);
    kernels = o.kernels;
    return *this;
  }
  ~Graph() {
    if (exec != nullptr) static_cast<void>(cudaGraphExecDestroy(exec));
  }
  cudaGraphExec_t exec = nullptr;
  long kernels = 0;
};

}  // namespace draftline::cuda

namespace draftline {

class CudaBackend::SharedWeights {
 public:
  std::map<std::tuple<std::string, int, int, DType>, std::shared_ptr<cuda::Buffer>> all;
};

struct CudaBackend::State {
  State(const WeightStore&, WeightSource&, const Options&);

  // ---- addresses
  std::byte* at(const Tensor&) const;
  template <class T>
  cuda::View<T> view(const Tensor& t) const {
    return {reinterpret_cast<T*>(at(t)), t.rows, t.cols, t.stride};
  }
  cuda::BatchSlotsView view(const BatchSlots&) const;
  cuda::PassView view(PassRef) const;
  template <class T>
  cuda::CacheView<T> view(const Cache& c) const {
    const cuda::CacheData& d = caches[static_cast<std::size_t>(c.id)];
    return {reinterpret_cast<T*>(d.values.data()),
            reinterpret_cast<const int*>(d.blocks.data()),
            d.blocks_per_kv_slot,
            d.block_count,
            c.kv_heads,
            c.head_dim};
  }
  const void* weight(const Weight&);  // loads it at first use: never while capturing
  void make_weight(const Weight&, cuda::Buffer&);
  void fill_cache(const Cache&, cuda::Buffer&);
  const int* whole_numbers(const Weight&);  // stored as int32
  const float* frequencies(const Rope&);

  // ---- running (run_ops.cpp)
  void prepare(const Op&);  // what may not happen while capturing: weights, algorithms
  void launch(const Op&);
  int launches(const Op&) const;  // of a prepared op; products: as counted
  std::size_t scratch_bytes(const Op&) const;
  void launch_all();
  void launch_clocked();

  // ---- memory
  void poison(cuda::Buffer&, std::size_t bytes);
  void copy_in(std::byte* to, const void* from, std::size_t bytes);  // from pageable memory, in stream order
  std::byte* staging(std::size_t bytes);
  void upload();
  void plan();
  void capture(cuda::Graph&);
  cuda::Graph* graph_for(std::uint64_t hash);  // null at first sight
  void settle();                               // adds up the times of what is done

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
  std::unordered_map<std::uint64_t, std::size_t> scratch_of;  // bytes, by tape
  cuda::Buffer arena, scratch;
  std::vector<cuda::Buffer> persistent;
  std::vector<std::size_t> persistent_bytes;
  std::vector<cuda::CacheData> caches;
  std::vector<int> capacities;
  std::unordered_map<int, std::shared_ptr<cuda::Buffer>> weights;
  std::map<std::tuple<double, int, double>, cuda::Buffer> rope_tables;

  std::vector<std::vector<int>> staged;
  std::size_t next_staged = 0;
  cuda::Pinned ring, read_back;
  std::size_t ring_used = 0;
  int read_buffer = -1;  // whose values `read_back` holds; -1: none

  struct Stored {
    cuda::Graph graph;
    std::list<std::uint64_t>::iterator used;
  };
  std::unordered_map<std::uint64_t, Stored> graphs;
  std::list<std::uint64_t> recently;  // newest first

  // Pairs of events around runs of ops of one phase; whole graphs have none.
  struct Interval {
    std::optional<Phase> phase;
    std::size_t begin, end;
  };
  std::vector<cuda::Event> events;
  std::size_t events_used = 0;
  std::vector<Interval> intervals;
  struct Clocked {  // an op between two events
    const Tape* tape;
    std::size_t op, begin, end;
  };
  std::vector<Clocked> clocked;
  std::function<void(const Tape&, std::size_t, Seconds)>* on_op = nullptr;
  DeviceSeconds seconds;
  std::size_t mark();
};

}  // namespace draftline
