// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/backend.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "core/int_indexed.h"

namespace draftline {

static std::size_t stored_bytes(const Tensor& t) { return t.values() * sizeof(float); }
static std::size_t stored_words(const Tensor& t) { return t.values(); }

CpuBackend::CpuBackend(const WeightStore& store, WeightSource& source, const Options& options)
    : store_(store), source_(source), options_(options) {}

void CpuBackend::make_persistent(const Tensor& t, std::span<const int> initial) {
  auto& buffer = persistent_.emplace_back(stored_words(t), kPoison);
  std::transform(initial.begin(), initial.end(), buffer.begin(), [](int v) -> std::uint32_t { return v; });
}

void CpuBackend::make_cache(const Cache& c, int kv_slots, int capacity) {
  caches_.emplace_back(c, kv_slots, capacity, options_.filled);
}

void CpuBackend::make_state_cache(const StateCache& c, int kv_slots) { states_.emplace_back(c, kv_slots); }

void CpuBackend::stage(std::span<const int> data) { staged_.emplace_back(data.begin(), data.end()); }

std::uint32_t* CpuBackend::words(const Tensor& t) {
  if (t.home == Home::persistent) return persistent_[at(t.id)].data() + t.offset;
  const auto k = at(t.id);
  std::uint32_t* base =
      options_.mode == Mode::immediate ? temps_[k].data() : arena_.data() + plan_->offset[k] / sizeof(float);
  return base + t.offset;
}

const float* CpuBackend::in(const Tensor& t) {
  counts_.read += t.bytes().value;
  return reinterpret_cast<const float*>(words(t));
}
const int* CpuBackend::ids(const Tensor& t) {
  counts_.read += t.bytes().value;
  return reinterpret_cast<const int*>(words(t));
}
float* CpuBackend::out(const Tensor& t) {
  counts_.written += t.bytes().value;
  return reinterpret_cast<float*>(words(t));
}
int* CpuBackend::out_ids(const Tensor& t) {
  counts_.written += t.bytes().value;
  return reinterpret_cast<int*>(words(t));
}

const float* CpuBackend::weight(const Weight& w, bool counted) {
  const double elements = w.elements();
  if (counted) counts_.read += elements * bits_of(w.dtype) / 8;
  auto& values = weights_[w.id];
  if (values.empty()) {
    values.resize(static_cast<std::size_t>(elements));
    source_.load(store_.name(w), w.in, w.out, values);
  }
  return values.data();
}

std::vector<float> CpuBackend::cache_entry(const Cache& c, int layer, int kv_slot, int key) const {
  return caches_[at(c.id)].entry(layer, kv_slot, key);
}

std::vector<float> CpuBackend::state_after(const StateCache& c, int layer, int kv_slot, int position) const {
  const std::span<const float> state = states_[at(c.id)].state(layer, kv_slot, position);
  return {state.begin(), state.end()};
}

CpuBackend::PassView CpuBackend::view(PassRef ref) {
  const Pass& p = tape_->pass(ref);
  return {.pass = p,
          .cu_seqlens = ids(p.rows.cu_seqlens),
          .kv_slots = ids(p.slots.kv_slots),
          .lengths = ids(p.slots.lengths),
          .tree_mask = p.tree_mask ? ids(*p.tree_mask) : nullptr,
          .words = p.tree_mask ? p.tree_mask->stride : 0};
}

int CpuBackend::PassView::visible_tail(int row, int index) const {
  if (tree_mask == nullptr) return pass.tail + index + 1;
  int n = 0;
  for (int w = 0; w < words; ++w) n += std::popcount(unsigned(tree_mask[row * words + w]));
  return n;
}

void CpuBackend::emitted(const Op& op, const Tape& tape) {
  if (options_.mode != Mode::immediate) return;
  tape_ = &tape;
  while (temps_.size() < tape.temps.size()) temps_.emplace_back(stored_words(tape.temps[temps_.size()]), kPoison);
  run_op(op);
}

void CpuBackend::finish(const Tape& tape) {
  if (options_.mode == Mode::immediate) {
    temps_.clear();
    return;
  }
  auto [it, fresh] = plans_.try_emplace(&tape);
  if (fresh) it->second = plan_arena(tape, stored_bytes);
  plan_ = &it->second;
  tape_ = &tape;
  const std::size_t words = plan_->size / sizeof(float);
  if (arena_.size() < words) arena_.resize(words);
  if (options_.poison) std::fill_n(arena_.begin(), words, kPoison);
  using Clock = std::chrono::steady_clock;
  const auto seconds_from = [](Clock::time_point then, Clock::time_point now) {
    return std::chrono::duration<double>(now - then).count();
  };
  auto last = Clock::now(), before = last;
  for (std::size_t i = 0; i < tape.ops.size(); ++i) {
    run_op(tape.ops[i]);
    if (on_op) {
      on_op(tape, i, Seconds{seconds_from(before, Clock::now())});
      before = Clock::now();
    }
    if (i + 1 < tape.ops.size() && tape.phases[i + 1] == tape.phases[i]) continue;
    const auto now = Clock::now();
    seconds_.of(tape.phases[i]) += seconds_from(last, now);
    seconds_.all += seconds_from(last, now);
    last = now;
  }
}

std::vector<int> CpuBackend::read(const Tensor& buffer) {
  std::vector<int> values;
  const std::uint32_t* data = words(buffer);
  for (int r = 0; r < buffer.rows; ++r)
    for (int c = 0; c < buffer.cols; ++c) values.push_back(std::bit_cast<int>(data[r * buffer.stride + c]));
  return values;
}

std::vector<float> CpuBackend::read_floats(const Tensor& buffer) {
  std::vector<float> values;
  for (const int word : read(buffer)) values.push_back(std::bit_cast<float>(word));
  return values;
}

void CpuBackend::run_op(const Op& op) {
  ++counts_.ops;
  std::visit([this](const auto& o) { run(o); }, op);
}

void CpuBackend::run(const Quantise&) { check(false, "the CPU decoder computes in fp32"); }
void CpuBackend::run(const SumOverRanks&) { check(false, "the CPU decoder runs on one rank"); }
void CpuBackend::run(const GatherOverRanks&) { check(false, "the CPU decoder runs on one rank"); }
void CpuBackend::run(const PricedAlone&) {
  throw InputErrors("a layer of this network can be priced, but not computed");
}
void CpuBackend::run(const ExchangeRows&) { check(false, "the CPU decoder runs on one rank"); }

void CpuBackend::run(const Gather& o) {
  std::uint32_t* y = words(o.y);
  counts_.written += o.y.bytes().value;
  const int* index = o.index ? ids(*o.index) : nullptr;
  for (int r = 0; r < o.y.rows; ++r) {
    const int from = index ? index[r / o.span * o.index->stride] + o.shift + r % o.span : r;
    int column = 0;
    for (const Tensor& part : o.parts) {
      check(from >= 0 && from < part.rows, "gather: a row out of range");
      std::copy_n(words(part) + std::ptrdiff_t{from} * part.stride, part.cols,
                  y + std::ptrdiff_t{r} * o.y.stride + column);
      column += part.cols;
      counts_.read += bytes_of(part.dtype, part.cols).value;
    }
  }
}

void CpuBackend::copy_rows(const Tensor& from, std::uint32_t* to, int stride) {
  in(from);
  const std::uint32_t* x = words(from);
  for (int r = 0; r < from.rows; ++r) std::copy_n(x + std::ptrdiff_t{r} * from.stride, from.cols, to + r * stride);
}

void CpuBackend::run(const ConcatRows& o) {
  std::uint32_t* y = words(o.y);
  counts_.written += o.y.bytes().value;
  for (const Tensor& part : o.parts) {
    copy_rows(part, y, o.y.stride);
    y += part.rows * o.y.stride;
  }
}

void CpuBackend::run(const Store& o) {
  counts_.written += o.to.bytes().value;
  copy_rows(o.x, words(o.to), o.to.stride);
}

void CpuBackend::run(const Upload& o) {
  std::ranges::copy(staged_.front(), out_ids(o.to));
  staged_.pop_front();
}

void CpuBackend::run(const Commit& o) {
  const int *path = ids(o.path), *cu_seqlens = ids(o.cu_seqlens), *kv_slot = ids(o.kv_slots), *length = ids(o.lengths);
  const int sequences = o.cu_seqlens.rows - 1, per = o.path.rows / sequences;
  CpuCache& cache = held(o.cache);
  for (int layer = 0; layer < o.cache.layers; ++layer)
    for (int b = 0; b < sequences; ++b)
      for (int j = 0; j < per; ++j) {  // ascending: as path[j] >= j, no entry is overwritten before it is read
        cache.move(layer, kv_slot[b], length[b] + path[b * per + j] - cu_seqlens[b], length[b] + j);
        counts_.read += o.cache.row_bytes().value;
        counts_.written += o.cache.row_bytes().value;
      }
}

void CpuBackend::run(const Advance& o) {
  const int *counts = ids(o.counts), *old = ids(o.lengths);
  int* lengths = out_ids(o.lengths);
  for (int b = 0; b < o.counts.rows; ++b)
    lengths[b * o.lengths.stride] = old[b * o.lengths.stride] + counts[b * o.counts.stride];
}

}  // namespace draftline
