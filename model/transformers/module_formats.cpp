// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/module_formats.h"

#include <algorithm>
#include <array>

#include "core/quantity_text.h"

namespace draftline {

namespace {

// A matrix [in, out] of a layer, `count` times; its name behind that of the layer.
struct StoredMatrix {
  std::string_view name;
  int in, out;
  double count = 1;
};
using StoredMatrices = std::vector<StoredMatrix>;
constexpr int kMostNamed = 512;  // layers of a network that is more than a slip of the pen

StoredMatrices modules(const HeadAttention& a, int inputs, int hidden) {
  const AttentionHeads& h = a.heads;
  const int index = a.blocks ? (a.blocks->heads + 1) * a.blocks->head_dim : 0;
  return {{"self_attn.q_proj", inputs, h.q_columns() + (a.output_gate ? h.result_columns() : 0)},
          {"self_attn.k_proj", inputs, h.k_columns()},
          {"self_attn.v_proj", inputs, h.values_are_keys ? 0 : h.v_columns()},
          {"self_attn.g_proj", inputs, a.gate_each_head ? h.heads : 0},
          {"self_attn.index_q_proj", inputs, index},  // and the index's keys
          {"self_attn.o_proj", h.result_columns(), hidden}};
}

StoredMatrices modules(const LatentHeads& a, int inputs, int hidden) {
  const LatentAttention& l = a.dims;
  StoredMatrices all{{"self_attn.kv_a_proj_with_mqa", inputs, l.kv_rank + l.rope_dim},
                     {"self_attn.kv_b_proj", l.kv_rank, a.expanded_columns()},
                     {"self_attn.o_proj", a.result_columns(), hidden}};
  if (a.output_gate) all.push_back({"self_attn.g_proj", inputs, a.result_columns()});
  if (a.gate_each_head) all.push_back({"self_attn.g_proj", inputs, a.heads});
  if (l.q_rank > 0) {
    all.push_back({"self_attn.q_a_proj", inputs, l.q_rank});
    all.push_back({"self_attn.q_b_proj", l.q_rank, a.q_columns()});
  } else {
    all.push_back({"self_attn.q_proj", inputs, a.q_columns()});
  }
  if (const auto& i = l.indexer) {
    all.push_back({"self_attn.indexer.wq_b", l.q_rank, i->heads * i->head_dim});
    all.push_back({"self_attn.indexer.wk", inputs, i->head_dim});
    all.push_back({"self_attn.indexer.weights_proj", inputs, i->heads});
  }
  return all;
}

// Kinds of attention whose matrices are not told apart count as one.
StoredMatrices as_one(std::string_view name, const LayerShape& alone) {
  const int inputs = alone.inputs.value_or(alone.hidden);
  return {{name, inputs, static_cast<int>(attention_parameters(alone) / std::max(inputs, 1))}};
}

StoredMatrices modules(const DeltaNet& d, int inputs, int hidden) {
  if (d.column_gates) return as_one("self_attn.q_proj", {.hidden = hidden, .inputs = inputs, .attention = d});
  return {{"linear_attn.in_proj_qkv", inputs, d.convolved_columns()},
          {"linear_attn.in_proj_z", inputs, d.value_columns()},
          {"linear_attn.in_proj_b", inputs, d.value_heads},
          {"linear_attn.in_proj_a", inputs, d.value_heads},
          {"linear_attn.out_proj", d.value_columns(), hidden}};
}

template <class Other>
StoredMatrices modules(const Other& a, int inputs, int) {
  return as_one("self_attn", {.hidden = inputs, .attention = a});
}

StoredMatrices attention_modules(const LayerShape& l) {
  return std::visit([&](const auto& a) { return modules(a, l.inputs.value_or(l.hidden), l.hidden); }, l.attention);
}

StoredMatrices mlp_modules(const LayerShape& layer) {
  StoredMatrices all;
  if (const DenseMlp* m = layer.dense_mlp()) {
    if (m->gate_up_columns() > m->intermediate) all.push_back({"mlp.gate_proj", layer.hidden, m->intermediate});
    all.push_back({"mlp.up_proj", layer.hidden, m->intermediate});
    all.push_back({"mlp.down_proj", m->intermediate, layer.hidden});
  }
  const Experts* e = layer.experts();
  if (e != nullptr && e->shared > 0) {
    if (is_gated(e->kind)) all.push_back({"mlp.shared_experts.gate_proj", layer.hidden, e->shared});
    all.push_back({"mlp.shared_experts.up_proj", layer.hidden, e->shared});
    all.push_back({"mlp.shared_experts.down_proj", e->shared, layer.hidden});
  }
  if (e != nullptr && e->latent > 0) {
    all.push_back({"mlp.fc1_latent_proj", layer.hidden, e->latent});
    all.push_back({"mlp.fc2_latent_proj", e->latent, layer.hidden});
  }
  return all;
}

StoredMatrices expert_modules(const LayerShape& layer) {
  const Experts* e = layer.experts();
  if (e == nullptr) return {};
  const bool beside = std::holds_alternative<ExpertsBesideMlp>(layer.mlp);  // and not within it (Gemma 4)
  const int hidden = e->row_columns(layer.hidden), gate = is_gated(e->kind) ? e->intermediate : 0;
  const double count = e->count;
  return {{beside ? "experts.0.gate_proj" : "mlp.experts.0.gate_proj", hidden, gate, count},
          {beside ? "experts.0.up_proj" : "mlp.experts.0.up_proj", hidden, e->intermediate, count},
          {beside ? "experts.0.down_proj" : "mlp.experts.0.down_proj", e->intermediate, hidden, count}};
}

}  // namespace

void FormatMix::add(const LinearFormat& f, int in, int out, double count) {
  if (in <= 0 || out <= 0) return;
  Part& part = parts_[f];
  part.weights += count * in * out;
  part.bytes += count * (bytes_of(f.weights, 1.0 * in * out) + (f.scales.bits > 0 ? f.scales.of(in, out) : Bytes{}));
}

FormatMix::Part FormatMix::whole() const {
  Part all;
  for (const auto& [format, part] : parts_) all = {all.weights + part.weights, all.bytes + part.bytes};
  return all;
}

double FormatMix::share(const LinearFormat& f) const {
  const auto part = parts_.find(f);
  return part == parts_.end() ? 0 : part->second.weights / whole().weights;
}

LinearFormat FormatMix::usual() const {
  return std::max_element(parts_.begin(), parts_.end(),
                          [](const auto& a, const auto& b) { return a.second.weights < b.second.weights; })
      ->first;
}

// Bits of a weight that the format leaves over are scales. Where most weights are wider than the mean, the widest
// format below the mean has to stand for them; its products are computed in the activations' format.
LinearFormat FormatMix::mean() const {
  constexpr int kBlock = 128;
  LinearFormat f = usual();
  if (!mixed()) return f;
  const Part all = whole();
  const double bits = 8 * all.bytes.value / all.weights;
  if (bits_of(f.weights) > bits) f = {bits >= bits_of(DType::int8) ? DType::int8 : DType::int4, {}, {}, {}, false};
  f.scales = {kBlock, 1, static_cast<int>(kBlock * std::max(0.0, bits - bits_of(f.weights)) + 0.5)};
  return f;
}

std::string FormatMix::text() const {
  const Part all = whole();
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [format, part] : parts_) {
    const int percent = static_cast<int>(100 * part.weights / all.weights + 0.5);
    parts.emplace_back(part.weights, std::to_string(percent) + " % " + std::string(name(format.weights)));
  }
  std::sort(parts.rbegin(), parts.rend());
  std::string text;
  for (const auto& [weights, one] : parts) text += (text.empty() ? "" : ", ") + one;
  return text;
}

