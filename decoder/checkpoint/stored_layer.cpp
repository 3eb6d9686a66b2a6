// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_layer.h"

#include <cmath>

namespace draftline {

using Parts = std::vector<StoredPart>;
using Weights = std::vector<StoredWeight>;

static StoredPart rotated(std::string tensor, int in, int out, StoredPart::Pairs pairs) {
  StoredPart part{std::move(tensor), in, out};
  part.pairs = pairs;
  return part;
}

static bool is_llama4(const TransformerShape& s) { return s.architecture.starts_with("Llama4"); }
// Whether the columns that rope rotates together are stored side by side, in all of a head.
static bool has_paired_heads(const TransformerShape& s) { return is_llama4(s) || s.architecture.starts_with("Ernie"); }

static void add_latent(const TransformerShape& s, const std::string& ours, const std::string& theirs, Weights& all) {
  const LatentAttention& l = *s.latent;
  const auto pairs = [&](int before) {
    return l.paired ? StoredPart::Pairs{before + l.rope_dim, before} : StoredPart::Pairs{};
  };
  const StoredPart latents =
      rotated(theirs + "kv_a_proj_with_mqa.weight", s.hidden, l.kv_rank + l.rope_dim, pairs(l.kv_rank));
  StoredPart queries = rotated(theirs + "q_proj.weight", s.hidden, s.heads_of().q_columns(), pairs(l.nope_dim));
  if (l.q_rank > 0) {
    queries.tensor = theirs + "q_b_proj.weight";
    queries.in = l.q_rank;
    all.push_back(side_by_side(ours + "q_up", l.q_rank, queries.out, {queries}));
    all.push_back(stored_vector(ours + "q_norm", theirs + "q_a_layernorm.weight", l.q_rank));
    queries = {theirs + "q_a_proj.weight", s.hidden, l.q_rank};
  }
  all.push_back(side_by_side(ours + "down", s.hidden, queries.out + latents.out, {queries, latents}));
  all.push_back(stored_vector(ours + "kv_norm", theirs + "kv_a_layernorm.weight", l.kv_rank));
  const int expanded = s.heads * (l.nope_dim + l.value_dim);
  all.push_back(stored_matrix(ours + "kv_up", theirs + "kv_b_proj.weight", l.kv_rank, expanded));
}

static void add_indexer(const TransformerShape& s, const std::string& ours, const std::string& theirs, Weights& all) {
  const Indexer& i = *s.latent->indexer;
  const StoredPart::Pairs pairs = i.paired ? StoredPart::Pairs{i.head_dim, 0, s.latent->rope_dim} : StoredPart::Pairs{};
  const int q_rank = s.latent->q_rank, queries = i.heads * i.head_dim;
  all.push_back(
      side_by_side(ours + "q_up", q_rank, queries, {rotated(theirs + "wq_b.weight", q_rank, queries, pairs)}));
  all.push_back(side_by_side(ours + "key_and_weights", s.hidden, i.head_dim + i.heads,
                             {rotated(theirs + "wk.weight", s.hidden, i.head_dim, pairs),
                              {theirs + "weights_proj.weight", s.hidden, i.heads}}));
  all.push_back(
      side_by_side(ours + "k_norm", 1, i.head_dim, {rotated(theirs + "k_norm.weight", 1, i.head_dim, pairs)}));
  all.push_back(
      side_by_side(ours + "k_norm_bias", 1, i.head_dim, {rotated(theirs + "k_norm.bias", 1, i.head_dim, pairs)}));
}

// Rows of a stored matrix whose groups of rows, one for each head or so, hold several of ours one after the other: the
// part of each group that begins at `from`.
static void add_groups(Parts& parts, const std::string& tensor, int in, int groups, int rows_each, int from, int rows) {
  for (int g = 0; g < groups; ++g) {
    StoredPart p{tensor, in, rows};
    p.skipped = g * rows_each + from;
    p.rows = groups * rows_each;
    parts.push_back(p);
  }
}

// Each head's queries are stored before the gates of its output; ours are the gates of all heads, behind the values.
static Parts gated_parts(const TransformerShape& s, const std::string& theirs, int in) {
  Parts parts;
  add_groups(parts, theirs + "q_proj.weight", in, s.heads, 2 * s.head_dim, 0, s.head_dim);
  parts.push_back({theirs + "k_proj.weight", in, s.heads_of().k_columns()});
  parts.push_back({theirs + "v_proj.weight", in, s.heads_of().v_columns()});
  add_groups(parts, theirs + "q_proj.weight", in, s.heads, 2 * s.head_dim, s.head_dim, s.head_dim);
  return parts;
}

static void add_delta_net(const TransformerShape& s, const std::string& ours, const std::string& theirs, Weights& all) {
  const DeltaNet& d = s.delta_net.value();
  const int hidden = s.hidden, convolved = d.convolved_columns(), values = d.value_columns(), heads = d.value_heads;
  Parts qkvz, gates;
  if (s.architecture == "Qwen3NextForCausalLM") {  // by key head: q, k, then v and z of its value heads; b and a
    const int group = heads / d.key_heads, v = group * d.value_dim, each = 2 * (d.key_dim + v);
    const std::string both = theirs + "in_proj_qkvz.weight", pair = theirs + "in_proj_ba.weight";
    add_groups(qkvz, both, hidden, d.key_heads, each, 0, d.key_dim);
    add_groups(qkvz, both, hidden, d.key_heads, each, d.key_dim, d.key_dim);
    add_groups(qkvz, both, hidden, d.key_heads, each, 2 * d.key_dim, v);
    add_groups(qkvz, both, hidden, d.key_heads, each, 2 * d.key_dim + v, v);
    add_groups(gates, pair, hidden, d.key_heads, 2 * group, 0, group);
    add_groups(gates, pair, hidden, d.key_heads, 2 * group, group, group);
  } else {
    qkvz = {{theirs + "in_proj_qkv.weight", hidden, convolved}, {theirs + "in_proj_z.weight", hidden, values}};
    gates = {{theirs + "in_proj_b.weight", hidden, heads}, {theirs + "in_proj_a.weight", hidden, heads}};
  }
  StoredPart convolution{theirs + "conv1d.weight", d.kernel, convolved};
  convolution.convolution = true;
  all.push_back(side_by_side(ours + "qkvz", hidden, convolved + values, std::move(qkvz)));
  all.push_back(side_by_side(ours + "gates", hidden, 2 * heads, std::move(gates)));
  all.push_back(side_by_side(ours + "convolution", d.kernel, convolved, {convolution}));
  all.push_back(stored_vector(ours + "a_log", theirs + "A_log", heads));
  all.push_back(stored_vector(ours + "dt_bias", theirs + "dt_bias", heads));
  all.push_back(stored_vector(ours + "delta_norm", theirs + "norm.weight", d.value_dim));  // not less one
  all.push_back(stored_matrix(ours + "o", theirs + "out_proj.weight", values, hidden));
}

static void add_attention(const TransformerShape& s, const LayerKind& kind, const std::string& ours,
                          const std::string& theirs, int inputs, Weights& all) {
  const AttentionHeads h = s.heads_of(kind);
  const int q = h.q_columns(), k = h.k_columns(), v = h.v_columns();
  const auto qkv = [&](const std::string& kind, int in) -> Parts {
    if (s.output_gate) return gated_parts(s, theirs, in);
    if (s.architecture == "Phi3ForCausalLM") return {{theirs + "qkv_proj." + kind, in, q + k + v}};
    const StoredPart::Pairs pairs{has_paired_heads(s) ? h.head_dim : 0};
    StoredPart values{theirs + "v_proj." + kind, in, v};
    values.times = static_cast<float>(s.value_scale);
    Parts parts{rotated(theirs + "q_proj." + kind, in, q, pairs), rotated(theirs + "k_proj." + kind, in, k, pairs)};
    if (!h.values_are_keys) parts.push_back(values);
    return parts;
  };
  all.push_back(stored_matrix(ours + "o", theirs + "o_proj.weight", h.result_columns(), s.hidden));
  if (s.has_indexer(kind)) add_indexer(s, ours + "indexer.", theirs + "indexer.", all);
  if (s.latent) add_latent(s, ours + "latent.", theirs, all);
  else
    all.push_back(side_by_side(ours + "qkv", inputs, h.projected_columns() + (s.output_gate ? h.result_columns() : 0),
                               qkv("weight", inputs)));
  if (s.o_bias) all.push_back(stored_vector(ours + "o_bias", theirs + "o_proj.bias", s.hidden));
  const std::string sinks = s.architecture.starts_with("MiMo") ? "attention_sink_bias" : "sinks";
  if (s.has_sinks(kind)) all.push_back(stored_vector(ours + "sinks", theirs + sinks, h.heads));
  if (s.qkv_bias) all.push_back(side_by_side(ours + "qkv_bias", 1, h.projected_columns(), qkv("bias", 1)));
  if (s.qk_norm != QkNorm::none) {
    const bool whole = s.qk_norm == QkNorm::all_heads;
    all.push_back(stored_norm(s, ours + "q_norm", theirs + "q_norm", whole ? q : h.head_dim));
    all.push_back(stored_norm(s, ours + "k_norm", theirs + "k_norm", whole ? k : h.head_dim));
  }
}

static Parts gate_and_up(const std::string& theirs, int hidden, int inner) {
  return {{theirs + "gate_proj.weight", hidden, inner}, {theirs + "up_proj.weight", hidden, inner}};
}

// How a layer's mixture of experts names its tensors.
struct ExpertNames {
  std::string mlp, gate = "gate_proj", up = "up_proj", down = "down_proj", router = "gate.weight",
                   bias = "gate.e_score_correction_bias", shared = "shared_experts.";
};
static ExpertNames expert_names(const TransformerShape& s) {
  if (s.architecture == "MixtralForCausalLM" || s.architecture == "MiniMaxM2ForCausalLM")
    return {.mlp = "block_sparse_moe.", .gate = "w1", .up = "w3", .down = "w2", .bias = "e_score_correction_bias"};
  if (s.architecture == "HYV3ForCausalLM")
    return {.mlp = "mlp.", .router = "router.gate.weight", .bias = "expert_bias", .shared = "shared_mlp."};
  if (s.experts->beside_mlp) return {.mlp = "", .router = "router.proj.weight"};
  if (s.experts->shared_gate) return {.mlp = "mlp.", .shared = "shared_expert."};
  return {.mlp = "mlp."};
}

static void add_shared_expert(const TransformerShape& s, const std::string& ours, const std::string& theirs,
                              Weights& all) {
  const int shared = s.experts->shared;
  if (shared == 0) return;
  all.push_back(side_by_side(ours + "shared.gate_up", s.hidden, 2 * shared, gate_and_up(theirs, s.hidden, shared)));
  all.push_back(stored_matrix(ours + "shared.down", theirs + "down_proj.weight", shared, s.hidden));
  if (s.experts->shared_gate)  // beside the expert
    all.push_back(
        stored_matrix(ours + "shared.gate", theirs.substr(0, theirs.size() - 1) + "_gate.weight", s.hidden, 1));
}

// One tensor [experts, out, in] for all experts, each of which lies in it as a matrix of its own would.
static Parts stacked_parts(const std::string& tensor, int experts, int in, int out, StoredPart::Pairs pairs = {}) {
  Parts parts;
  add_groups(parts, tensor, in, experts, out, 0, out);
  for (StoredPart& p : parts) p.stacked = experts, p.pairs = pairs;
  return parts;
}

// Experts in one tensor for all: Llama 4 and gpt-oss, which stores a gate's column beside that which it gates and, in
// MXFP4, matrices as linear layers have them.
static void add_stacked_experts(const CheckpointFiles& files, const TransformerShape& s, const std::string& ours,
                                const std::string& theirs, Weights& all) {
  const Experts& e = s.experts.value();
  const std::string mlp = theirs + (is_llama4(s) ? "feed_forward." : "mlp."), experts = mlp + "experts.";
  const int hidden = s.hidden, inner = e.intermediate;
  const StoredPart::Pairs gates{is_llama4(s) ? 0 : 2 * inner};
  const auto stacked = [&](const std::string& name, const std::string& tensor, int in, int out,
                           StoredPart::Pairs pairs) {
    const int rows = e.count * in;
    Parts parts{{experts + tensor, rows, out, 0, 0, false, pairs, 0, e.count}};
    if (StoredValues::in_mxfp4(files, experts + tensor))
      parts = stacked_parts(experts + tensor, e.count, in, out, pairs);
    all.push_back(side_by_side(ours + name, rows, out, std::move(parts)));
  };
  all.push_back(stored_matrix(ours + "router", mlp + "router.weight", hidden, e.count));
  stacked("experts.gate_up", "gate_up_proj", hidden, 2 * inner, gates);
  stacked("experts.down", "down_proj", inner, hidden, {});
  if (e.bias) {
    const auto biases = [&](const std::string& name, int n, StoredPart::Pairs pairs) {
      const StoredPart part{experts + name + "_proj_bias", e.count, n, 0, 0, false, pairs};
      all.push_back(side_by_side(ours + "experts." + name + "_bias", e.count, n, {part}));
    };
    all.push_back(stored_vector(ours + "router.bias", mlp + "router.bias", e.count));
    biases("gate_up", 2 * inner, gates);
    biases("down", hidden, {});
  }
  add_shared_expert(s, ours, mlp + "shared_expert.", all);
}

// The norms of experts beside a dense MLP, and a factor of each. Transformers multiplies what the router reads by the
// inverse root of the hidden size.
static void add_beside_mlp(const TransformerShape& s, const std::string& ours, const std::string& theirs,
                           Weights& all) {
  const auto norm = [&](const char* name, const char* tensor) {
    all.push_back(stored_norm(s, ours + name, theirs + tensor, s.hidden));
  };
  norm("mlp_own_norm", "post_feedforward_layernorm_1");
  norm("experts_norm", "pre_feedforward_layernorm_2");
  norm("experts_post_norm", "post_feedforward_layernorm_2");
  StoredPart router{theirs + "router.scale", 1, s.hidden};
  router.times = 1 / std::sqrt(static_cast<float>(s.hidden));
  all.push_back(side_by_side(ours + "router_norm", 1, s.hidden, {router}));
  all.push_back(stored_vector(ours + "router.expert_scale", theirs + "router.per_expert_scale", s.experts->count));
}

// Whether the experts of a tensor are stored [in, out]. Where both are equal they are taken for [out, in].
static bool inputs_first(const StoredTensor* stacked, int in, int out) {
  return in != out && stacked != nullptr && stacked->shape.size() == 3 &&
         stacked->shape[1] == static_cast<std::uint64_t>(in);
}

static void add_experts(const CheckpointFiles& files, const TransformerShape& s, const std::string& ours,
                        const std::string& theirs, Weights& all) {
  if (s.architecture == "GptOssForCausalLM" || is_llama4(s)) return add_stacked_experts(files, s, ours, theirs, all);
  const ExpertNames names = expert_names(s);
  const std::string mlp = theirs + names.mlp;
  const int hidden = s.hidden, count = s.experts->count, inner = s.experts->intermediate;
  const std::string experts = mlp + "experts.";
  Parts gate_up, down;
  if (files.has(experts + "gate_up_proj") || files.has(experts + "down_proj")) {  // as Qwen3.5 is published
    gate_up = stacked_parts(experts + "gate_up_proj", count, hidden, 2 * inner);
    down = stacked_parts(experts + "down_proj", count, inner, hidden);
    if (inputs_first(files.find(experts + "down_proj"), inner, hidden)) {  // as Qwen3-VL is
      gate_up = {{experts + "gate_up_proj", count * hidden, 2 * inner, 0, 0, false, {}, 0, count}};
      down = {{experts + "down_proj", count * inner, hidden, 0, 0, false, {}, 0, count}};
    }
  } else {
    for (int e = 0; e < count; ++e) {
      const std::string expert = experts + std::to_string(e) + ".";
      gate_up.push_back({expert + names.gate + ".weight", hidden, inner});
      gate_up.push_back({expert + names.up + ".weight", hidden, inner});
      down.push_back({expert + names.down + ".weight", inner, hidden});
    }
  }
  if (s.experts->beside_mlp) add_beside_mlp(s, ours, theirs, all);
  all.push_back(stored_matrix(ours + "router", mlp + names.router, hidden, count));
  if (s.experts->choice_bias) all.push_back(stored_vector(ours + "router.choice_bias", mlp + names.bias, count));
  all.push_back(side_by_side(ours + "experts.gate_up", count * hidden, 2 * inner, std::move(gate_up)));
  all.push_back(side_by_side(ours + "experts.down", count * inner, hidden, std::move(down)));
  add_shared_expert(s, ours, mlp + names.shared, all);
}

std::vector<StoredWeight> stored_layer(const CheckpointFiles& files, const TransformerShape& s, const std::string& ours,
                                       const std::string& theirs, const LayerOptions& options) {
  const int hidden = s.hidden, inner = s.intermediate;
  Weights all;
  const auto norm = [&](const std::string& name, const std::string& tensor) {
    all.push_back(stored_norm(s, ours + name, theirs + tensor, hidden));
  };
  if (options.input_norm && s.norms_before()) norm("input_norm", "input_layernorm");
  if (options.kind.attention == AttentionKind::delta_net) add_delta_net(s, ours, theirs + "linear_attn.", all);
  else add_attention(s, options.kind, ours, theirs + "self_attn.", options.inputs.value_or(hidden), all);
  if (s.norms_behind()) norm("attention_post_norm", "post_attention_layernorm");
  if (!options.mlp) return all;
  if (s.norms_before()) norm("mlp_norm", s.norms_behind() ? "pre_feedforward_layernorm" : "post_attention_layernorm");
  if (s.norms_behind()) norm("mlp_post_norm", "post_feedforward_layernorm");
  if (s.layer_scale) all.push_back(stored_vector(ours + "scale", theirs + "layer_scalar", 1));
  if (options.kind.experts) {
    add_experts(files, s, ours, theirs, all);
    if (!s.experts->beside_mlp) return all;
  }
  const std::string mlp = theirs + (is_llama4(s) ? "feed_forward." : "mlp.");
  Parts gate_up = gate_and_up(mlp, hidden, inner);
  if (s.architecture == "Phi3ForCausalLM") gate_up = {{mlp + "gate_up_proj.weight", hidden, 2 * inner}};
  all.push_back(side_by_side(ours + "gate_up", hidden, 2 * inner, std::move(gate_up)));
  all.push_back(stored_matrix(ours + "down", mlp + "down_proj.weight", inner, hidden));
  return all;
}

}  // namespace draftline
