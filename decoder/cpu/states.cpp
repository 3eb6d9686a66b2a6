// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/states.h"

#include <bit>

#include "core/int_indexed.h"
#include "decoder/cpu/huge_pages.h"
#include "decoder/cpu/lines.h"

namespace draftline {

CpuStates::CpuStates(const StateCache& c, int kv_slots)
    : cache_(c),
      kv_slots_(kv_slots),
      state_(static_cast<std::size_t>(c.form.elements())),
      columns_(at(c.form.convolved_columns)),
      states_(huge_pages()),
      rows_(huge_pages()) {
  const auto slots = at(c.layers) * at(kv_slots);
  const float poison = std::bit_cast<float>(kPoison);
  states_.assign(slots * at(c.states) * state_, poison);
  rows_.assign(slots * at(c.kept_rows()) * columns_, poison);
}

std::size_t CpuStates::place(int layer, int kv_slot, int position, int ring) const {
  check(kv_slot >= 0 && kv_slot < kv_slots_ && position > -ring, "a state outside of the cache");
  return at((layer * kv_slots_ + kv_slot) * ring + (position + ring) % ring);
}

std::span<float> CpuStates::state(int layer, int kv_slot, int position) {
  return {states_.data() + place(layer, kv_slot, position, cache_.states) * state_, state_};
}
std::span<const float> CpuStates::state(int layer, int kv_slot, int position) const {
  return {states_.data() + place(layer, kv_slot, position, cache_.states) * state_, state_};
}
std::span<float> CpuStates::row(int layer, int kv_slot, int position) {
  return {rows_.data() + place(layer, kv_slot, position, cache_.kept_rows()) * columns_, columns_};
}

}  // namespace draftline
