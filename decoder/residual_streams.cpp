// SPDX-License-Identifier: Apache-2.0
// Several residual streams, priced alone: the kernels that read and write all of them (vLLM: mhc_pre, mhc_post).
#include "decoder/layer.h"

namespace draftline {

namespace {

// What mixes streams reads all of them, and a matrix of theirs in fp32.
PricedAlone mixing(std::string_view name, const LayerShape& s, std::vector<Tensor> reads, PassRef pass, bool back) {
  const Tensor row = reads.front();
  const double streams = 1.0 * row.rows * s.stream_columns(), weights = 1.0 * s.stream_columns() * s.stream_weights();
  const Bytes all = bytes_of(row.dtype, streams);
  Copy k{.read = all, .written = row.bytes()};
  if (back) k = {.read = all + row.bytes(), .written = all};
  else k.read += bytes_of(DType::fp32, weights), k.flops = Flops{2.0 * row.rows * weights};
  k.format = row.dtype;
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
