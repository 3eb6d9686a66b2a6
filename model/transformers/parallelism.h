// SPDX-License-Identifier: Apache-2.0
// How the devices of one group share a network.
#pragma once
#include <compare>

namespace draftline {

// Tensor parallelism divides every matrix among all devices. Two forms change that: expert parallelism gives each
// device whole experts, and data-parallel attention gives each of `attention_replicas` equal parts of the group
// sequences of its own, so that tensor parallelism divides all but the experts within a part.
struct Parallelism {
  int devices = 1;
  int attention_replicas = 1;
  bool expert_parallel = false;
  // Rows of other replicas reach only the devices of their experts, not all (DeepEP and its like). Replicas are then
  // single devices.
  bool all_to_all = false;
  // With expert parallelism: the mean over the maximum of the rows that the devices get, 1 / devices to 1. 0: it is
  // estimated from independent draws.
  double expert_balancedness = 0;

  int tensor() const { return devices / attention_replicas; }  // devices that share a layer's attention
  auto operator<=>(const Parallelism&) const = default;
};

}  // namespace draftline
