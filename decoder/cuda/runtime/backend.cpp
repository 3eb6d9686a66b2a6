// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/runtime/backend.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/state.h"

namespace draftline {

using cuda::Buffer;
using cuda::must;

namespace {

constexpr int kPoison = 0xff;  // of every byte: makes a NaN in either format, and an id of -1

int floats_only(DType t) {
  if (t != DType::fp32 && t != DType::bf16)
    throw InputErrors("the decoder on CUDA computes in fp32 or bf16, not in " + std::string(name(t)));
  return 0;
}

}  // namespace

CudaBackend::State::State(const WeightStore& s, WeightSource& from, const Options& o)
    : store(s),
      source(from),
      options(o),
      device(cuda::open_device()),
      blas(stream, o.timed_products ? cuda::Blas::Choice::timed : cuda::Blas::Choice::first, o.products,
           device.name + ", " + std::to_string(device.multiprocessors) + " multiprocessors") {
  floats_only(o.activations);
}

std::byte* CudaBackend::State::address(const Tensor& t) const {
  const std::size_t offset = at(t.offset) * size_of(t.dtype);
  if (t.home == Home::persistent) return persistent[at(t.id)].data() + offset;
  return arena.data() + arena_plan->offset[at(t.id)] + offset;
}

void CudaBackend::State::poison(Buffer& b, std::size_t bytes) {
  must(cudaMemsetAsync(b.data(), kPoison, std::min(bytes, b.bytes()), stream), "filling memory");
}

// Waits for the copy, as it depends on the system whether a copy from pageable memory has read all of it on return.
void CudaBackend::State::copy_in(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
  stream.wait();
}

// Pinned memory that is not reused until the next wait for the stream.
std::byte* CudaBackend::State::staging(std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{1} << 16, kAlignment = 16;
  if (ring_used + bytes > ring.bytes()) {
    stream.wait();  // after this no copy reads the ring any more
    ring_used = 0;
    if (bytes > ring.bytes()) ring = cuda::Pinned(std::max(kLeast, 2 * bytes));
  }
  std::byte* const p = ring.data() + ring_used;
  ring_used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return p;
}

void CudaBackend::State::upload() {
  for (const Op& op : tape->ops) {
    const auto* u = std::get_if<Upload>(&op);
    if (u == nullptr) continue;
    const auto& data = staged[next_staged++];
    const std::size_t bytes = data.size() * sizeof(int), width = at(u->to.cols) * sizeof(int);
    std::byte* const from = staging(bytes);
    std::memcpy(from, data.data(), bytes);
    const cudaError_t copied = u->to.stride == u->to.cols
                                   ? cudaMemcpyAsync(address(u->to), from, bytes, cudaMemcpyHostToDevice, stream)
                                   : cudaMemcpy2DAsync(address(u->to), at(u->to.stride) * sizeof(int), from, width,
                                                       width, at(u->to.rows), cudaMemcpyHostToDevice, stream);
    must(copied, "copying to the device");
  }
  staged.clear();
  next_staged = 0;
}

// Plans where the tape's temporaries lie, and makes the arena and the scratch memory large enough. Graphs hold
// addresses, so all are dropped when either is reallocated.
void CudaBackend::State::plan() {
  auto [it, fresh] = plans.try_emplace(tape->hash);
  std::size_t& needed = scratch_of[tape->hash];
  if (fresh) {
    it->second = plan_arena(*tape, declared_bytes);
    for (const Op& op : tape->ops) needed = std::max(needed, scratch_bytes(op));
  }
  arena_plan = &it->second;
  const auto grow = [&](Buffer& b, std::size_t bytes, const char* what) {
    if (bytes <= b.bytes()) return false;
    stream.wait();
    recently.clear();
    graphs.clear();
    allocated -= b.bytes();
    b = Buffer();
    b = Buffer(bytes, what);
    allocated += bytes;
    return true;
  };
  grow(arena, arena_plan->size, "the activations' arena");
  if (grow(scratch, needed, "scratch space of kernels"))
    must(cudaMemsetAsync(scratch.data(), 0, scratch.bytes(), stream), "filling memory");
}

cuda::TapeGraph* CudaBackend::State::graph_for(std::uint64_t hash) {
  const auto it = graphs.find(hash);
  if (it == graphs.end()) {
    if (count(graphs) >= options.most_graphs) {
      stream.wait();
      graphs.erase(recently.back());
      recently.pop_back();
    }
    recently.push_front(hash);
    graphs[hash].used = recently.begin();
    return nullptr;
  }
  recently.splice(recently.begin(), recently, it->second.used);
  return &it->second.graph;
}

void CudaBackend::State::capture(cuda::TapeGraph& g) {
  for (const Op& op : tape->ops) prepare(op);  // done at first sight, but again if the graph was dropped
  long declared = 0;
  cuda::Capture capture(stream);
  for (const Op& op : tape->ops) {
    launch(op);
    declared += launches(op);
  }
  const cuda::Graph graph = capture.end();
  check(cuda::nodes_of(graph) == at(declared), "a graph has other launches than its ops declare");
  g = {.exec = cuda::GraphExec(graph), .kernels = declared};
  ++counts.captures;
}

void CudaBackend::State::launch_all() {
  std::optional<Phase> phase;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tape->ops.size(); ++i) {
    const Op& op = tape->ops[i];
    if (std::holds_alternative<Upload>(op)) continue;
    prepare(op);
    if (phase != tape->phases[i]) {
      const std::size_t now = mark();
      if (phase) intervals.push_back({phase, begin, now});
      phase = tape->phases[i];
      begin = now;
    }
    launch(op);
    counts.kernels += launches(op);
  }
  if (phase) intervals.push_back({phase, begin, mark()});
  ++counts.single;
}

