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
  using FindDrafter = std::function<DrafterConfig(const Reader&, DrafterKind)>;
  struct Options {
    TransformerShape target;  // undivided; the decoder has the shard of one rank
    Precision precision = Precision(DType::fp32);
    int slots = 1, capacity = 1;  // batch slots; KV cache entries per sequence
    Parallelism parallel = {};
    Sampling sampling = {};
    RankAcceptance accepted = {};  // [levels][ranks], for building optimal trees; empty if unknown
    int positions_per_slot = 1;    // positions of a text that are traced together (trace/position_batch)
    FindDrafter drafter = {};      // reads a drafter's folder; mistakes are noted at the reader. Null: there is none
    int states = Transformer::kMostStates;  // recurrent states per sequence and layer
  };
  using MakeBackend = std::function<std::unique_ptr<Backend>(const WeightStore&)>;
  // Finds a transformer by the name or file at a reader; mistakes are noted at the reader.
  using FindTransformer = std::function<TransformerShape(const Reader&)>;

  // Builds target and method and reads the method's parameters; mistakes are noted at MethodSpec::in(), and unread keys
  // only by MethodSpec::finish(). Throws InputErrors if the target can't be divided among the ranks, and what
  // MakeBackend throws.
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
