// SPDX-License-Identifier: Apache-2.0
#include "decoder/tape.h"

#include <algorithm>

namespace draftline {

namespace {

struct KeyOf {
  const Tape& tape;
  std::string_view operator()(const Embed&) const { return "embed"; }
  std::string_view operator()(const Linear& o) const {
    switch (o.w.dtype) {
      case DType::fp8: return "linear.fp8";
      case DType::int8: return "linear.int8";
      case DType::int4: return "linear.int4";
      default: return "linear";
    }
  }
  std::string_view operator()(const RmsNorm&) const { return "rms_norm"; }
  std::string_view operator()(const AddRmsNorm&) const { return "add_rms_norm"; }
  std::string_view operator()(const LayerNorm&) const { return "layer_norm"; }
  std::string_view operator()(const Add&) const { return "add"; }
  std::string_view operator()(const SiluMul&) const { return "silu_mul"; }
  std::string_view operator()(const SiluAdd&) const { return "silu_add"; }
  std::string_view operator()(const Gelu&) const { return "gelu"; }
  std::string_view operator()(const CosineGate&) const { return "cosine_gate"; }
  std::string_view operator()(const MixtureOfExperts&) const { return "expert_mlp"; }
  std::string_view operator()(const RopeAppend&) const { return "rope_append"; }
  std::string_view operator()(const Attend& o) const {
    const Pass& p = tape.pass(o.pass);
    constexpr int kMostVerifyRows = 128;  // more rows of one sequence than any tree: a prompt
    if (p.tree_mask) return "attention.verify";
    return p.rows.widest == 1                 ? "attention"
           : p.rows.widest <= kMostVerifyRows ? "attention.verify"
                                              : "attention.prefill";
  }
  std::string_view operator()(const GroupAttend&) const { return "group_attention"; }
  std::string_view operator()(const SumOverRanks&) const { return "all_reduce"; }
  std::string_view operator()(const Gather&) const { return "gather"; }
  std::string_view operator()(const ConcatRows&) const { return "concat_rows"; }
  std::string_view operator()(const Store&) const { return "store"; }
  std::string_view operator()(const Upload&) const { return "upload"; }
  std::string_view operator()(const Argmax&) const { return "argmax"; }
  std::string_view operator()(const TopK&) const { return "top_k"; }
  std::string_view operator()(const Sample&) const { return "sample"; }
  std::string_view operator()(const SampleChildren&) const { return "sample"; }
  std::string_view operator()(const MapIds&) const { return "map_ids"; }
  std::string_view operator()(const ClipTopK&) const { return "clip_top_k"; }
  std::string_view operator()(const ExpandTree&) const { return "expand_tree"; }
  std::string_view operator()(const SelectTree&) const { return "select_tree"; }
  std::string_view operator()(const VerifyGreedy&) const { return "verify_greedy"; }
  std::string_view operator()(const VerifySampled&) const { return "verify_sampled"; }
  std::string_view operator()(const VerifyRelaxed&) const { return "verify_relaxed"; }
  std::string_view operator()(const ForceAccepted&) const { return "force_accepted"; }
  std::string_view operator()(const Commit&) const { return "commit"; }
  std::string_view operator()(const Advance&) const { return "advance"; }
};

}  // namespace

PassRef pass_of(const Op& op) {
  return std::visit([](const auto& o) { return pass_of(o); }, op);
}

std::string_view op_key(const Op& op, const Tape& tape) { return std::visit(KeyOf{tape}, op); }

std::size_t declared_bytes(const Tensor& t) { return static_cast<std::size_t>(t.bytes().value); }

ArenaPlan plan_arena(const Tape& tape, std::size_t (*stored_bytes)(const Tensor&)) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t n = tape.temps.size();
  std::vector<int> first(n, -1), last(n, -1);
  for (int i = 0; i < static_cast<int>(tape.ops.size()); ++i) {
    const auto note = [&](const Tensor& t, bool) {
      if (t.home != Home::temp) return;
      const auto k = static_cast<std::size_t>(t.id);
      if (first[k] < 0) first[k] = i;
      last[k] = i;
    };
    std::visit([&](const auto& op) { each_tensor(tape, op, note); }, tape.ops[static_cast<std::size_t>(i)]);
  }
  ArenaPlan plan{std::vector<std::size_t>(n), 0};
  struct Block {
    std::size_t begin, end;
    int last;
  };
  std::vector<Block> live;  // sorted by begin; first fit
  for (std::size_t k = 0; k < n; ++k) {
    std::erase_if(live, [&](const Block& b) { return b.last < first[k]; });
    const std::size_t need = (stored_bytes(tape.temps[k]) + kAlignment - 1) / kAlignment * kAlignment;
    std::size_t at = 0, where = 0;
    for (; where < live.size() && live[where].begin < at + need; ++where) at = live[where].end;
    live.insert(live.begin() + static_cast<std::ptrdiff_t>(where), Block{at, at + need, last[k]});
    plan.offset[k] = at;
    plan.size = std::max(plan.size, at + need);
  }
  return plan;
}

}  // namespace draftline
