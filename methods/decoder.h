// SPDX-License-Identifier: Apache-2.0
// A target, a method and a backend: `decode` runs them, predictions price them, contract tests compare them.
#pragma once
#include <functional>
#include <memory>

#include "decoder/generate.h"
#include "methods/table.h"

namespace draftline {

class Decoder {
 public:
  using FindTransformer = methods::FindTransformer;
  using FindDrafter = methods::FindDrafter;
  struct Options {
    TransformerShape target;  // undivided; the decoder has the shard of one rank
    Precision precision = Precision(DType::fp32);
    int slots = 1, capacity = 1;  // batch slots; KV cache entries per sequence
    Parallelism parallel = {};
    Sampling sampling = {};
    RankAcceptance accepted = {};              // [levels][ranks], for building optimal trees; empty if unknown
    int positions_per_slot = 1;                // positions of a text that are traced together (trace/position_batch)
    FindDrafter drafter = {};                  // null: no drafter's folder can be read
    int states = TransformerOptions{}.states;  // recurrent states per sequence and layer
  };
  using MakeBackend = std::function<std::unique_ptr<Backend>(const WeightStore&)>;

  // Builds target and method. Throws MethodMistake where the parameters don't fit target or drafter, InputErrors if the
  // target can't be divided among the ranks or a named network can't be read, and what MakeBackend throws.
  Decoder(const Options&, const MethodSpec&, const FindTransformer&, const MakeBackend&);

  WeightStore weights;
  std::unique_ptr<Backend> backend;
  Ops ops;
  Transformer target;
  Bytes target_bytes;  // resident weights of the target; the rest of weights.bytes() is the drafter's
  std::unique_ptr<Method> method;
  Generator generator;
};

}  // namespace draftline
