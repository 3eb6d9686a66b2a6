// SPDX-License-Identifier: Apache-2.0
// Time of a layer of experts on a GPU: routing, grouping the rows, two grouped GEMMs, the gate between them and the weighted
// sum, as an engine launches them (docs/kernel_model.md, "Experts"). The router's GEMM is not part of it.
#pragma once
#include "core/quantity.h"
#include "model/routing.h"

namespace draftline {

struct Device;

// Shares are of the datasheet's limits.
struct ExpertFit {
  Seconds fixed;               // t0: choosing, sorting and joining, with the launches
  double peak_share = 1;       // eF: of the largest tile
  double bandwidth_share = 1;  // eB
  double blend = 2;            // p: how sharply arithmetic and memory meet
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps weights from one call to the next
  double tile_half = 0;        // hm: tile at which half the rate of an endless one is reached
  double row_cost = 1;         // gR: gathering, scattering and joining the rows' activations, in reads of memory
  Seconds latency;             // lat: per tile
  bool operator==(const ExpertFit&) const = default;
};

// `hot`: share of the weights found in L2; a step's layers push each other's out.
Seconds expert_time(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&, double hot = 0);

// What is left in L2 of the weights that a call has touched if the next call touches the same.
double expert_hot_share(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&);

}  // namespace draftline
