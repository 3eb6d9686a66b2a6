// SPDX-License-Identifier: Apache-2.0
// One function per family of architectures. Keys and their defaults are those of the transformers library's
// configuration classes (4.57 and 5.0; ChatGLM, QWen, InternLM, Baichuan: of their own repositories).
#include "model/transformers/config_families.h"

#include <array>

#include "model/transformers/config_experts.h"

namespace draftline::config {

namespace {

void read_llama(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 2048, .epsilon = 1e-6}, s);
  read_biases(in, s);
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
}

void read_qwen_window(const Reader& in, ConfigNetwork& s) {
  const bool slides = flag(in, "use_sliding_window", false) || in.has("layer_types");
  const auto first = given(in, "max_window_layers");  // the layers before it have full attention
  const int full = first ? first->integer(0, kMostLayers) : 28;
  const auto window = given(in, "sliding_window");
  std::optional<int> tokens;
  if (slides) tokens = window ? window->positive_int(kMostPositions) : 4096;
  read_layer_types(
      in, AttentionKind::sliding, tokens, [full](int layer) { return layer >= full; }, s);
}

void read_qwen2(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 32768, .epsilon = 1e-6}, s);
  s.attention.qkv_bias = true;
  read_qwen_window(in, s);
}

void read_qwen3(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 32768, .epsilon = 1e-6, .head_dim = 128, .qk_norm = QkNorm::each_head}, s);
  read_biases(in, s);
  read_qwen_window(in, s);
}

void read_qwen3_moe(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 32768, .epsilon = 1e-6, .qk_norm = QkNorm::each_head}, s);
  read_biases(in, s);
  const bool renamed = given(in, "num_local_experts").has_value();  // transformers 5, of Qwen3-VL
  s.experts = read_experts(in, {.count = renamed ? "num_local_experts" : "num_experts"}, s.whole.hidden);
  read_experts_everywhere(in);
  read_qwen_window(in, s);
}

void read_seed_oss(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 524288, .epsilon = 1e-6, .head_dim = 128}, s);
  s.attention.qkv_bias = flag(in, "attention_bias", true);
  s.attention.o_bias = flag(in, "attention_out_bias", false);
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
}

void read_ernie(const Reader& in, ConfigNetwork& s) {
  read_like_llama(
      in, {.kv_heads_may_lack = true, .positions = 131072, .epsilon = 1e-5, .head_dim = 128, .theta = 500000}, s);
  read_tied(in, true, s);
  refuse(in, "use_bias", "a bias in the linear layers is not modelled");
}

void read_mistral(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 131072, .epsilon = 1e-6}, s);
  const auto type = given(in, "model_type");
  read_sliding_window(in, type && type->text() == "ministral3" ? std::nullopt : std::optional(4096), s);
}

void read_phi3(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 4096, .epsilon = 1e-5}, s);
  refuse(in, "attention_bias", "a bias in the attention is not modelled for this architecture");
  read_sliding_window(in, {}, s);
}