ClassMixes ModuleFormats::of(const TransformerShape& s) const {
  const auto listed = [&](const std::string& module) -> std::optional<LinearFormat> {
    for (const ModuleRule& rule : rules)
      if (rule.modules.has(module)) return rule.format.value_or(plain);
    return std::nullopt;
  };
  ClassMixes mixes;
  const auto add = [&](FormatMix& mix, const std::string& layer, const StoredMatrices& all) {
    for (const StoredMatrix& m : all) {
      std::string name = layer + std::string(m.name);
      auto format = listed(name);
      // Qwen's shared expert is called so in the singular.
      if (const auto plural = name.find("shared_experts."); !format && plural != std::string::npos)
        format = listed(name.erase(plural + 13, 1));
      mix.add(format.value_or(otherwise), m.in, m.out, m.count);
    }
  };
  for (int i = 0; i < std::min(s.layers(), kMostNamed); ++i) {
    const LayerShape& l = s.layer(i);
    const std::string name = "model.layers." + std::to_string(i) + ".";
    add(mixes.attention, name, attention_modules(l));
    add(mixes.mlp, name, mlp_modules(l));
    add(mixes.experts, name, expert_modules(l));
  }
  mixes.lm_head.add(listed("lm_head").value_or(head), s.hidden, s.vocabulary, 1);
  return mixes;
}

Bytes stored_bytes(const TransformerShape& s, const Precision& p) {
  const auto bytes_in = [&](const StoredMatrices& all, const LinearFormat& f) {
    Bytes sum;
    for (const StoredMatrix& m : all)
      if (m.in > 0 && m.out > 0)
        sum += m.count *
               (bytes_of(f.weights, 1.0 * m.in * m.out) + (f.scales.bits > 0 ? f.scales.of(m.in, m.out) : Bytes{}));
    return sum;
  };
  Bytes sum = bytes_of(p.activations, (s.norm == NormKind::layer ? 2.0 : 1.0) * s.hidden);
  std::vector<Bytes> kinds;
  for (const LayerShape& l : s.kinds)
    kinds.push_back(bytes_in(attention_modules(l), p.attention) + bytes_in(mlp_modules(l), p.mlp) +
                    bytes_in(expert_modules(l), p.experts) + bytes_of(p.activations, vector_parameters(l)));
  for (const int kind : s.kind_of) sum += kinds[at(kind)];
  sum += bytes_of(p.embedding, 1.0 * s.vocabulary * s.hidden);
  return s.tied_embeddings ? sum : sum + bytes_in({{"lm_head", s.hidden, s.vocabulary}}, p.lm_head);
}

}  // namespace draftline
