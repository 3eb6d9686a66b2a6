// SPDX-License-Identifier: Apache-2.0
// How servers divide a network among devices, in the words of a scenario.
#pragma once
#include <optional>

#include "core/reader.h"
#include "model/transformers/parallelism.h"

namespace draftline {

// "expert_parallel": whether experts are divided whole, and among how many groups of devices; none: among all devices.
struct WholeExperts {
  bool whole = false;
  std::optional<int> groups = {};
};

WholeExperts read_whole_experts(const Reader&);

// The division of servers that compute prompts where it differs from that of the servers that decode.
struct PrefillDivision {
  std::optional<int> devices, attention_replicas;
  std::optional<WholeExperts> experts;

  // Throws InputErrors if the groups of experts do not divide the devices. Rows are sent to experts by an all-to-all
  // only if both divisions allow it.
  Parallelism instead_of(const Parallelism& decoding) const;
};

}  // namespace draftline