void read_falcon(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers", "n_layer"}, kMostLayers);
  s.attention.heads.heads = needed(in, {"num_attention_heads", "n_head"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  const auto width = given(in, "ffn_hidden_size");
  s.whole.intermediate = width ? width->positive_int(kMostColumns) : 4 * s.whole.hidden;
  const auto kv = given(in, {"num_kv_heads", "n_head_kv"});
  s.attention.heads.kv_heads = kv ? kv->positive_int(kMostColumns) : s.attention.heads.heads;
  s.attention.heads.head_dim = s.attention.heads.heads > 0 ? s.whole.hidden / s.attention.heads.heads : 0;
  if (s.attention.heads.heads > 0 && s.whole.hidden % s.attention.heads.heads != 0)
    in.fail("hidden size " + std::to_string(s.whole.hidden) + " is not divided by " +
            std::to_string(s.attention.heads.heads) + " heads");
  demand(in, "new_decoder_architecture", false,
         "only the newer Falcon layer is modelled (40B, 180B): new_decoder_architecture must be true");
  if (const auto norms = given(in, "num_ln_in_parallel_attn"); norms && norms->positive_int() != 2)
    norms->fail("only two norms per layer are modelled");
  refuse(in, "alibi", "ALiBi positions are not modelled");
  refuse(in, "bias", "a bias in the linear layers is not modelled");
  read_activation(in, "activation", {"gelu"});
  read_positions(in, 2048, s);
  read_rope(in, s);
  read_epsilon(in, "layer_norm_epsilon", 1e-5, s);
  read_tied(in, true, s);
  s.base.parallel = true;  // the newer layer is always so, whatever parallel_attn says
  s.whole.norm = NormKind::layer;
  s.mlp = MlpKind::gelu;
}

void read_chatglm(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_layers"}, kMostLayers);
  s.attention.heads.heads = needed(in, {"num_attention_heads"}, kMostColumns);
  s.whole.intermediate = needed(in, {"ffn_hidden_size"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"padded_vocab_size", "vocab_size"}, kMostVocabulary);
  s.whole.max_positions = needed(in, {"seq_length"}, kMostPositions);
  read_head_dim(in, s, "kv_channels");
  s.attention.heads.kv_heads = flag(in, "multi_query_attention", false)
                                   ? needed(in, {"multi_query_group_num"}, kMostColumns)
                                   : s.attention.heads.heads;
  demand(in, "rmsnorm", true, "only RMSNorm is modelled for this architecture");
  demand(in, "post_layer_norm", true, "a model without its final norm is not modelled");
  refuse(in, "add_bias_linear", "a bias in the MLP and the attention's output is not modelled");
  refuse(in, "apply_residual_connection_post_layernorm", "residuals taken after the norm are not modelled");
  s.attention.qkv_bias = flag(in, "add_qkv_bias", false);
  s.rotary_share = 0.5;  // fixed in the architecture: the first half of a head's columns
  const auto ratio = given(in, "rope_ratio");
  s.attention.rope.theta *= ratio ? ratio->number(1e-3, 1e6) : 1;
  read_epsilon(in, "layernorm_epsilon", 1e-5, s);
  read_tied(in, false, s);
}

void read_qwen1(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(in, {"num_attention_heads"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  const int both = needed(in, {"intermediate_size"}, 2 * kMostColumns);  // of the gate and up matrices together
  if (both % 2 != 0) in.at("intermediate_size").fail("must be even: the gate and up columns together");
  s.whole.intermediate = both / 2;
  read_head_dim(in, s, "kv_channels");
  demand(in, "no_bias", true, "a bias in the MLP and the attention's output is not modelled");
  read_positions(in, 8192, s);
  if (const auto share = given(in, "rotary_pct")) s.rotary_share = share->number(1e-3, 1);
  if (const auto theta = given(in, "rotary_emb_base")) s.attention.rope.theta = read_theta(*theta);
  if (flag(in, "use_dynamic_ntk", true) || flag(in, "use_logn_attn", true))
    s.whole.notes.push_back(
        "dynamic rope scaling and log-n attention are ignored: they apply only beyond seq_length and cost nothing");
  read_epsilon(in, "layer_norm_epsilon", 1e-6, s);
  read_tied(in, false, s);
  s.attention.qkv_bias = true;
}

void read_internlm(const Reader& in, ConfigNetwork& s) {
  read_gated(in, s);
  read_heads(in, s, true);
  read_head_dim(in, s);
  read_positions(in, 2048, s);
  s.attention.qkv_bias = s.attention.o_bias = flag(in, "bias", true);
  if (const auto rotary = given(in, "rotary"); rotary && rotary->is_object()) {
    if (const auto base = given(*rotary, "base")) s.attention.rope.theta = read_theta(*base);
    read_scaling(*rotary, in, s);
  }
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
}

void read_baichuan(const Reader& in, ConfigNetwork& s) {
  read_gated(in, s);
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(in, {"num_attention_heads"}, kMostColumns);
  read_head_dim(in, s);
  // The 13B models have ALiBi in place of rope, and say so by "model_max_length" in place of "max_position_embeddings".
  if (!in.has("max_position_embeddings") && in.has("model_max_length"))
    in.at("model_max_length").fail("Baichuan models with ALiBi positions (13B) are not modelled");
  read_positions(in, 4096, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
}

constexpr std::array kFamilies{
    Family{"LlamaForCausalLM", "llama", read_llama},
    Family{"Qwen2ForCausalLM", "qwen2", read_qwen2},
    Family{"Qwen3ForCausalLM", "qwen3", read_qwen3},
    Family{"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3_moe},
    Family{"Qwen2VLForConditionalGeneration", "qwen2_vl", read_qwen2},
    Family{"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", read_qwen2},
    Family{"Qwen3VLForConditionalGeneration", "qwen3_vl", read_qwen3},
    Family{"Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", read_qwen3_moe},
    Family{"Qwen3NextForCausalLM", "qwen3_next", read_qwen3_next},
    Family{"Qwen3_5ForConditionalGeneration", "qwen3_5", read_qwen3_5},
    Family{"Qwen3_5ForCausalLM", "qwen3_5_text", read_qwen3_5},
    Family{"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen3_5_moe},
    Family{"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", read_qwen3_5_moe},
    Family{"KimiLinearForCausalLM", "kimi_linear", read_kimi_linear},
    Family{"KimiK3ForConditionalGeneration", "kimi_k3", read_kimi_linear},
    Family{"NemotronHForCausalLM", "nemotron_h", read_nemotron_h},
    Family{"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_granite_hybrid},
    Family{"FalconH1ForCausalLM", "falcon_h1", read_falcon_h1},
    Family{"JambaForCausalLM", "jamba", read_jamba},
    Family{"BailingHybridForCausalLM", "bailing_hybrid", read_bailing_hybrid},
    Family{"BailingMoeV2_5ForCausalLM", "bailing_moe_v2_5", read_bailing_linear},
    Family{"DeepseekV4ForCausalLM", "deepseek_v4", read_deepseek_v4},
    Family{"MiniMaxM3ForCausalLM", "minimax_m3", read_minimax_m3},
    Family{"MiniMaxM3SparseForCausalLM", "minimax_m3_vl_text", read_minimax_m3},
    Family{"MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl", read_minimax_m3},
    Family{"Glm5NextForConditionalGeneration", "glm5_next", read_glm5_next},
    Family{"DeciLMForCausalLM", "nemotron-nas", read_decilm},
    Family{"Step3p5ForCausalLM", "step3p5", read_step3},
    Family{"Step3p7ForConditionalGeneration", "step3p7", read_step3},
    Family{"Step3p7FlashForCausalLM", "step3p7", read_step3},
    Family{"LongcatFlashForCausalLM", "longcat_flash", read_longcat},
    Family{"DeepseekForCausalLM", "deepseek", read_deepseek},
    Family{"DeepseekV2ForCausalLM", "deepseek_v2", read_deepseek_v2},
    Family{"DeepseekV3ForCausalLM", "deepseek_v3", read_deepseek_v3},
    Family{"DeepseekV32ForCausalLM", "deepseek_v32", read_deepseek_v32},
    Family{"GlmMoeDsaForCausalLM", "glm_moe_dsa", read_glm_moe_dsa},
    Family{"KimiK25ForConditionalGeneration", "kimi_k25", read_deepseek_v3},
    Family{"Kimi_K25ForConditionalGeneration", "kimi_k25", read_deepseek_v3},
    Family{"Glm4MoeLiteForCausalLM", "glm4_moe_lite", read_glm4_moe_lite},
    Family{"Glm4MoeForCausalLM", "glm4_moe", read_glm4_moe},
    Family{"Mistral4ForCausalLM", "mistral4", read_mistral4},
    Family{"Qwen2MoeForCausalLM", "qwen2_moe", read_qwen2_moe},
    Family{"PhimoeForCausalLM", "phimoe", read_phimoe},
    Family{"PhiMoEForCausalLM", "phimoe", read_phimoe},
    Family{"BailingMoeForCausalLM", "bailing_moe", read_bailing_moe},
    Family{"BailingMoeV2ForCausalLM", "bailing_moe_v2", read_bailing_moe_v2},
    Family{"InternLM3ForCausalLM", "internlm3", read_internlm3},
    Family{"GlmForCausalLM", "glm", read_glm},
    Family{"Glm4ForCausalLM", "glm4", read_glm4},
    Family{"Starcoder2ForCausalLM", "starcoder2", read_starcoder2},
    Family{"GPTNeoXForCausalLM", "gpt_neox", read_gpt_neox},
    Family{"OPTForCausalLM", "opt", read_opt},
    Family{"MixtralForCausalLM", "mixtral", read_mixtral},
    Family{"MiniMaxM2ForCausalLM", "minimax_m2", read_minimax_m2},
    Family{"MiMoForCausalLM", "mimo", read_qwen2},
    Family{"MiMoV2FlashForCausalLM", "mimo_v2_flash", read_mimo_v2_flash},
    Family{"HYV3ForCausalLM", "hy_v3", read_hy_v3},
    Family{"Dots1ForCausalLM", "dots1", read_dots1},
    Family{"SeedOssForCausalLM", "seed_oss", read_seed_oss},
    Family{"SmolLM3ForCausalLM", "smollm3", read_smollm3},
    Family{"Ernie4_5ForCausalLM", "ernie4_5", read_ernie},
    Family{"Olmo2ForCausalLM", "olmo2", read_olmo2},
    Family{"Olmo3ForCausalLM", "olmo3", read_olmo3},
    Family{"Exaone4ForCausalLM", "exaone4", read_exaone4},
    Family{"MistralForCausalLM", "mistral", read_mistral},
    Family{"Mistral3ForConditionalGeneration", "mistral3", read_mistral},
    Family{"Ministral3ForCausalLM", "ministral3", read_mistral},
    Family{"Gemma3ForCausalLM", "gemma3_text", read_gemma3},
    Family{"Gemma3ForConditionalGeneration", "gemma3", read_gemma3},
    Family{"Gemma4ForCausalLM", "gemma4_text", read_gemma4},
    Family{"Gemma4ForConditionalGeneration", "gemma4", read_gemma4},
    Family{"Gemma4UnifiedForConditionalGeneration", "gemma4_unified", read_gemma4},
    Family{"GptOssForCausalLM", "gpt_oss", read_gpt_oss},
    Family{"Llama4ForCausalLM", "llama4_text", read_llama4},
    Family{"Llama4ForConditionalGeneration", "llama4", read_llama4},
    Family{"Phi3ForCausalLM", "phi3", read_phi3},
    Family{"FalconForCausalLM", "falcon", read_falcon},
    Family{"RWForCausalLM", "RefinedWeb", read_falcon},
    Family{"ChatGLMModel", "chatglm", read_chatglm},
    Family{"ChatGLMForConditionalGeneration", "chatglm", read_chatglm},
    Family{"QWenLMHeadModel", "qwen", read_qwen1},
    Family{"InternLMForCausalLM", "internlm", read_internlm},
    Family{"BaichuanForCausalLM", "baichuan", read_baichuan},
    Family{"BaiChuanForCausalLM", "baichuan", read_baichuan},
};

constexpr std::string_view kByShapes =
    "describe the network by its shapes for a lower bound (docs/recipes/your_network.md)";
constexpr std::array kUnmodelled{
    Unmodelled{"Qwen4ExpForConditionalGeneration",
               "embeddings of n-grams (ple_layer_ids) and residual streams of low rank (hc_lowrank)", kByShapes},
    Unmodelled{"Zamba2ForCausalLM", "layers that share the weights of one attention", kByShapes},
    Unmodelled{"MiniMaxText01ForCausalLM", "lightning attention",
               "describe the network by its shapes with \"delta_net\""},
};

}  // namespace

const Unmodelled* unmodelled(std::string_view architecture) {
  const auto it = std::find_if(kUnmodelled.begin(), kUnmodelled.end(),
                               [&](const Unmodelled& u) { return u.architecture == architecture; });
  return it == kUnmodelled.end() ? nullptr : &*it;
}

std::span<const Family> families() { return kFamilies; }

const Family* family(std::string_view architecture) {
  const auto it =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.architecture == architecture; });
  return it == kFamilies.end() ? nullptr : &*it;
}

}  // namespace draftline::config
