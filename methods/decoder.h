// SPDX-License-Identifier: Apache-2.0
// A target, a method and a backend, put together: what `decode` runs, what is priced, what the contract tests compare.
#pragma once
#include <functional>
#include <memory>

#include "decoder/generate.h"
#include "methods/method.h"

namespace draftline {

class Decoder {
 public:
  struct Options {
    TransformerShape target;  // whole; sharded here
    DType matrices = DType::fp32, activations = DType::fp32;
    int slots = 1, capacity = 1, ranks = 1;
    Sampling sampling = {};
    RankAcceptance accepted = {};  // of each level, if known: optimal trees are made of it
    int positions_per_slot = 1;    // of a text that a trace takes at once
  };
  using MakeBackend = std::function<std::unique_ptr<Backend>(const WeightStore&)>;
  using FindTransformer = std::function<TransformerShape(const Reader&)>;

  // Reads the method's parameters where its spec says, and closes nothing: see MethodSpec::finish().
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
