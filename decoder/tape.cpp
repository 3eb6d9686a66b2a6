// SPDX-License-Identifier: Apache-2.0
#include "decoder/tape.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline {

PassRef pass_of(const Op& op) {
  return std::visit([](const auto& o) { return pass_of(o); }, op);
}

std::string_view op_key(const Op& op, const Tape& tape) {
  return std::visit(
      [&](const auto& o) {
        if constexpr (requires { o.key_in(tape); }) return o.key_in(tape);
        else return o.key;
      },
      op);
}

std::size_t declared_bytes(const Tensor& t) { return whole(t.bytes()); }

std::vector<TempUse> temp_uses(const Tape& tape, std::size_t (*stored_bytes)(const Tensor&)) {
  std::vector<TempUse> temps(tape.temps.size());
  for (std::size_t k = 0; k < temps.size(); ++k) temps[k].bytes = stored_bytes(tape.temps[k]);
  for (int i = 0; i < count(tape.ops); ++i) {
    const auto note = [&](const Tensor& t, bool) {
      if (t.home != Home::temp) return;
      TempUse& use = temps[at(t.id)];
      if (use.first < 0) use.first = i;
      use.last = i;
    };
    std::visit([&](const auto& op) { each_tensor(tape, op, note); }, tape.ops[at(i)]);
  }
  return temps;
}

ArenaPlan plan_arena(const std::vector<TempUse>& temps) {
  constexpr std::size_t kAlignment = 256;
  ArenaPlan plan{std::vector<std::size_t>(temps.size()), 0};
  struct Block {
    std::size_t begin, end;
    int last;
  };
  std::vector<Block> live;  // sorted by begin; a temporary takes the first gap that fits
  for (std::size_t k = 0; k < temps.size(); ++k) {
    const TempUse& temp = temps[k];
    std::erase_if(live, [&](const Block& b) { return b.last < temp.first; });
    const std::size_t need = (temp.bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::size_t at = 0, where = 0;
    for (; where < live.size() && live[where].begin < at + need; ++where) at = live[where].end;
    live.insert(live.begin() + where, Block{at, at + need, temp.last});
    plan.offset[k] = at;
    plan.size = std::max(plan.size, at + need);
  }
  return plan;
}

ArenaPlan plan_arena(const Tape& tape, std::size_t (*stored_bytes)(const Tensor&)) {
  return plan_arena(temp_uses(tape, stored_bytes));
}

}  // namespace draftline
