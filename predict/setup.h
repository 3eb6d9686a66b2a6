// SPDX-License-Identifier: Apache-2.0
// Everything besides the method that a prediction depends on.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "inputs/scenario.h"
#include "model/devices/memory.h"

namespace draftline {

struct Setup {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<const TransformerShape> transformer;
  Precision precision;
  Parallelism parallel;
  int batch_size, prompt_tokens, output_tokens;           // batch_size: sequences of all devices together
  double gpu_memory_utilization = kGpuMemoryUtilization;  // share of device memory that may be used
  int cached_prompt_tokens = 0;                           // of a prompt, with keys and values already cached
  SharedPrefix shared_prefix = {};                        // the part of them that many sequences share in memory
  int computed_prompt_tokens() const { return prompt_tokens - cached_prompt_tokens; }
  int replica_sequences() const;  // the part of batch_size on the fullest replica of the attention
};
// A setup's reference to an object that outlives all users of the setup and does not change meanwhile.
template <class T>
std::shared_ptr<const T> outliving(const T& object) {
  return {std::shared_ptr<const T>(), &object};
}
AttentionChoice attention_of(const Setup&);  // none on a CPU
// The size of a row of an all-reduce's message where the engine's fused all-reduce applies; none elsewhere.
std::optional<Bytes> row_of_fused_all_reduce(const Setup&);

// Why these devices can't share this network: no link between them is known, or a part of the network can't be divided
// among them. None if they can.
std::optional<std::string> refuses_sharing(const Device&, const TransformerShape&, const Parallelism&);

}  // namespace draftline
