// SPDX-License-Identifier: Apache-2.0
#include "predict/setup.h"

namespace draftline {

int Setup::replica_sequences() const {
  return (batch_size + parallel.attention_replicas - 1) / parallel.attention_replicas;
}

AttentionChoice attention_of(const Setup& s) {
  return attention_choice(*s.device, s.engine->attention, s.precision.kv_cache,
                          shares_keys(*s.transformer) ? AttentionForm::absorbed : AttentionForm::ordinary);
}

std::optional<std::string> refuses_sharing(const Device& d, const TransformerShape& network, const Parallelism& p) {
  if (p == Parallelism{}) return std::nullopt;
  if (p.devices > 1 && !d.links.connects(p.devices))
    return d.name + " has no link data for " + std::to_string(p.devices) +
           " devices; a device file may contain or transfer them: \"links\" (docs/recipes/your_gpu.md)";
  return refuses_shards(network, p);
}

}  // namespace draftline
