// SPDX-License-Identifier: Apache-2.0
#include "decoder/tape.h"

#include <algorithm>

namespace draftline {

namespace {

template <class T>
std::string_view key_of(const T&, const Tape&) {
  return T::key;
}
std::string_view key_of(const Linear& o, const Tape&) {
  const bool quantised_inputs = bits_of(o.x.dtype) < 16;
  switch (o.w.dtype) {
    case DType::fp8: return quantised_inputs ? "linear.fp8-w8a8" : "linear.fp8";
    case DType::int8: return quantised_inputs ? "linear.int8-w8a8" : "linear.int8";
    case DType::fp4: return quantised_inputs ? "linear.fp4-w4a4" : "linear.fp4";
    case DType::int4: return "linear.int4";
    default: return Linear::key;
  }
}
std::string_view key_of(const Quantise& o, const Tape&) {
  switch (o.after) {
    case Quantise::After::norm: return "quantise.norm";
    case Quantise::After::activation: return "quantise.activation";
    default: return Quantise::key;
  }
}
std::string_view key_of(const ExchangeRows& o, const Tape&) {
  return o.combines ? "expert_combine" : "expert_dispatch";
}
std::string_view key_of_attention(const Pass& p) {
  if (p.rows.prompts) return "attention.prefill";
  return p.rows.widest == 1 && !p.tree_mask ? Attend::key : "attention.verify";
}
std::string_view key_of(const Attend& o, const Tape& tape) { return key_of_attention(tape.pass(o.pass)); }
std::string_view key_of(const LatentAttend& o, const Tape& tape) { return key_of_attention(tape.pass(o.pass)); }

}  // namespace

PassRef pass_of(const Op& op) {
  return std::visit([](const auto& o) { return pass_of(o); }, op);
}

std::string_view op_key(const Op& op, const Tape& tape) {
  return std::visit([&](const auto& o) { return key_of(o, tape); }, op);
}

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
  std::vector<Block> live;  // sorted by begin; a temporary takes the first gap that fits
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
