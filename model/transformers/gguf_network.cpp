// SPDX-License-Identifier: Apache-2.0
// Keys and names of tensors are those of llama.cpp's gguf-py/gguf/constants.py. The keys are translated to those of
// config.json, so that a network has one description whichever file it comes from.
#include "model/transformers/gguf_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/printable.h"
#include "core/quantity_text.h"
#include "core/reader.h"

namespace draftline {

namespace {

struct Architecture {
  std::string_view name, architecture;  // in GGUF; in config.json
};
constexpr auto kArchitectures = std::to_array<Architecture>({{"llama", "LlamaForCausalLM"},
                                                             {"qwen2", "Qwen2ForCausalLM"},
                                                             {"qwen3", "Qwen3ForCausalLM"},
                                                             {"qwen3moe", "Qwen3MoeForCausalLM"}});

class Keys {
 public:
  Keys(const GgufHeader& h, std::string prefix) : h_(h), prefix_(std::move(prefix)) {}
  std::optional<double> find(const std::string& key) const { return h_.number(prefix_ + "." + key); }
  nlohmann::json at(const std::string& key) const {
    const auto value = find(key);
    if (!value) h_.fail("lacks the key " + in_quotes(prefix_ + "." + key));
    return whole(*value);
  }
  static nlohmann::json whole(double v) {
    return v == std::floor(v) && std::abs(v) < 0x1p53 ? nlohmann::json(to_int64(v)) : nlohmann::json(v);
  }
  // One number for all layers.
  std::optional<nlohmann::json> of_layers(const std::string& key) const {
    const auto found = h_.metadata.find(prefix_ + "." + key);
    if (found == h_.metadata.end()) return std::nullopt;
    const auto* list = std::get_if<GgufHeader::Array>(&found->second);
    if (list == nullptr) return at(key);
    if (list->numbers.empty() ||
        std::ranges::adjacent_find(list->numbers, std::ranges::not_equal_to()) != list->numbers.end())
      h_.fail(in_quotes(prefix_ + "." + key) + " differs from layer to layer, which is not modelled");
    return whole(list->numbers.front());
  }

