// SPDX-License-Identifier: Apache-2.0
// An attention sublayer over a window and compressed entries (DeepSeek-V4). It is priced alone: the kernels are those
// of vLLM's DeepseekV4Attention (0.24), none of which has an op of ours.
#pragma once
#include "decoder/ops.h"
#include "model/transformers/layer_shape.h"

namespace draftline {

struct CompressedWeights {  // `compress`: keys and their weights, before they are compressed
  Weight down, q_up, q_norm, key_norm, sinks, narrow;
  std::optional<Weight> compress = {}, places = {}, index_queries = {}, index_weights = {};
};

CompressedWeights make_compressed(WeightStore&, const std::string& prefix, const CompressedAttention&, int inputs);
// The window's keys; the compressed entries of layers with this compression, with an indexer's keys.
Cache make_window_cache(Ops&, const CompressedAttention&, int layers, int capacity);
Cache make_entry_cache(Ops&, const CompressedAttention&, int layers, int capacity);
// Without the last matrix, which joins the groups: y [n, inputs] -> [n, groups * output_rank].
Tensor compressed_attention(Ops&, Tensor y, const CompressedWeights&, const CompressedAttention&, const LayerPass&,
                            float epsilon);

// Keys that rows choose by an indexer's scores, as the price of a kernel has them.
struct IndexScores {
  int heads = 0, head_dim = 0, chosen = 0;
  DType keys = DType::fp8;
  Bytes key_bytes = {};
};
Attention scores_of(const IndexScores&, const Pass&, DType activations);

}  // namespace draftline
