// SPDX-License-Identifier: Apache-2.0
// The CPU interpreter is the specification of every op: plain loops in fp32, independent of the declared format, with a
// fixed order of additions, so that a row's bits do not depend on the batch, tree or tail around it. It counts the
// loops' FLOP and bytes independently of decoder/op_work, so that both counts can be compared.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/backend.h"
#include "decoder/cpu/cache.h"
#include "decoder/cpu/huge_pages.h"
#include "decoder/cpu/states.h"

namespace draftline {

class CpuBackend : public Backend {
 public:
  // immediate: runs each op when it is recorded, for debugging. planned: runs a segment when it ends, with its
  // temporaries in one arena as with CUDA graphs, so that methods that are wrong with graphs also fail here.
  enum class Mode { immediate, planned };
  struct Options {
    Mode mode = Mode::planned;
    std::uint64_t seed = 0;  // for sampled tokens
    bool poison = true;      // fills unwritten memory with NaN, so that tests detect reads of it
    bool filled = false;     // caches start with random values, for measurements that assume a context
  };
  CpuBackend(const WeightStore&, WeightSource&, const Options&);
  CpuBackend(const WeightStore& store, WeightSource& source) : CpuBackend(store, source, Options{}) {}

  void make_persistent(const Tensor&, std::span<const int> initial) override;
  void make_cache(const Cache&, int kv_slots, int capacity) override;
  void make_state_cache(const StateCache&, int kv_slots) override;
  void stage(std::span<const int> data) override;
  void emitted(const Op&, const Tape&) override;
  void finish(const Tape&) override;
  std::vector<int> read(const Tensor& buffer) override;
  DeviceSeconds device_seconds() override { return seconds_; }  // of planned segments

  std::vector<float> read_floats(const Tensor& buffer);  // row by row; for tests and for dumping logits
  // K then V of one cache entry: [kv_heads * head_dim], [kv_heads * value_dim].
  std::vector<float> cache_entry(const Cache&, int layer, int kv_slot, int key) const;

  // The state after the row at `position`: [value_heads * key_dim * value_dim].
  std::vector<float> state_after(const StateCache&, int layer, int kv_slot, int position) const;

  struct Counts {  // FLOP and bytes of the loops so far, in the declared formats
    double flops = 0, read = 0, written = 0;
    long ops = 0;
  };
  const Counts& counts() const { return counts_; }

  // Called with the time of each op of a planned segment. Null: ops are not timed.
  std::function<void(const Tape&, std::size_t op, Seconds)> on_op;

 private:
  struct PassView {  // a pass with the addresses of its tensors; `tree_mask` may be null
    const Pass& pass;
    const int *cu_seqlens, *kv_slots, *lengths, *tree_mask;
    int words;
    bool visible(int row, int tail_entry) const {
      return tree_mask == nullptr ||
             (static_cast<unsigned>(tree_mask[row * words + tail_entry / 32]) >> (tail_entry % 32) & 1U) != 0;
    }
    // The number of tail entries to which row `row`, the index-th of its sequence, may attend.
    int visible_tail(int row, int index) const;
    // The tail entry that `entry` follows in the text of row `row`, itself or one of its ancestors; below 0: of the
    // committed text, counted from its end.
    int before(int row, int entry) const {
      if (tree_mask != nullptr)
        for (int j = entry - 1; j >= 0; --j)
          if (visible(row, j)) return j;
      return (tree_mask != nullptr && entry > 0 ? 0 : entry) - 1;
    }
    // Masks the keys from `base` on to which a row, whose window begins at text position `first`, does not attend.
    // `length`: committed length.
    void hide(std::span<float> score, int base, int first, int row, int length) const;
  };

  std::uint32_t* words(const Tensor&);
  const float* in(const Tensor&);  // in() and ids() count the tensor's bytes as read, out() and out_ids() as written
  const int* ids(const Tensor&);
  // Counted by the op itself.
  const float* read_only(const Tensor& t) { return reinterpret_cast<const float*>(words(t)); }
  float* out(const Tensor&);
  int* out_ids(const Tensor&);
  const float* weight(const Weight&, bool counted = true);
  const PanelLine* panels(const Weight&);  // the weight in panels of 16 columns with one line per input, for linear
  CpuCache& held(const Cache& c) { return caches_[at(c.id)]; }
  PassView view(PassRef);

  void run_op(const Op&);
#define DRAFTLINE_RUN(O) void run(const O&);
  DRAFTLINE_OPS(DRAFTLINE_RUN)
#undef DRAFTLINE_RUN
  // Attention over a cache: query(row, head, to) writes a query's columns, result(row, head) is the destination of its
  // sums.
  template <class O, class Query, class Result>
  void attend(const O&, int heads, float scale, const float* sinks, Query query, Result result);
  void attend_to_tokens(const LatentAttend&);  // tokens chosen by an indexer
  void copy_rows(const Tensor& from, std::uint32_t* to, int stride);
  const std::vector<float>& frequencies(const Rope&);

  const WeightStore& store_;
  WeightSource& source_;
  Options options_;
  Counts counts_;
  DeviceSeconds seconds_;
  const Tape* tape_ = nullptr;
  const ArenaPlan* plan_ = nullptr;
  std::vector<std::vector<std::uint32_t>> persistent_, temps_;
  std::pmr::vector<std::uint32_t> arena_{huge_pages()};
  std::deque<std::vector<int>> staged_;
  std::vector<CpuCache> caches_;
  std::vector<CpuStates> states_;
  std::unordered_map<int, std::vector<float>> weights_;
  HugePageArena panel_memory_;
  std::unordered_map<int, std::pmr::vector<PanelLine>> panels_;
  std::unordered_map<const Tape*, ArenaPlan> plans_;
  std::vector<std::pair<Rope, std::vector<float>>> frequencies_;
};

}  // namespace draftline