CudaBackend::CudaBackend(const WeightStore& store, WeightSource& source, const Options& options)
    : state_(std::make_unique<State>(store, source, options)) {
  state_->on_op = &on_op;
}
CudaBackend::~CudaBackend() = default;

void CudaBackend::make_persistent(const Tensor& t, std::span<const int> initial) {
  State& s = *state_;
  const std::size_t bytes = declared_bytes(t);
  Buffer b(bytes, "a persistent buffer");
  s.allocated += bytes;
  s.poison(b, bytes);
  s.copy_in(b.data(), initial.data(), initial.size() * sizeof(int));
  s.persistent.push_back(std::move(b));
  s.persistent_bytes.push_back(bytes);
}

void CudaBackend::make_cache(const Cache& c, int kv_slots, int capacity) {
  State& s = *state_;
  floats_only(c.dtype);
  cuda::CacheData d;
  d.blocks_per_kv_slot = cuda::ceil_div(capacity, cuda::kBlockTokens);
  const double blocks = 1.0 * d.blocks_per_kv_slot * kv_slots;
  if (2 * blocks > std::numeric_limits<int>::max()) throw InputErrors("a cache has more blocks than can be numbered");
  d.block_count = d.blocks_per_kv_slot * kv_slots;
  const auto bytes = whole(bytes_of(c.dtype, c.columns() + c.index_columns())) * at(c.layers) * at(d.block_count) *
                     at(cuda::kBlockTokens);
  d.values = Buffer(bytes, "a key-value cache");
  if (s.options.poison) s.poison(d.values, bytes);
  else if (s.options.filled) s.fill_cache(c, d.values);
  std::vector<int> table(at(d.block_count));  // KV slots take turns, as when sequences grow together
  for (int kv_slot = 0; kv_slot < kv_slots; ++kv_slot)
    for (int i = 0; i < d.blocks_per_kv_slot; ++i)
      table[at(kv_slot * d.blocks_per_kv_slot + i)] = i * kv_slots + kv_slot;
  d.blocks = Buffer(table.size() * sizeof(int), "a block table");
  s.copy_in(d.blocks.data(), table.data(), d.blocks.bytes());
  s.allocated += bytes + d.blocks.bytes();
  s.caches.push_back(std::move(d));
}

// States in 16 bits have the activations' format, which may be of 32.
void CudaBackend::make_state_cache(const StateCache& c, int kv_slots) {
  State& s = *state_;
  floats_only(c.inputs);
  const auto slots = at(c.layers) * at(kv_slots);
  const DType format = c.form.format == DType::fp32 ? DType::fp32 : s.options.activations;
  const auto state = whole(bytes_of(format, c.form.elements())), row = whole(c.row_bytes());
  const std::size_t states = slots * at(c.states) * state, rows = slots * at(c.kept_rows()) * row;
  cuda::StateData d{Buffer(states, "recurrent states"), Buffer(rows, "the rows of convolutions"), kv_slots};
  if (s.options.poison) {
    s.poison(d.states, states);
    s.poison(d.rows, rows);
  }
  s.allocated += states + rows;
  s.states.push_back(std::move(d));
}

