// SPDX-License-Identifier: Apache-2.0
// How Ops records an op; only for the files that define its members.
#pragma once
#include "decoder/ops.h"

namespace draftline {

template <class T>
const T& Ops::emit(T op) {
  hasher_(static_cast<int>(Op{std::in_place_type<T>}.index()));
  hasher_(phase);
  const auto mix = [this](const auto& field) {
    hasher_(field);
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, PassRef>)
      check(field.epoch == epoch_, "a pass was used after a host read: make it again");
  };
  std::apply([&](const auto&... field) { (mix(field), ...); }, op.fields());
  each_tensor(tape_, op, [this](const Tensor& t, bool) {
    check(t.home == Home::persistent || t.epoch == epoch_,
          "a temporary was used after a host read: store it in a persistent buffer");
  });
  tape_.ops.emplace_back(std::move(op));
  tape_.phases.push_back(phase);
  backend_.emitted(tape_.ops.back(), tape_);
  return std::get<T>(tape_.ops.back());
}

}  // namespace draftline
