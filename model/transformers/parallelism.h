// SPDX-License-Identifier: Apache-2.0
// How the devices of one group share a network.
#pragma once
#include <compare>

namespace draftline {

// Tensor parallelism divides every matrix among all devices. There are two exceptions. Expert parallelism gives each
// device whole experts. Data-parallel attention divides the group into `attention_replicas` equal parts with separate
// sequences; tensor parallelism then divides all matrices except the experts' within a part.
struct Parallelism {
  int devices = 1;
  int attention_replicas = 1;
  bool expert_parallel = false;
  // Rows are sent only to the devices of their experts, not to all devices (as in DeepEP). Each replica is then a
  // single device.
  bool all_to_all = false;
  // With expert parallelism: the mean number of rows per device divided by the maximum, from 1 / devices to 1. 0: it is
  // estimated from independent draws.
  double expert_balancedness = 0;

  int tensor() const { return devices / attention_replicas; }  // devices that share a layer's attention
  auto operator<=>(const Parallelism&) const = default;
};

}  // namespace draftline
