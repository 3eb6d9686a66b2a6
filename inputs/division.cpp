// SPDX-License-Identifier: Apache-2.0
#include "inputs/division.h"

#include <algorithm>
#include <string>

#include "core/errors.h"

namespace draftline {

WholeExperts read_whole_experts(const Reader& in) {
  if (!in.is_number()) return {in.boolean(), std::nullopt};
  const int groups = in.positive_int();
  return {groups > 1, groups};
}

Parallelism PrefillDivision::instead_of(const Parallelism& decoding) const {
  Parallelism p = decoding;
  p.devices = devices.value_or(p.devices);
  p.attention_replicas = attention_replicas.value_or(p.attention_replicas);
  p.expert_tensor = std::min(p.expert_tensor, p.devices);
  if (experts) {
    const int groups = experts->groups.value_or(p.devices);
    if (p.devices % groups != 0)
      throw InputErrors("servers that compute prompts: " + std::to_string(groups) +
                        " groups of experts do not divide tensor_parallel, " + std::to_string(p.devices));
    p.expert_parallel = experts->whole;
    p.expert_tensor = experts->whole ? p.devices / groups : 1;
  }
  p.all_to_all = p.all_to_all && p.attention_replicas == p.devices && p.expert_groups() == p.devices;
  if (p.expert_balancedness > 0) p.expert_balancedness = std::max(p.expert_balancedness, 1.0 / p.devices);
  return p;
}

}  // namespace draftline
