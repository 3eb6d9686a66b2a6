// SPDX-License-Identifier: Apache-2.0
// Several residual streams, priced alone: the kernels that read and write all of them (vLLM: mhc_pre, mhc_post).
#include "decoder/layer.h"

namespace draftline {

namespace {

PricedAlone mixing(std::string_view name, const LayerShape& s, std::vector<Tensor> reads, PassRef pass, bool spreads) {
  const Tensor row = reads.front();
  const StreamMix k{
      .rows = row.rows, .hidden = s.hidden, .streams = s.streams, .activations = row.dtype, .spreads = spreads};
  return {name, std::move(reads), {}, pass, k, {}, row};
}

}  // namespace

Tensor join_streams(Ops& ops, Tensor h, const LayerShape& s, Weight mixes, PassRef pass) {
  PricedAlone op = mixing("add_rms_norm", s, {h}, pass, false);
  op.weight = mixes;
  return ops.priced_alone(std::move(op), h.cols);
}

Tensor spread_streams(Ops& ops, Tensor h, Tensor result, const LayerShape& s, PassRef pass) {
  return ops.priced_alone(mixing("add", s, {h, result}, pass, true), h.cols);
}

}  // namespace draftline
