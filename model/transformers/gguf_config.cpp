// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/printable.h"
#include "model/transformers/unread_keys.h"

namespace draftline {

namespace {

using nlohmann::json;

constexpr auto kOfAll = std::to_array<GgufKey>({{"block_count", "num_hidden_layers"},
                                                {"embedding_length", "hidden_size"},
                                                {"context_length", "max_position_embeddings"},
                                                {"attention.head_count", "num_attention_heads"},
                                                {"attention.head_count_kv", "num_key_value_heads"},
                                                {"attention.key_length", "head_dim"},
                                                {"feed_forward_length", "intermediate_size"},
                                                {"rope.freq_base", "rope_theta"},
                                                {"attention.layer_norm_rms_epsilon", "rms_norm_eps"}});
constexpr auto kLocalExperts =
    std::to_array<GgufKey>({{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"}});
constexpr auto kGptOss = std::to_array<GgufKey>({{"expert_count", "num_local_experts"},
                                                 {"expert_used_count", "num_experts_per_tok"},
                                                 {"expert_feed_forward_length", "intermediate_size"},
                                                 {"attention.sliding_window", "sliding_window"}});
constexpr auto kMiniMax = std::to_array<GgufKey>({{"expert_count", "num_local_experts"},
                                                  {"expert_used_count", "num_experts_per_tok"},
                                                  {"expert_feed_forward_length", "intermediate_size"}});
constexpr auto kLlama4 = std::to_array<GgufKey>({{"expert_count", "num_local_experts"},
                                                 {"expert_used_count", "num_experts_per_tok"},
                                                 {"feed_forward_length", "intermediate_size_mlp"},
                                                 {"expert_feed_forward_length", "intermediate_size"},
                                                 {"interleave_moe_layer_step", "interleave_moe_layer_step"}});
constexpr auto kQwenExperts =
    std::to_array<GgufKey>({{"expert_count", "num_experts"},
                            {"expert_used_count", "num_experts_per_tok"},
                            {"expert_feed_forward_length", "moe_intermediate_size"},
                            {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}});
constexpr auto kDeltaNet =
    std::to_array<GgufKey>({{"expert_count", "num_experts"},
                            {"expert_used_count", "num_experts_per_tok"},
                            {"expert_feed_forward_length", "moe_intermediate_size"},
                            {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
                            {"full_attention_interval", "full_attention_interval"},
                            {"ssm.conv_kernel", "linear_conv_kernel_dim"},
                            {"ssm.state_size", "linear_key_head_dim"},
                            {"ssm.group_count", "linear_num_key_heads"},
                            {"ssm.time_step_rank", "linear_num_value_heads"},
                            {"nextn_predict_layers", "num_nextn_predict_layers"}});
constexpr auto kRoutedExperts = std::to_array<GgufKey>({{"expert_count", "n_routed_experts"},
                                                        {"expert_used_count", "num_experts_per_tok"},
                                                        {"expert_feed_forward_length", "moe_intermediate_size"},
                                                        {"expert_shared_count", "n_shared_experts"},
                                                        {"expert_group_count", "n_group"},
                                                        {"expert_group_used_count", "topk_group"},
                                                        {"expert_weights_scale", "routed_scaling_factor"},
                                                        {"leading_dense_block_count", "first_k_dense_replace"},
                                                        {"nextn_predict_layers", "num_nextn_predict_layers"}});
constexpr auto kLatent = std::to_array<GgufKey>({{"expert_count", "n_routed_experts"},
                                                 {"expert_used_count", "num_experts_per_tok"},
                                                 {"expert_feed_forward_length", "moe_intermediate_size"},
                                                 {"expert_shared_count", "n_shared_experts"},
                                                 {"expert_group_count", "n_group"},
                                                 {"expert_group_used_count", "topk_group"},
                                                 {"expert_weights_scale", "routed_scaling_factor"},
                                                 {"leading_dense_block_count", "first_k_dense_replace"},
                                                 {"attention.q_lora_rank", "q_lora_rank"},
                                                 {"attention.kv_lora_rank", "kv_lora_rank"},
                                                 {"rope.dimension_count", "qk_rope_head_dim"},
                                                 {"attention.value_length_mla", "v_head_dim"}});
constexpr auto kWindow = std::to_array<GgufKey>({{"attention.sliding_window", "sliding_window"}});
constexpr auto kGemma3 = std::to_array<GgufKey>(
    {{"attention.sliding_window", "sliding_window"}, {"rope.freq_base_swa", "rope_local_base_freq"}});

constexpr std::span<const GgufKey> kNoKeys;
constexpr bool kDecoded = true, kPaired = true;
constexpr auto kGgufFamilies = std::to_array<GgufFamily>(
    {{"llama", "LlamaForCausalLM", kLocalExperts, "{}", kDecoded, kPaired},  // also Mistral and Mixtral
     {"mistral3", "MistralForCausalLM", kNoKeys, R"({"model_type": "ministral3"})", false, kPaired},
     {"internlm2", "LlamaForCausalLM", kNoKeys, "{}", false, kPaired},
     {"smollm3", "SmolLM3ForCausalLM", kNoKeys, "{}", false, kPaired},
     {"qwen2", "Qwen2ForCausalLM", kNoKeys, "{}", kDecoded},
     {"qwen2vl", "Qwen2ForCausalLM", kNoKeys},
     {"qwen2moe", "Qwen2MoeForCausalLM", kQwenExperts},
     {"qwen3", "Qwen3ForCausalLM", kNoKeys, "{}", kDecoded},
     {"qwen3vl", "Qwen3ForCausalLM", kNoKeys},
     {"qwen3moe", "Qwen3MoeForCausalLM", kQwenExperts, R"({"norm_topk_prob": true})", kDecoded},
     {"qwen3vlmoe", "Qwen3MoeForCausalLM", kQwenExperts, R"({"norm_topk_prob": true})"},
     {"qwen3next", "Qwen3NextForCausalLM", kDeltaNet},
     {"qwen35", "Qwen3_5ForCausalLM", kDeltaNet, R"({"mamba_ssm_dtype": "float32"})"},
     {"qwen35moe", "Qwen3_5MoeForCausalLM", kDeltaNet, R"({"mamba_ssm_dtype": "float32"})"},
     {"phi3", "Phi3ForCausalLM", kWindow},
     {"olmo2", "Olmo2ForCausalLM", kWindow, "{}", kDecoded},  // also Olmo 3
     {"seed_oss", "SeedOssForCausalLM", kNoKeys, "{}", kDecoded},
     {"ernie4_5", "Ernie4_5ForCausalLM", kNoKeys, "{}", kDecoded},
     {"exaone4", "Exaone4ForCausalLM", kWindow},
     {"gemma3", "Gemma3ForCausalLM", kGemma3, R"({"hidden_activation": "gelu_pytorch_tanh"})"},
     {"gpt-oss", "GptOssForCausalLM", kGptOss},
     {"llama4", "Llama4ForCausalLM", kLlama4},
     {"deepseek2", "DeepseekV3ForCausalLM", kLatent},  // also V2
     {"glm4moe", "Glm4MoeForCausalLM", kRoutedExperts},
     {"dots1", "Dots1ForCausalLM", kRoutedExperts, R"({"sliding_window": null})"},
     {"minimax-m2", "MiniMaxM2ForCausalLM", kMiniMax}});

// Keys behind the architecture's name that change neither bytes nor FLOP, or that are read apart from the tables.
constexpr auto kCostless = std::to_array<std::string_view>({"vocab_size",
                                                            "rope.dimension_count",
                                                            "rope.dimension_sections",
                                                            "rope.scaling.type",
                                                            "rope.scaling.factor",
                                                            "rope.scaling.finetuned",
                                                            "rope.scaling.original_context_length",
                                                            "rope.scaling.attn_factor",
                                                            "rope.scaling.yarn_beta_fast",
                                                            "rope.scaling.yarn_beta_slow",
                                                            "rope.scaling.yarn_log_multiplier",
                                                            "attention.temperature_scale",
                                                            "attention.sliding_window_pattern",
                                                            "attention.value_length",
                                                            "attention.key_length_mla",
                                                            "attention.layer_norm_epsilon",
                                                            "expert_weights_norm",
                                                            "ssm.inner_size",
                                                            "n_deepstack_layers",
                                                            "tensor_data_layout",
                                                            "pooling_type",
                                                            "decoder_start_token_id"});
// Keys that change logits but neither bytes nor FLOP, and the values with which the decoder computes.
struct DecodedValue {
  std::string_view key;
  double value;
};
constexpr auto kDecodedValues = std::to_array<DecodedValue>(
    {{"attention.causal", 1}, {"use_parallel_residual", 0}, {"expert_gating_func", 1}});  // 1: softmax
constexpr auto kOtherPrefixes = std::to_array<std::string_view>({"general.", "tokenizer.", "split.", "quantize."});

class Keys {
 public:
  Keys(const GgufHeader& h, const GgufFamily& family)
      : h_(h), prefix_(std::string(family.name) + "."), decoded_(family.decoded) {}
  std::optional<double> find(std::string_view key) const { return h_.number(prefix_ + std::string(key)); }
  std::string named(std::string_view key) const { return in_quotes(prefix_ + std::string(key)); }
  [[noreturn]] void lacks(std::string_view key) const { h_.fail("lacks the key " + named(key)); }
  // A number, or what a list has for every layer.
  std::optional<json> of_layers(std::string_view key) const {
    const auto found = h_.metadata.find(prefix_ + std::string(key));
    if (found == h_.metadata.end()) return std::nullopt;
    const auto* list = std::get_if<GgufHeader::Array>(&found->second);
    if (list == nullptr) return whole(*find(key));
    const std::vector<double>& all = list->numbers;
    if (all.empty() || std::ranges::adjacent_find(all, std::ranges::not_equal_to()) != all.end())
      h_.fail(named(key) + " differs from layer to layer, which is not modelled");
    return whole(all.front());
  }
  static json whole(double v) { return v == std::floor(v) && std::abs(v) < 0x1p53 ? json(to_int64(v)) : json(v); }
  std::vector<std::string> unused(const std::set<std::string_view>& used) const {
    std::vector<std::string> all;
    for (const auto& [key, value] : h_.metadata) {
      const bool own = key.starts_with(prefix_);
      const std::string_view behind = std::string_view(key).substr(own ? prefix_.size() : 0);
      const auto begins = [&k = key](std::string_view prefix) { return k.starts_with(prefix); };
      const bool costless =
          own ? used.contains(behind) || changes_nothing(behind) : std::ranges::any_of(kOtherPrefixes, begins);
      if (!costless) all.push_back(key);
    }
    return all;
  }

 private:
  bool changes_nothing(std::string_view key) const {
    const auto known = std::ranges::find(kDecodedValues, key, &DecodedValue::key);
    if (known == kDecodedValues.end()) return std::ranges::find(kCostless, key) != kCostless.end();
    return !decoded_ || find(key) == known->value;
  }
  const GgufHeader& h_;
  std::string prefix_;
  bool decoded_;
};

// Factors of single frequencies, which a tensor holds: Llama 3.1's and LongRoPE's.
std::optional<json> factors(const GgufHeader& h, const Keys& keys, const Files& files) {
  const bool one = h.tensors.contains("rope_freqs.weight");
  const char* const brief = one ? "rope_freqs.weight" : "rope_factors_short.weight";
  const char* const lengthy = one ? "rope_freqs.weight" : "rope_factors_long.weight";
  if (!h.tensors.contains(brief) || !h.tensors.contains(lengthy)) return std::nullopt;
  json scaling{{"rope_type", "longrope"},
               {"short_factor", h.vector(brief, files)},
               {"long_factor", h.vector(lengthy, files)},
               {"attention_factor", keys.find("rope.scaling.attn_factor").value_or(1)}};
  const auto original = keys.find("rope.scaling.original_context_length");
  scaling["original_max_position_embeddings"] =
      Keys::whole(original ? *original : keys.find("context_length").value_or(1));
  return scaling;
}

std::optional<json> rope_scaling(const GgufHeader& h, const Keys& keys, const std::string& prefix, const Files& files) {
  if (auto listed = factors(h, keys, files)) return listed;
  const std::string type = h.text(prefix + ".rope.scaling.type").value_or("none");
  if (type == "none") return std::nullopt;
  json scaling{{"rope_type", type}};
  const auto copy = [&](const char* gguf, const char* config) {
    if (const auto value = keys.find(gguf)) scaling[config] = Keys::whole(*value);
  };
  copy("rope.scaling.factor", "factor");
  if (type != "yarn") return scaling;
  copy("rope.scaling.original_context_length", "original_max_position_embeddings");
  copy("rope.scaling.yarn_beta_fast", "beta_fast");
  copy("rope.scaling.yarn_beta_slow", "beta_slow");
  copy("rope.scaling.attn_factor", "attention_factor");
  copy("attention.temperature_scale", "llama_4_scaling_beta");
  if (const auto log = keys.find("rope.scaling.yarn_log_multiplier"); log && *log > 0)  // 0.1 of mscale_all_dim
    scaling["mscale"] = scaling["mscale_all_dim"] = 10 * *log;
  return scaling;
}

// Which layers have a window: every so many have none, or a list has 1 for those that have one.
void add_pattern(const GgufHeader& h, const std::string& key, json& c) {
  const auto found = h.metadata.find(key);
  if (found == h.metadata.end()) return;
  const auto* list = std::get_if<GgufHeader::Array>(&found->second);
  if (list == nullptr) {
    c["sliding_window_pattern"] = Keys::whole(h.number(key).value_or(1));
    return;
  }
  c["layer_types"] = json::array();
  for (const double windowed : list->numbers)
    c["layer_types"].push_back(windowed != 0 ? "sliding_attention" : "full_attention");
}

// What a family's config.json has in another form than the metadata.
void adapt(const GgufHeader& h, const Keys& keys, const GgufFamily& family, json& c) {
  const std::string_view name = family.name;
  const bool experts = keys.find("expert_count").value_or(0) > 0;
  if (name == "llama" && experts) c["architectures"] = {"MixtralForCausalLM"};
  if (name == "olmo2" && c.contains("sliding_window")) c["architectures"] = {"Olmo3ForCausalLM"};
  if (name == "glm4moe") c["use_qk_norm"] = h.tensors.contains("blk.0.attn_q_norm.weight");
  if (name == "seed_oss") c["attention_out_bias"] = h.tensors.contains("blk.0.attn_output.bias");
  if (name.starts_with("qwen3next") || name.starts_with("qwen35")) {
    const auto inner = keys.find("ssm.inner_size"), heads = keys.find("ssm.time_step_rank");
    if (!inner || !heads || *heads < 1) keys.lacks("ssm.inner_size");
    c["linear_value_head_dim"] = Keys::whole(*inner / *heads);
  }
  if (const auto norm = keys.find("expert_weights_norm")) c["norm_topk_prob"] = *norm != 0;
  if (const auto modules = keys.find("nextn_predict_layers"))
    c["num_hidden_layers"] = Keys::whole(*keys.find("block_count") - *modules);
  if (name != "deepseek2") return;
  const auto key = keys.find("attention.key_length_mla"), rope = keys.find("rope.dimension_count");
  if (!key || !rope)
    h.fail("lacks the key " + keys.named("attention.key_length_mla") +
           ": it was converted before llama.cpp had latent attention");
  c["qk_nope_head_dim"] = Keys::whole(*key - *rope);
  c["num_key_value_heads"] = c["num_attention_heads"];  // the file has the one head of the latents
  c.erase("head_dim");
  c.erase("partial_rotary_factor");
  constexpr double kSoftmax = 1;
  if (keys.find("expert_gating_func").value_or(kSoftmax) != kSoftmax) return;
  c["architectures"] = {"DeepseekV2ForCausalLM"};
  c["topk_method"] = c.contains("n_group") ? "group_limited_greedy" : "greedy";
}

}  // namespace

std::span<const GgufFamily> gguf_families() { return kGgufFamilies; }

const GgufFamily& gguf_family(const GgufHeader& h) {
  const std::string name = h.text("general.architecture").value_or("");
  const auto known = std::ranges::find(kGgufFamilies, name, &GgufFamily::name);
  if (known != kGgufFamilies.end()) return *known;
  std::string all;
  for (const GgufFamily& f : kGgufFamilies) all += (all.empty() ? "" : ", ") + std::string(f.name);
  h.fail("the architecture " + in_quotes(name) + " is not read from GGUF files (" + all +
         " are); give the network's config.json, with \"precision\": \"q4_k_m\" or another of GGUF's formats");
}

GgufConfig gguf_config(const GgufHeader& h, const Files& files) {
  const GgufFamily& family = gguf_family(h);
  const Keys keys(h, family);
  json c = json::parse(family.constants);
  c["architectures"] = {family.architecture};
  c["hidden_act"] = "silu";
  std::set<std::string_view> used;
  for (const auto& table : {std::span<const GgufKey>(kOfAll), family.keys})
    for (const auto& [gguf, config] : table) {
      used.insert(gguf);
      if (const auto value = keys.of_layers(gguf)) c[std::string(config)] = *value;
    }
  for (const char* required : {"block_count", "embedding_length", "context_length", "attention.head_count"})
    if (!keys.of_layers(required)) keys.lacks(required);
  if (!c.contains("num_key_value_heads")) c["num_key_value_heads"] = c["num_attention_heads"];
  const double heads = c["num_attention_heads"], hidden = c["hidden_size"];
  if (!c.contains("head_dim") && heads >= 1) c["head_dim"] = Keys::whole(hidden / heads);
  const double head_dim = c.value("head_dim", 0.0);
  if (const auto rotated = keys.find("rope.dimension_count"); rotated && head_dim > 0 && *rotated != head_dim)
    c["partial_rotary_factor"] = *rotated / head_dim;
  if (const auto values = keys.find("attention.value_length");
      values && !h.metadata.contains(std::string(family.name) + ".attention.key_length_mla") && *values != head_dim)
    h.fail("values of another size than keys (" + keys.named("attention.value_length") + ") are not modelled");
  const auto embedding = h.tensors.find("token_embd.weight");
  if (embedding == h.tensors.end() || embedding->second.shape.size() != 2)
    h.fail("has no matrix \"token_embd.weight\"");
  c["vocab_size"] = embedding->second.shape[1];
  c["tie_word_embeddings"] = !h.tensors.contains("output.weight");
  if (!family.name.starts_with("qwen2")) c["attention_bias"] = h.tensors.contains("blk.0.attn_q.bias");
  if (const auto scaling = rope_scaling(h, keys, std::string(family.name), files)) c["rope_scaling"] = *scaling;
  add_pattern(h, std::string(family.name) + ".attention.sliding_window_pattern", c);
  adapt(h, keys, family, c);
  GgufConfig result{std::move(c), {}};
  if (h.tensors.contains("rope_freqs.weight") &&
      h.text(std::string(family.name) + ".rope.scaling.type").value_or("none") != "none")
    result.notes.push_back(keys.named("rope.scaling.type") +
                           " is not used: the tensor \"rope_freqs.weight\" has its factors");
  for (const std::string& key : keys.unused(used)) {
    std::string words = key;
    std::ranges::replace(words, '.', '_');
    if (config::shapes_network(words) && key.starts_with(family.name))
      h.fail("the key " + in_quotes(key) + " shapes a network, but is not modelled for this architecture");
    result.notes.push_back(in_quotes(key) + " is not used");
  }
  return result;
}

}  // namespace draftline
