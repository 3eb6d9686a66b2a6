// SPDX-License-Identifier: Apache-2.0
#include "probes/tiny_decoder.h"

#include <numeric>

#include "core/int_indexed.h"
#include "decoder/priced/backend.h"

namespace draftline {

TransformerShape tiny_shape(int layers, int columns) {
  return uniform_network("tiny", layers, llama_layer(columns, {1, 1, columns, columns}, columns), 2 * columns);
}

Proposal OneToken::propose(Ops& ops, Session& s) {
  return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
}

int ops_of_plain_step(int layers) {
  constexpr int kColumns = 16;
  PricedBackend backend;
  WeightStore store(DType::fp32);
  Ops ops(backend, DType::fp32, 1);
  const Transformer target(tiny_shape(layers, kColumns), store, ops, 1);
  OneToken method;
  Generator generator(ops, target, method);
  int recorded = 0;
  ops.on_segment = [&](const SegmentRun& run) { recorded += count(run.tape->ops); };
  generator.assume(1, 1);
  generator.step();
  return recorded;
}

void join_all(Generator& generator, int sequences, int context) {
  std::vector<int> ids(at(sequences));
  std::iota(ids.begin(), ids.end(), 0);
  generator.join(std::vector<std::vector<int>>(ids.size(), std::vector<int>(at(context), 1)), ids);
}

}  // namespace draftline
