// SPDX-License-Identifier: Apache-2.0
// The CPU interpreter: the specification of every op. Plain loops, fp32 whatever the declared format, a fixed order of
// additions: a row has the same bits whatever the batch, the tree or the tail around it. It counts what its loops really
// touch, apart from decoder/op_work, so that the two accounts can be compared.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "decoder/backend.h"
#include "decoder/cpu/cache.h"

namespace draftline {

class CpuBackend : public Backend {
 public:
  // immediate: each op as it is recorded (for the debugger). planned: a whole segment at its end, its temporaries in a
  // shared arena, as a CUDA graph does it: a method that is wrong under graphs is wrong here first.
  enum class Mode { immediate, planned };
  struct Options {
    Mode mode = Mode::planned;
    std::uint64_t seed = 0;  // of sampled tokens
    bool poison = true;      // fill what is not written yet with NaN, so that reading it shows
    bool filled = false;     // caches start with random values: a context may be assumed where only its cost counts
  };
  CpuBackend(const WeightStore&, WeightSource&, const Options&);
  CpuBackend(const WeightStore& store, WeightSource& source) : CpuBackend(store, source, Options{}) {}

  void make_slot(const Tensor&, std::span<const int> initial) override;
  void make_cache(const Cache&, int seats, int capacity) override;
  void stage(std::span<const int> data) override;
  void emitted(const Op&, const Tape&) override;
  void finish(const Tape&) override;
  std::vector<int> read(const Tensor& slot) override;
  DeviceSeconds device_seconds() override { return seconds_; }  // of planned segments

  std::vector<float> read_floats(const Tensor& slot);  // row by row; for tests and for dumping logits
  // K then V of one cache entry: [kv_heads * head_dim] each.
  std::vector<float> cache_entry(const Cache&, int layer, int place, int key) const;

  struct Counts {  // what the loops touched, in declared formats
    double flops = 0, read = 0, written = 0;
    long ops = 0;
  };
  const Counts& counts() const { return counts_; }

  // Told how long each op of a planned segment took. Null: nobody looks at the clock.
  std::function<void(const Tape&, std::size_t op, Seconds)> on_op;

 private:
  struct PassView {  // a pass, its tensors resolved; `tree_mask` may be null
    const Pass& pass;
    const int *cu_seqlens, *places, *lengths, *tree_mask;
    int words;
    bool visible(int row, int tail_entry) const {
      return tree_mask == nullptr ||
             (static_cast<unsigned>(tree_mask[row * words + tail_entry / 32]) >> (tail_entry % 32) & 1U) != 0;
    }
    int visible_tail(int row,
                     int index) const;  // entries of the tail that row `row`, the index-th of its sequence, attends to
  };

  std::uint32_t* at(const Tensor&);
  const float* in(const Tensor&);  // in, ids: count the bytes as read; out, out_ids: as written
  const int* ids(const Tensor&);
  float* out(const Tensor&);
  int* out_ids(const Tensor&);
  const float* weight(const Weight&, bool counted = true);
  const PanelLine* panels(const Weight&);  // the same in panels of 16 columns, a line for each input, for linear
  CpuCache& held(const Cache& c) { return caches_[static_cast<std::size_t>(c.id)]; }
  PassView view(PassRef);

  void run_op(const Op&);
  void run(const Embed&);
  void run(const Linear&);
  void run(const RmsNorm&);
  void run(const AddRmsNorm&);
  void run(const LayerNorm&);
  void run(const Add&);
  void run(const SiluMul&);
  void run(const SiluAdd&);
  void run(const Gelu&);
  void run(const CosineGate&);
  void run(const MixtureOfExperts&);
  void run(const RopeAppend&);
  void run(const Attend&);
  void run(const GroupAttend&);
  void run(const SumOverRanks&);
  void run(const GatherOverRanks&);
  void run(const Gather&);
  void run(const ConcatRows&);
  void run(const Store&);
  void run(const Upload&);
  void run(const Argmax&);
  void run(const TopK&);
  void run(const Sample&);
  void run(const SampleChildren&);
  void run(const MapIds&);
  void run(const ClipTopK&);
  void run(const ExpandTree&);
  void run(const SelectTree&);
  void run(const VerifyGreedy&);
  void run(const VerifySampled&);
  void run(const VerifyRelaxed&);
  void run(const ForceAccepted&);
  void run(const Commit&);
  void run(const Advance&);
  void copy_rows(const Tensor& from, std::uint32_t* to, int stride);
  const std::vector<float>& frequencies(const Rope&);

  const WeightStore& store_;
  WeightSource& source_;
  Options options_;
  Counts counts_;
  DeviceSeconds seconds_;
  const Tape* tape_ = nullptr;
  const ArenaPlan* plan_ = nullptr;
  std::vector<std::vector<std::uint32_t>> slots_, temps_;
  std::vector<std::uint32_t> arena_;
  std::deque<std::vector<int>> staged_;
  std::vector<CpuCache> caches_;
  std::unordered_map<int, std::vector<float>> weights_;
  std::unordered_map<int, std::vector<PanelLine>> panels_;
  std::unordered_map<const Tape*, ArenaPlan> plans_;
  std::map<std::tuple<double, int, double>, std::vector<float>> frequencies_;  // by theta, columns, stretch
};

}  // namespace draftline
