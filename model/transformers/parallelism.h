// SPDX-License-Identifier: Apache-2.0
// How the devices of one group share a network.
#pragma once
#include <compare>

namespace draftline {

// Tensor parallelism divides every matrix among all devices. There are two exceptions. Expert parallelism gives each
// device whole experts, or each subgroup of devices, which then share the columns of its experts. Data-parallel
// attention divides the group into `attention_replicas` equal parts with separate sequences; tensor parallelism then
// divides all matrices except the experts' within a part.
struct Parallelism {
  int devices = 1;
  int attention_replicas = 1;
  bool expert_parallel = false;
  int expert_tensor = 1;  // with expert parallelism: devices that share the columns of the same experts
  // Rows are sent only to the devices of their experts, not to all devices (as in DeepEP). Each replica is then a
  // single device.
  bool all_to_all = false;
  // With expert parallelism: the mean number of rows per device divided by the maximum, from 1 / devices to 1. 0: it is
  // estimated from independent draws.
  double expert_balancedness = 0;

  int tensor() const { return devices / attention_replicas; }  // devices that share a layer's attention
  // Groups of devices with experts of their own, and the devices of each, which share their columns.
  int expert_groups() const { return expert_parallel ? devices / expert_tensor : 1; }
  int expert_ranks() const { return devices / expert_groups(); }
  auto operator<=>(const Parallelism&) const = default;
};

}  // namespace draftline