 private:
  const GgufHeader& h_;
  std::string prefix_;
};

nlohmann::json config_of(const GgufHeader& h) {
  const std::string name = h.text("general.architecture").value_or("");
  const auto known = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (known == kArchitectures.end()) {
    std::string all;
    for (const Architecture& a : kArchitectures) all += (all.empty() ? "" : ", ") + std::string(a.name);
    h.fail("the architecture " + in_quotes(name) + " is not read from GGUF files (" + all +
           " are); give the network's config.json, with \"precision\": \"q4_k_m\" or another of GGUF's formats");
  }
  const Keys keys(h, name);
  nlohmann::json c{{"architectures", {known->architecture}},
                   {"hidden_act", "silu"},
                   {"num_hidden_layers", keys.at("block_count")},
                   {"hidden_size", keys.at("embedding_length")},
                   {"intermediate_size", keys.at("feed_forward_length")},
                   {"num_attention_heads", *keys.of_layers("attention.head_count")},
                   {"rms_norm_eps", keys.at("attention.layer_norm_rms_epsilon")},
                   {"max_position_embeddings", keys.at("context_length")},
                   {"tie_word_embeddings", !h.tensors.contains("output.weight")}};
  c["num_key_value_heads"] = keys.of_layers("attention.head_count_kv").value_or(c["num_attention_heads"]);
  if (const auto dim = keys.find("attention.key_length")) c["head_dim"] = Keys::whole(*dim);
  if (const auto theta = keys.find("rope.freq_base")) c["rope_theta"] = *theta;
  if (const auto experts = keys.find("expert_count"); experts && *experts > 0) {
    const bool mixtral = name == "llama";
    if (mixtral) c["architectures"] = {"MixtralForCausalLM"};
    c[mixtral ? "num_local_experts" : "num_experts"] = Keys::whole(*experts);
    c["num_experts_per_tok"] = keys.at("expert_used_count");
    if (!mixtral) c["moe_intermediate_size"] = keys.at("expert_feed_forward_length");
  }
  const auto embedding = h.tensors.find("token_embd.weight");
  if (embedding == h.tensors.end() || embedding->second.shape.size() != 2)
    h.fail("has no matrix \"token_embd.weight\"");
  c["vocab_size"] = embedding->second.shape[1];
  if (h.tensors.contains("blk.0.attn_q.bias") && name == "llama") c["attention_bias"] = true;
  return c;
}

// Tensors of one class.
struct Sum {
  double values = 0, bytes = 0;
  void add(const GgufTensor& t) { values += t.values(), bytes += t.bytes(); }
  double bits() const { return 8 * bytes / values; }
};

// A format with so many bits for each value on average.
LinearFormat format_of(const GgufHeader& h, const Sum& sum, const char* what) {
  constexpr int kBlock = 256, kLow = 4, kByte = 8, kHalf = 16, kSingle = 32;
  const double bits = sum.bits();
  if (bits >= (kHalf + kSingle) / 2.0) return {.weights = DType::fp32};
  if (bits > (kByte + kHalf) / 2.0) return {.weights = DType::fp16};
  if (bits < kLow)
    h.fail(std::string(what) + " have " + significant(bits, 3) +
           " bits a weight; formats of fewer than 4 bits are not priced");
  const DType weights = bits >= kByte ? DType::int8 : DType::int4;
  return {.weights = weights, .scales = {kBlock, 1, to_int(std::lround((bits - bits_of(weights)) * kBlock))}};
}

bool is_matrix(const GgufTensor& t) { return t.shape.size() > 1; }

std::string most_used_type(const GgufHeader& h) {
  std::map<std::string_view, double> bytes;
  for (const auto& [name, t] : h.tensors) bytes[t.type.name] += t.bytes();
  return std::string(std::ranges::max_element(bytes, {}, [](const auto& b) { return b.second; })->first);
}

}  // namespace

Precision gguf_precision(const GgufHeader& h) {
  Sum attention, mlp, experts, head, embedding;
  for (const auto& [name, t] : h.tensors) {
    if (!is_matrix(t)) continue;
    const auto has = [&n = name](std::string_view part) { return n.find(part) != std::string::npos; };
    if (name == "token_embd.weight") embedding.add(t);
    else if (name == "output.weight") head.add(t);
    else if (has("_exps.")) experts.add(t);
    else if (has(".attn_")) attention.add(t);
    else if (has(".ffn_") && !has("ffn_gate_inp")) mlp.add(t);
  }
  if (attention.values == 0) h.fail("has no matrices of attention");
  if (mlp.values == 0 && experts.values == 0) h.fail("has no matrices of MLPs");
  if (embedding.values == 0) h.fail("has no matrix \"token_embd.weight\"");
  Precision p("gguf:" + most_used_type(h), format_of(h, mlp.values > 0 ? mlp : experts, "the MLPs"), DType::fp16);
  p.attention = format_of(h, attention, "the matrices of attention");
  p.experts = experts.values > 0 ? format_of(h, experts, "the experts") : p.mlp;
  const LinearFormat table = format_of(h, embedding, "the embeddings");
  p.embedding = table.weights;
  p.embedding_scales = table.scales;
  p.lm_head = head.values > 0 ? format_of(h, head, "the weights of the LM head") : table;
  p.draft = p.mlp;
  return p;
}

TransformerShape read_gguf_network(const GgufHeader& h) {
  TransformerShape s = read_whole(Document::from_text(config_of(h).dump(), h.file),
                                  [](const Reader& in) { return read_transformer(in); });
  constexpr double kNear = 0.02;  // norms, biases and factors of rope, which files hold or leave out
  double values = 0;
  for (const auto& [name, t] : h.tensors) values += t.values();
  const double expected = parameters(s);
  if (std::abs(values / expected - 1) > kNear)
    h.fail("its tensors hold " + significant(values, 4) + " values, the network that it describes " +
           significant(expected, 4) + ": the file has other layers than its keys, or is a part of a file");
  s.checkpoint = gguf_precision(h);
  return s;
}

}  // namespace draftline
