// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_layer.h"

#include <cmath>

#include "decoder/checkpoint/stored_sublayer.h"

namespace draftline {

using Parts = StoredParts;
using Weights = StoredWeights;

static StoredPart rotated(std::string tensor, int in, int out, StoredPart::Pairs pairs) {
  StoredPart part{std::move(tensor), in, out};
  part.pairs = pairs;
  return part;
}

static void add_latent(const LatentHeads& a, int hidden, const std::string& ours, const std::string& theirs,
                       Weights& all) {
  const LatentAttention& l = a.dims;
  const auto pairs = [&](int before) {
    return l.paired ? StoredPart::Pairs{before + l.rope_dim, before} : StoredPart::Pairs{};
  };
  const StoredPart latents =
      rotated(theirs + "kv_a_proj_with_mqa.weight", hidden, l.kv_rank + l.rope_dim, pairs(l.kv_rank));
  StoredPart queries = rotated(theirs + "q_proj.weight", hidden, a.q_columns(), pairs(l.nope_dim));
  if (l.q_rank > 0) {
    queries.tensor = theirs + "q_b_proj.weight";
    queries.in = l.q_rank;
    all.push_back(side_by_side(ours + "q_up", l.q_rank, queries.out, {queries}));
    all.push_back(stored_vector(ours + "q_norm", theirs + "q_a_layernorm.weight", l.q_rank));
    queries = {theirs + "q_a_proj.weight", hidden, l.q_rank};
  }
  all.push_back(side_by_side(ours + "down", hidden, queries.out + latents.out, {queries, latents}));
  all.push_back(stored_vector(ours + "kv_norm", theirs + "kv_a_layernorm.weight", l.kv_rank));
  all.push_back(stored_matrix(ours + "kv_up", theirs + "kv_b_proj.weight", l.kv_rank, a.expanded_columns()));
}

static void add_indexer(const LatentAttention& l, int hidden, const std::string& ours, const std::string& theirs,
                        Weights& all) {
  const Indexer& i = *l.indexer;
  const StoredPart::Pairs pairs = i.paired ? StoredPart::Pairs{i.head_dim, 0, l.rope_dim} : StoredPart::Pairs{};
  const int queries = i.heads * i.head_dim;
  all.push_back(
      side_by_side(ours + "q_up", l.q_rank, queries, {rotated(theirs + "wq_b.weight", l.q_rank, queries, pairs)}));
  all.push_back(side_by_side(
      ours + "key_and_weights", hidden, i.head_dim + i.heads,
      {rotated(theirs + "wk.weight", hidden, i.head_dim, pairs), {theirs + "weights_proj.weight", hidden, i.heads}}));
  all.push_back(
      side_by_side(ours + "k_norm", 1, i.head_dim, {rotated(theirs + "k_norm.weight", 1, i.head_dim, pairs)}));
  all.push_back(
      side_by_side(ours + "k_norm_bias", 1, i.head_dim, {rotated(theirs + "k_norm.bias", 1, i.head_dim, pairs)}));
}

void add_groups(Parts& parts, const RowGroups& groups, int from, int rows) {
  for (int g = 0; g < groups.count; ++g) {
    StoredPart p{groups.tensor, groups.in, rows};
    p.skipped = g * groups.rows_each + from;
    p.rows = groups.count * groups.rows_each;
    parts.push_back(p);
  }
}

// Each head's queries are stored before the gates of its output; ours are the gates of all heads, behind the values.
static Parts gated_parts(const AttentionHeads& h, const std::string& theirs, int in) {
  Parts parts;
  const RowGroups heads{theirs + "q_proj.weight", in, h.heads, 2 * h.head_dim};
  add_groups(parts, heads, 0, h.head_dim);
  parts.push_back({theirs + "k_proj.weight", in, h.k_columns()});
  parts.push_back({theirs + "v_proj.weight", in, h.v_columns()});
  add_groups(parts, heads, h.head_dim, h.head_dim);
  return parts;
}

static void add_attention(const DeltaNet& d, const StoredLayer& layer, Weights& all) { add_recurrence(d, layer, all); }
static void add_attention(const Mamba2& m, const StoredLayer& layer, Weights& all) { add_recurrence(m, layer, all); }
static void add_attention(const NoAttention&, const StoredLayer&, Weights&) {}
static void add_attention(const Mamba1&, const StoredLayer&, Weights&) {
  throw InputErrors("the weights of state spaces (Mamba-1) can't be loaded: such networks are priced alone");
}
static void add_attention(const LinearAttention&, const StoredLayer&, Weights&) {
  throw InputErrors("the weights of linear attention can't be loaded: such networks are priced alone");
}
static void add_attention(const CompressedAttention&, const StoredLayer&, Weights&) {
  throw InputErrors("the weights of compressed attention can't be loaded: such networks are priced alone");
}
static void add_attention(const LatentHeads& a, const StoredLayer& layer, Weights& all) {
  const std::string theirs = layer.theirs + "self_attn.";
  const int hidden = layer.shape.hidden;
  all.push_back(stored_matrix(layer.ours + "o", theirs + "o_proj.weight", a.result_columns(), hidden));
  if (a.dims.indexer) add_indexer(a.dims, hidden, layer.ours + "indexer.", theirs + "indexer.", all);
  add_latent(a, hidden, layer.ours + "latent.", theirs, all);
}

static void add_attention(const HeadAttention& a, const StoredLayer& layer, Weights& all) {
  const std::string &ours = layer.ours, theirs = layer.theirs + layer.architecture.attention();
  const AttentionHeads& h = a.heads;
  const int q = h.q_columns(), k = h.k_columns(), v = h.v_columns(), hidden = layer.shape.hidden;
  const auto qkv = [&](const std::string& kind, int in) -> Parts {
    if (a.output_gate) return gated_parts(h, theirs, in);
    if (layer.architecture.is("Phi3ForCausalLM")) return {{theirs + "qkv_proj." + kind, in, q + k + v}};
    const StoredPart::Pairs pairs{layer.pairs_heads() ? h.head_dim : 0};
    const MatrixFactors& factors = layer.shape.factors;
    StoredPart values{theirs + "v_proj." + kind, in, v};
    values.times = single(a.value_scale * factors.qkv);
    Parts parts{rotated(theirs + "q_proj." + kind, in, q, pairs), rotated(theirs + "k_proj." + kind, in, k, pairs)};
    parts[0].times = single(factors.qkv);
    parts[1].times = single(factors.qkv * factors.keys);
    if (!h.values_are_keys) parts.push_back(values);
    return parts;
  };
  all.push_back(stored_matrix(ours + "o", theirs + "o_proj.weight", h.result_columns(), hidden, layer.shape.factors.o));
  all.push_back(side_by_side(ours + "qkv", layer.inputs(), a.projected_columns(), qkv("weight", layer.inputs())));
  if (a.o_bias) all.push_back(stored_vector(ours + "o_bias", theirs + "o_proj.bias", hidden));
  const std::string sinks = layer.architecture.begins("MiMo") ? "attention_sink_bias" : "sinks";
  if (a.sinks) all.push_back(stored_vector(ours + "sinks", theirs + sinks, h.heads));
  if (a.qkv_bias) all.push_back(side_by_side(ours + "qkv_bias", 1, h.projected_columns(), qkv("bias", 1)));
  if (a.qk_norm == QkNorm::each_head || a.qk_norm == QkNorm::all_heads) {
    const bool whole = a.qk_norm == QkNorm::all_heads;
    all.push_back(layer.norm("q_norm", "self_attn.q_norm", whole ? q : h.head_dim));
    all.push_back(layer.norm("k_norm", "self_attn.k_norm", whole ? k : h.head_dim));
  }
}

static void add_attention(const AttentionBesideMamba& b, const StoredLayer& layer, Weights& all) {
  add_attention(b.attention, layer, all);
  add_attention(b.mamba, layer, all);
}

static Parts gate_and_up(const StoredLayer& layer, MlpKind kind, const std::string& theirs, int inner) {
  const int hidden = layer.shape.hidden;
  if (layer.architecture.granite()) return {{theirs + "input_linear.weight", hidden, 2 * inner}};
  if (layer.architecture.is("Phi3ForCausalLM")) return {{theirs + "gate_up_proj.weight", hidden, 2 * inner}};
  const StoredPart up{theirs + "up_proj.weight", hidden, inner};
  if (!is_gated(kind)) return {up};
  StoredPart gate{theirs + "gate_proj.weight", hidden, inner};
  gate.times = single(layer.shape.factors.gate);
  return {gate, up};
}

// How a layer's mixture of experts names its tensors.
struct ExpertNames {
  std::string mlp, gate = "gate_proj", up = "up_proj", down = "down_proj", router = "gate.weight",
                   bias = "gate.e_score_correction_bias", shared = mlp + "shared_experts.",
                   stacked = "experts.gate_up_proj", stacked_down = "experts.down_proj";  // of all experts
};
static ExpertNames expert_names(Architecture a, const Experts& e, bool beside_mlp) {
  if (a.is("MixtralForCausalLM") || a.is("MiniMaxM2ForCausalLM"))
    return {.mlp = "block_sparse_moe.", .gate = "w1", .up = "w3", .down = "w2", .bias = "e_score_correction_bias"};
  if (a.is("HYV3ForCausalLM"))
    return {.mlp = "mlp.", .router = "router.gate.weight", .bias = "expert_bias", .shared = "mlp.shared_mlp."};
  if (a.granite())
    return {.mlp = "block_sparse_moe.",
            .router = "router.layer.weight",
            .shared = a.mlp(),
            .stacked = "input_linear.weight",
            .stacked_down = "output_linear.weight"};
  if (beside_mlp) return {.mlp = "", .router = "router.proj.weight"};
  if (e.shared_gate) return {.mlp = a.mlp(), .shared = a.mlp() + "shared_expert."};
  return {.mlp = a.mlp()};
}

static void add_shared_expert(const Experts& e, const StoredLayer& layer, const std::string& theirs, Weights& all) {
  const int shared = e.shared, hidden = layer.shape.hidden;
  if (shared == 0) return;
  all.push_back(side_by_side(layer.ours + "shared.gate_up", hidden, (is_gated(e.kind) ? 2 : 1) * shared,
                             gate_and_up(layer, e.kind, theirs, shared)));
  all.push_back(stored_matrix(layer.ours + "shared.down", theirs + layer.architecture.down(), shared, hidden,
                              layer.shape.factors.down));
  if (e.shared_gate)  // beside the expert
    all.push_back(
        stored_matrix(layer.ours + "shared.gate", theirs.substr(0, theirs.size() - 1) + "_gate.weight", hidden, 1));
}

// One tensor [experts, out, in] for all experts, each of which lies in it as a matrix of its own would.
static Parts stacked_parts(const std::string& tensor, int experts, int in, int out, StoredPart::Pairs pairs = {}) {
  Parts parts;
  add_groups(parts, {tensor, in, experts, out}, 0, out);
  for (StoredPart& p : parts) p.stacked = experts, p.pairs = pairs;
  return parts;
}

// Experts in one tensor for all: Llama 4 and gpt-oss, which stores a gate's column beside that which it gates and, in
// MXFP4, matrices as linear layers have them.
static void add_stacked_experts(const Experts& e, const StoredLayer& layer, Weights& all) {
  const bool llama4 = layer.architecture.llama4();
  const std::string &ours = layer.ours, mlp = layer.theirs + layer.architecture.mlp(), experts = mlp + "experts.";
  const int hidden = layer.shape.hidden, inner = e.intermediate;
  const StoredPart::Pairs gates{llama4 ? 0 : 2 * inner};
  const auto stacked = [&](const std::string& name, const std::string& tensor, int in, int out,
                           StoredPart::Pairs pairs) {
    const int rows = e.count * in;
    Parts parts{{experts + tensor, rows, out, 0, 0, false, pairs, 0, e.count}};
    if (StoredValues::in_mxfp4(layer.files, experts + tensor))
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
  add_shared_expert(e, layer, mlp + "shared_expert.", all);
}

// The norms of experts beside a dense MLP, and a factor of each. Transformers multiplies what the router reads by the
// inverse root of the hidden size.
static void add_beside_mlp(const Experts& e, const StoredLayer& layer, Weights& all) {
  const int hidden = layer.shape.hidden;
  const auto norm = [&](const char* name, const char* tensor) { all.push_back(layer.norm(name, tensor, hidden)); };
  norm("mlp_own_norm", "post_feedforward_layernorm_1");
  norm("experts_norm", "pre_feedforward_layernorm_2");
  norm("experts_post_norm", "post_feedforward_layernorm_2");
  StoredPart router{layer.theirs + "router.scale", 1, hidden};
  router.times = 1 / std::sqrt(single(hidden));
  all.push_back(side_by_side(layer.ours + "router_norm", 1, hidden, {router}));
  all.push_back(stored_vector(layer.ours + "router.expert_scale", layer.theirs + "router.per_expert_scale", e.count));
}

// Whether the experts of a tensor are stored [in, out]. Where both are equal they are taken for [out, in].
static bool inputs_first(const StoredTensor* stacked, int in, int out) {
  return in != out && stacked != nullptr && stacked->shape.size() == 3 && stacked->shape[1] == at(in);
}

static void add_experts(const Experts& e, const StoredLayer& layer, bool beside_mlp, Weights& all) {
  if (layer.architecture.is("GptOssForCausalLM") || layer.architecture.llama4())
    return add_stacked_experts(e, layer, all);
  const ExpertNames names = expert_names(layer.architecture, e, beside_mlp);
  const std::string &ours = layer.ours, mlp = layer.theirs + names.mlp;
  const CheckpointFiles& files = layer.files;
  const int hidden = e.row_columns(layer.shape.hidden), count = e.count, inner = e.intermediate;
  const std::string experts = mlp + "experts.";
  Parts gate_up, down;
  if (files.has(experts + "gate_proj")) {  // as GGUF files have them
    const Parts gates = stacked_parts(experts + "gate_proj", count, hidden, inner),
                ups = stacked_parts(experts + "up_proj", count, hidden, inner);
    for (std::size_t i = 0; i < gates.size(); ++i) gate_up.insert(gate_up.end(), {gates[i], ups[i]});
    down = stacked_parts(experts + "down_proj", count, inner, hidden);
  } else if (files.has(mlp + names.stacked) || files.has(mlp + names.stacked_down)) {  // as Qwen3.5 is published
    gate_up = stacked_parts(mlp + names.stacked, count, hidden, 2 * inner);
    down = stacked_parts(mlp + names.stacked_down, count, inner, hidden);
    if (inputs_first(files.find(mlp + names.stacked_down), inner, hidden)) {  // as Qwen3-VL is
      gate_up = {{mlp + names.stacked, count * hidden, 2 * inner, 0, 0, false, {}, 0, count}};
      down = {{mlp + names.stacked_down, count * inner, hidden, 0, 0, false, {}, 0, count}};
    }
  } else {
    for (int i = 0; i < count; ++i) {
      const std::string expert = experts + std::to_string(i) + ".";
      if (is_gated(e.kind)) gate_up.push_back({expert + names.gate + ".weight", hidden, inner});
      gate_up.push_back({expert + names.up + ".weight", hidden, inner});
      down.push_back({expert + names.down + ".weight", inner, hidden});
    }
  }
  for (StoredPart& part : down) part.times = single(layer.shape.factors.down);
  if (beside_mlp) add_beside_mlp(e, layer, all);
  if (e.latent > 0) {
    all.push_back(stored_matrix(ours + "experts.narrow", mlp + "fc1_latent_proj.weight", layer.shape.hidden, e.latent));
    all.push_back(stored_matrix(ours + "experts.widen", mlp + "fc2_latent_proj.weight", e.latent, layer.shape.hidden));
  }
  all.push_back(stored_matrix(ours + "router", mlp + names.router, layer.shape.hidden, count));
  if (e.choice_bias) all.push_back(stored_vector(ours + "router.choice_bias", mlp + names.bias, count));
  all.push_back(side_by_side(ours + "experts.gate_up", count * hidden, e.gate_up_columns(), std::move(gate_up)));
  all.push_back(side_by_side(ours + "experts.down", count * inner, hidden, std::move(down)));
  add_shared_expert(e, layer, layer.theirs + names.shared, all);
}

static void add_mlp(const NoMlp&, const StoredLayer&, Weights&) {}

static void add_mlp(const DenseMlp& m, const StoredLayer& layer, Weights& all) {
  const std::string mlp = layer.theirs + layer.architecture.mlp();
  const int hidden = layer.shape.hidden, inner = m.intermediate;
  all.push_back(
      side_by_side(layer.ours + "gate_up", hidden, m.gate_up_columns(), gate_and_up(layer, m.kind, mlp, inner)));
  all.push_back(
      stored_matrix(layer.ours + "down", mlp + layer.architecture.down(), inner, hidden, layer.shape.factors.down));
}

static void add_mlp(const Experts& e, const StoredLayer& layer, Weights& all) { add_experts(e, layer, false, all); }

static void add_mlp(const ExpertsBesideMlp& m, const StoredLayer& layer, Weights& all) {
  add_experts(m.experts, layer, true, all);
  add_mlp(m.dense, layer, all);
}

// Parts that are priced alone.
static void refuse_unloadable(const LayerShape& s) {
  std::string what;
  const HeadAttention* a = s.heads();
  const LatentHeads* l = s.latent();
  if (s.streams > 1) what = "layers with several residual streams";
  if ((a != nullptr && a->gate_each_head) || (l != nullptr && (l->gate_each_head || l->output_gate)))
    what = "attention with gates of its own";
  if ((a != nullptr && a->blocks) || (l != nullptr && l->dims.indexer && l->dims.indexer->pool > 1))
    what = "attention to chosen blocks";
  if (!what.empty()) throw InputErrors("the weights of " + what + " can't be loaded: such networks are priced alone");
}

std::vector<StoredWeight> stored_layer(const CheckpointFiles& files, std::string_view architecture, const LayerShape& s,
                                       const std::string& ours, const std::string& theirs) {
  refuse_unloadable(s);
  const StoredLayer layer{files, {architecture}, s, ours, theirs};
  Weights all;
  const auto norm = [&](const std::string& name, const std::string& tensor) {
    all.push_back(layer.norm(name, tensor, s.hidden));
  };
  if (s.input_norm && s.norms_before() && s.has_attention()) norm("input_norm", layer.architecture.attention_norm());
  std::visit([&](const auto& attention) { add_attention(attention, layer, all); }, s.attention);
  if (s.norms_behind()) norm("attention_post_norm", "post_attention_layernorm");
  if (std::holds_alternative<NoMlp>(s.mlp)) return all;
  if (s.norms_before()) norm("mlp_norm", layer.architecture.mlp_norm(s.norms_behind()));
  if (s.norms_behind()) norm("mlp_post_norm", "post_feedforward_layernorm");
  if (s.scaled) all.push_back(stored_vector(ours + "scale", theirs + "layer_scalar", 1));
  std::visit([&](const auto& mlp) { add_mlp(mlp, layer, all); }, s.mlp);
  return all;
}

}  // namespace draftline
