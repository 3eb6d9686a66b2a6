// SPDX-License-Identifier: Apache-2.0
// Parameter counts and tensor-parallel shares.
#include "model/transformer_shape.h"

#include <algorithm>

#include "core/errors.h"

namespace draftline {
namespace {

int share_of(int columns, int ranks) { return columns / ranks + (columns % ranks != 0); }

double norm_parameters(const TransformerShape& s) {
  const double one = s.norm == NormKind::layer ? 2.0 * s.hidden : s.hidden;
  return s.layers * (2 * one + (s.qk_norm ? 2.0 * s.head_dim : 0)) + one;
}

double bias_parameters(const TransformerShape& s) {
  return s.qkv_bias ? s.layers * (s.q_columns() + 2.0 * s.kv_columns()) : 0;
}

double dense_mlp_parameters(const TransformerShape& s) {
  return (s.mlp == MlpKind::gated_silu ? 3.0 : 2.0) * s.hidden * s.intermediate;
}

int layers_with_experts(const TransformerShape& s) { return s.experts ? s.layers - s.experts->dense_layers : 0; }

}  // namespace

double attention_parameters(const TransformerShape& s) {
  return 2.0 * s.hidden * s.q_columns() + 2.0 * s.hidden * s.kv_columns();
}

double mlp_parameters(const TransformerShape& s) {
  if (!s.experts) return dense_mlp_parameters(s);
  return s.hidden * (s.experts->count * (1 + 3.0 * s.experts->intermediate) + 3.0 * s.experts->shared);
}

double layer_parameters(const TransformerShape& s) { return attention_parameters(s) + mlp_parameters(s); }

double matrix_parameters(const TransformerShape& s) {
  const int sparse = layers_with_experts(s);
  return s.layers * attention_parameters(s) + (s.layers - sparse) * dense_mlp_parameters(s) +
         (sparse > 0 ? sparse * mlp_parameters(s) : 0);
}

double head_parameters(const TransformerShape& s) { return static_cast<double>(s.vocabulary) * s.hidden; }

double parameters(const TransformerShape& s) {
  return matrix_parameters(s) + bias_parameters(s) + norm_parameters(s) +
         (s.tied_embeddings ? 1 : 2) * head_parameters(s);
}

double active_parameters(const TransformerShape& s) {
  const double idle =
      s.experts ? 3.0 * s.hidden * s.experts->intermediate * (s.experts->count - s.experts->per_token) : 0;
  return matrix_parameters(s) - layers_with_experts(s) * idle + bias_parameters(s) + norm_parameters(s) +
         head_parameters(s);
}

std::optional<std::string> refuses_shards(const TransformerShape& s, int ranks) {
  if (ranks < 1) return "tensor_parallel must be at least 1, got " + std::to_string(ranks);
  const std::string degree = "tensor_parallel " + std::to_string(ranks) + " does not ";
  if (s.heads % ranks != 0) return degree + "divide the " + std::to_string(s.heads) + " heads of " + s.name;
  if (s.kv_heads % ranks != 0 && ranks % s.kv_heads != 0)
    return degree + "divide the " + std::to_string(s.kv_heads) + " KV heads of " + s.name +
           " and is no multiple of them";
  return std::nullopt;
}

TransformerShape shard(const TransformerShape& s, int ranks) {
  if (const auto why = refuses_shards(s, ranks)) throw InputErrors(*why);
  TransformerShape one = s;
  one.heads = s.heads / ranks;
  one.kv_heads = std::max(1, s.kv_heads / ranks);
  one.intermediate = share_of(s.intermediate, ranks);
  one.vocabulary = share_of(s.vocabulary, ranks);
  if (one.experts) {
    one.experts->intermediate = share_of(s.experts->intermediate, ranks);
    one.experts->shared = share_of(s.experts->shared, ranks);
  }
  return one;
}

}  // namespace draftline