void CudaBackend::stage(std::span<const int> data) { state_->staged.emplace_back(data.begin(), data.end()); }

void CudaBackend::finish(const Tape& tape) {
  State& s = *state_;
  s.tape = &tape;
  s.read_buffer.reset();
  ++s.counts.segments;
  s.plan();
  s.upload();
  if (s.options.poison && s.arena_plan->size > 0) s.poison(s.arena, s.arena_plan->size);
  constexpr std::size_t kMostEvents = 4096;  // without host reads, the events of segments would pile up
  if (s.events_used > kMostEvents) {
    s.stream.wait();
    s.collect_times();
  }
  if (on_op) return s.launch_clocked();
  cuda::TapeGraph* const g = s.options.graphs ? s.graph_for(tape.hash) : nullptr;
  if (g == nullptr) return s.launch_all();
  const bool any =
      std::any_of(tape.ops.begin(), tape.ops.end(), [](const Op& op) { return !std::holds_alternative<Upload>(op); });
  if (!any) return;
  if (!g->exec) s.capture(*g);
  const std::size_t begin = s.mark();
  g->exec.run(s.stream);
  s.intervals.push_back({std::nullopt, begin, s.mark()});
  ++s.counts.graph_launches;
  s.counts.kernels += g->kernels;
}

// Copies the whole buffer and keeps it, as a step reads its counts and its tokens from the same one.
std::vector<int> CudaBackend::read(const Tensor& t) {
  State& s = *state_;
  check(size_of(t.dtype) == sizeof(int), "read: 32-bit values alone");
  const auto id = at(t.id);
  if (s.read_buffer != t.id) {
    const std::size_t bytes = s.persistent_bytes[id];
    if (s.read_back.bytes() < bytes) s.read_back = cuda::Pinned(2 * bytes);
    must(cudaMemcpyAsync(s.read_back.data(), s.persistent[id].data(), bytes, cudaMemcpyDeviceToHost, s.stream),
         "copying from the device");
    s.stream.wait();
    ++s.counts.reads;
    s.ring_used = 0;
    s.collect_times();
    s.read_buffer = t.id;
  }
  const auto* data = reinterpret_cast<const int*>(s.read_back.data()) + t.offset;
  std::vector<int> values;
  values.reserve(at(t.rows) * at(t.cols));
  for (int r = 0; r < t.rows; ++r, data += t.stride) values.insert(values.end(), data, data + t.cols);
  return values;
}

std::vector<float> CudaBackend::read_floats(const Tensor& t) {
  State& s = *state_;
  const std::size_t size = size_of(t.dtype);
  std::vector<std::byte> bytes(s.persistent_bytes[at(t.id)]);
  must(cudaMemcpyAsync(bytes.data(), s.persistent[at(t.id)].data(), bytes.size(), cudaMemcpyDeviceToHost, s.stream),
       "copying from the device");
  s.stream.wait();
  std::vector<float> values;
  for (int r = 0; r < t.rows; ++r)
    for (int c = 0; c < t.cols; ++c) {
      const std::byte* from = bytes.data() + (at(t.offset) + at(r) * at(t.stride) + at(c)) * size;
      if (t.dtype == DType::bf16) {
        cuda::bf16 v;
        std::memcpy(&v, from, sizeof v);
        values.push_back(__bfloat162float(v));
      } else {
        std::memcpy(&values.emplace_back(), from, sizeof(float));
      }
    }
  return values;
}

DeviceSeconds CudaBackend::device_seconds() { return state_->seconds; }

CudaBackend::Facts CudaBackend::facts() const {
  const cuda::DeviceFacts& d = state_->device;
  return {d.name, d.driver, d.runtime, Bytes{static_cast<double>(state_->allocated)}};
}
const CudaBackend::Counts& CudaBackend::counts() const { return state_->counts; }

}  // namespace draftline
