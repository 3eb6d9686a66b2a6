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

std::optional<Bytes> row_of_fused_all_reduce(const Setup& s) {
  const auto& fused = s.engine->links.fused;
  const bool apart = s.parallel.attention_replicas > 1;  // norms are between gathers then
  if (!fused || apart || !fused->applies(s.device->links, s.parallel.devices, s.transformer->architecture))
    return std::nullopt;
  return bytes_of(s.precision.activations, s.transformer->hidden);
}

std::optional<std::string> refuses_sharing(const Device& d, const TransformerShape& network, const Parallelism& p) {
  if (p == Parallelism{}) return std::nullopt;
  if (p.devices > 1 && !d.links.connects(p.devices))
    return d.name + " has no link data for " + std::to_string(p.devices) +
           " devices; a device file may contain or transfer them: \"links\" (docs/recipes/your_gpu.md)";
  return refuses_shards(network, p);
}

}  // namespace draftline
