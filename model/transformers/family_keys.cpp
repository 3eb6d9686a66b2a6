// SPDX-License-Identifier: Apache-2.0
// The keys of a config.json that no reader uses, by family: those that cost nothing, and those that each published file
// has. Sources: the configuration classes of transformers 4.57 and 5.24, and published files.
#include <algorithm>
#include <array>

#include "model/transformers/unread_keys.h"

namespace draftline::config {

namespace {

// Of training, of generation, of the hub, and of parts that see or hear, which are not priced.
constexpr KeysOf kOfAllFamilies{
    "", "max_position_embeddings|seq_length|model_max_length|n_positions tie_word_embeddings",
    "architectures model_type auto_map transformers_version torch_dtype dtype use_cache num_parameters name_or_path "
    "draftline_source "
    "initializer_range initializer_factor initializer_cutoff_factor init_std gradient_checkpointing aux_loss_alpha "
    "seq_aux router_z_loss_coef output_router_logits pretraining_tp ep_size tensor_parallel_size z_loss rope_theta "
    "rope_scaling rope_parameters rope_local_base_freq original_max_position_embeddings rms_norm_eps layer_norm_eps "
    "max_sequence_length seq_length model_max_length n_positions initial_context_length "
    "add_cross_attention bad_words_ids begin_suppress_tokens chunk_size_feed_forward cross_attention_hidden_size "
    "diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size exponential_decay_length_penalty "
    "finetuning_task id2label label2id is_decoder is_encoder_decoder length_penalty max_length min_length "
    "no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_attentions output_hidden_states "
    "output_scores prefix problem_type pruned_heads remove_invalid_values repetition_penalty return_dict "
    "return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss "
    "tie_encoder_decoder tokenizer_class top_k top_p torchscript typical_p use_bfloat16 ignore_index "
    "generation_config custom_pipelines language_model_only use_unified_vision_chunk interleave_mm_tokens "
    "fuse_norm fuse_cross_entropy unsloth_fixed unsloth_version num_labels summary_type classifier_dropout "
    "moe_router_dtype moe_router_jitter_eps router_dtype enable_moe_fp32_combine num_logits_to_keep logits_to_keep "
    "moe_shared_expert_overlap expert_bias_update_rate head_bias_init residual_in_fp32 rescale_prenorm_residual "
    "max_window_layers rm_head rm_head_type rm_hidden_size attention_softmax_in_fp32 attn_implementation ffn_act_fn"};

// Beginnings and ends of names with the same meaning everywhere.
constexpr std::array<std::string_view, 17> kPrefixes{
    "_",      "vision_", "audio_",  "image_",     "img_", "video_", "mm_",      "projector_",  "projection_",
    "visual", "speech_", "talker_", "multimodal", "boi_", "eoi_",   "training", "placeholder_"};
constexpr std::array<std::string_view, 14> kSuffixes{
    "_token_id",  "_token_ids", "_token_index", "_token",    "_dropout",     "_dropout_prob", "_pdrop",
    "_loss_coef", "_loss",      "_noise",       "_init_std", "_placeholder", "_loss_weight",  "_aux_coef"};

constexpr std::array kRows{
    KeysOf{"llama", "num_key_value_heads", ""},
    KeysOf{"mistral ministral3 mistral3 mixtral", "num_key_value_heads sliding_window", ""},
    KeysOf{"mimo", "num_nextn_predict_layers", "use_mrope"},
    KeysOf{"qwen3 qwen3_vl qwen3_moe qwen3_vl_moe", "head_dim", ""},
    KeysOf{"qwen3_next",
           "head_dim linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim "
           "linear_conv_kernel_dim",
           "full_attention_interval"},
    KeysOf{"qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text",
           "head_dim linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim "
           "linear_conv_kernel_dim mtp_num_hidden_layers",
           "full_attention_interval output_gate_type mlp_only_layers"},
    KeysOf{"deepseek", "num_key_value_heads n_shared_experts first_k_dense_replace", ""},
    // Latent attention has one width of keys, which files repeat in several ways.
    KeysOf{"deepseek_v2 mistral4", "n_shared_experts first_k_dense_replace|mlp_layer_types q_lora_rank",
           "num_key_value_heads head_dim qk_head_dim num_experts num_local_experts"},
    KeysOf{"deepseek_v3 deepseek_v32 kimi_k25 glm4_moe_lite",
           "n_shared_experts first_k_dense_replace|mlp_layer_types q_lora_rank num_nextn_predict_layers",
           "num_key_value_heads head_dim qk_head_dim layer_types num_experts num_local_experts"},
    KeysOf{"glm_moe_dsa",
           "n_shared_experts first_k_dense_replace|mlp_layer_types q_lora_rank num_nextn_predict_layers "
           "indexer_types|index_topk_pattern|index_topk_freq",
           "num_key_value_heads head_dim qk_head_dim layer_types num_experts num_local_experts index_topk_freq "
           "index_skip_topk_offset index_topk_pattern index_share_for_mtp_iteration"},
    KeysOf{"glm4_moe",
           "head_dim n_shared_experts first_k_dense_replace attention_bias use_qk_norm num_nextn_predict_layers", ""},
    KeysOf{"hy_v3", "head_dim num_shared_experts first_k_dense_replace|mlp_layer_types num_nextn_predict_layers", ""},
    KeysOf{"dots1", "num_key_value_heads n_shared_experts first_k_dense_replace", ""},
    KeysOf{"minimax_m2", "head_dim", "num_mtp_modules mtp_transformer_layers use_mtp"},
    KeysOf{"mimo_v2_flash",
           "head_dim v_head_dim sliding_window|sliding_window_size layer_types|hybrid_layer_pattern "
           "layer_types|sliding_window_size",
           "attention_chunk_size"},
    KeysOf{"seed_oss ernie4_5", "num_key_value_heads head_dim", ""},
    KeysOf{"smollm3", "num_key_value_heads no_rope_layers|no_rope_layer_interval sliding_window", ""},
    KeysOf{"olmo2", "num_key_value_heads", ""},
    KeysOf{"olmo3", "num_key_value_heads sliding_window layer_types", ""},
    KeysOf{"exaone4", "sliding_window", ""},
    KeysOf{
        "gemma3 gemma3_text",
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
        "sliding_window layer_types|sliding_window_pattern",
        ""},
    KeysOf{
        "gemma4 gemma4_text gemma4_unified",
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
        "sliding_window layer_types attention_k_eq_v num_global_key_value_heads|per_layer_config",
        "vocab_size_per_layer_input"},
    KeysOf{
        "gpt_oss",
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
        "num_local_experts num_experts_per_tok|experts_per_token sliding_window rope_scaling|rope_parameters",
        "experts_per_token"},
    KeysOf{"llama4 llama4_text",
           "vocab_size hidden_size intermediate_size intermediate_size_mlp num_hidden_layers num_attention_heads "
           "num_key_value_heads head_dim num_local_experts num_experts_per_tok attention_chunk_size use_qk_norm "
           "interleave_moe_layer_step|moe_layers",
           ""},
    KeysOf{"phi3 phimoe", "num_key_value_heads sliding_window", ""},
    KeysOf{"falcon RefinedWeb", "num_kv_heads|n_head_kv", "parallel_attn"},
    KeysOf{"chatglm", "add_qkv_bias multi_query_attention", "original_rope num_layers_to_keep"},
    KeysOf{"internlm", "bias", ""},
    KeysOf{"internlm3", "head_dim", ""},
    KeysOf{"glm glm4", "head_dim attention_bias", ""},
    KeysOf{"bailing_moe bailing_moe_v2", "num_shared_experts first_k_dense_replace head_dim num_nextn_predict_layers",
           "max_window_layers use_sliding_window sliding_window"},
    KeysOf{"starcoder2", "use_bias sliding_window", "use_norm_bias"},
    KeysOf{"gpt_neox", "use_parallel_residual", ""},
    KeysOf{"opt", "enable_bias", ""},
    KeysOf{"kimi_linear kimi_k3",
           "num_shared_experts|n_shared_experts first_k_dense_replace mla_use_nope moe_renormalize q_lora_rank",
           "num_key_value_heads head_dim qk_head_dim num_nextn_predict_layers moe_layer_freq use_grouped_topk "
           "activation_situ_beta activation_situ_linear_beta latent_moe_use_norm gate_lower_bound num_expert_group "
           "topk_group"},
    KeysOf{"nemotron_h",
           "num_key_value_heads head_dim|attention_head_dim n_groups conv_kernel "
           "hybrid_override_pattern|layers_block_type moe_latent_size num_nextn_predict_layers",
           "chunk_size mamba_num_groups expand time_step_max time_step_floor "
           "mamba_hidden_act use_mamba_kernels mamba_expand sliding_window time_step_rank norm_eps "
           "partial_rotary_factor"},
    KeysOf{"granitemoehybrid",
           "num_key_value_heads mamba_n_groups mamba_d_conv num_local_experts position_embedding_type "
           "layers_block_type|layer_types",
           "mamba_chunk_size mamba_expand init_method normalization_function time_step_min "
           "time_step_max"},
    KeysOf{"falcon_h1", "num_key_value_heads head_dim mamba_n_groups mamba_d_conv mamba_rms_norm",
           "mamba_chunk_size mamba_expand mlp_expansion_factor time_step_floor time_step_min time_step_max"},
    KeysOf{
        "jamba",
        "num_key_value_heads attn_layer_period attn_layer_offset expert_layer_period expert_layer_offset mamba_expand",
        "use_mamba_kernels use_mambapy use_associative_scan num_logits_to_keep calc_logits_for_entire_prompt "
        "mamba_inner_layernorms"},
    KeysOf{"bailing_hybrid bailing_moe_v2_5",
           "num_shared_experts|n_shared_experts first_k_dense_replace|mlp_layer_types layer_group_size|layer_types "
           "head_dim num_nextn_predict_layers|num_mtp_layers",
           "num_key_value_heads qk_head_dim num_expert_group kda_safe_gate kda_lower_bound linear_silu use_linear_silu "
           "linear_rope group_norm_size linear_backend rotary_dim partial_rotary_factor use_rmsnorm use_sliding_window "
           "max_window_layers moe_router_enable_expert_bias moe_router_topk_scaling_factor attn_norm use_qk_norm "
           "mtp_loss_scaling_factor moe_shared_expert_intermediate_size"},
    KeysOf{"deepseek_v4",
           "num_key_value_heads hc_mult compress_ratios|layer_types o_groups o_lora_rank index_topk sliding_window "
           "n_shared_experts num_nextn_predict_layers expert_dtype",
           "compress_rope_theta hc_eps hc_sinkhorn_iters swiglu_limit num_hash_layers mlp_layer_types qk_rope_head_dim "
           "partial_rotary_factor num_local_experts q_head_dim ref_layers"},
    KeysOf{"minimax_m3 minimax_m3_vl minimax_m3_vl_text",
           "num_key_value_heads head_dim n_shared_experts|shared_intermediate_size moe_layer_freq|mlp_layer_types "
           "sparse_attention_config|layer_types num_mtp_modules|num_nextn_predict_layers",
           "intermediate_size swiglu_alpha swiglu_limit use_gemma_norm sparse_disable_index_value sparse_score_type "
           "sparse_init_block sparse_local_block use_sparse_attention index_local_blocks partial_rotary_factor "
           "first_k_dense_replace process_image_mode num_reward_heads mtp_transformer_layers use_mtp attn_type_list"},
    KeysOf{"glm5_next glm5_next_text",
           "n_shared_experts first_k_dense_replace|mlp_layer_types q_lora_rank layer_types|linear_attn_config "
           "indexer_types|index_topk_pattern|index_topk_freq index_kpool hc_mult",
           "num_key_value_heads head_dim qk_head_dim swiglu_limit hc_eps hc_sinkhorn_iters linear_lower_bound "
           "gate_lower_bound safe_gate index_kpool_always_select_tail index_topk_freq index_topk_pattern "
           "index_skip_topk_offset num_local_experts num_nextn_predict_layers moe_layer_freq "
           "index_share_for_mtp_iteration kda_layers full_attn_layers"},
    KeysOf{"nemotron-nas", "block_configs", "intermediate_size num_key_value_heads"},
    KeysOf{"step3p5 step3p7",
           "head_dim layer_types share_expert_dim|share_expert_dims moe_layers_enum|first_k_dense_replace "
           "attention_other_setting|num_sliding_attention_heads num_nextn_predict_layers",
           "swiglu_limits swiglu_limits_shared yarn_only_types partial_rotary_factors need_fp32_gate use_qk_norm "
           "zero_centered sink att_impl_type max_seq_len use_rope_layers num_key_value_heads num_attention_groups "
           "query_pre_attn_scalar mlp_layer_types moe_layer_offset moe_every_n_layer"},
    KeysOf{"longcat_flash", "num_layers zero_expert_num q_lora_rank",
           "num_hidden_layers num_key_value_heads head_dim qk_head_dim zero_expert_type mla_scale_q_lora "
           "mla_scale_kv_lora attention_method router_bias num_experts_per_tok intermediate_size "
           "moe_intermediate_size num_nextn_predict_layers"},
    // A block of a quantization_config.
    KeysOf{
        "quantization_config", "",
        "config_groups format fmt quantization_status global_compression_ratio quant_method producer activation_scheme "
        "desc_act sym damp_percent static_groups true_sequential model_name_or_path model_file_base_name "
        "checkpoint_format pack_dtype version backend do_fuse fuse_max_seq_len exllama_config use_exllama meta "
        "bnb_4bit_compute_dtype bnb_4bit_quant_storage bnb_4bit_quant_type bnb_4bit_use_double_quant "
        "llm_int8_enable_fp32_cpu_offload llm_int8_has_fp16_weight llm_int8_threshold load_in_8bit quantize_embedding "
        "modules_in_block_to_quantize dataset block_name_to_quantize cache_block_outputs max_input_length batch_size "
        "quant_type ignore exclude_modules kv_cache_scheme"},
};

}  // namespace

const KeysOf& keys_of_all() { return kOfAllFamilies; }

const KeysOf& keys_of(std::string_view model_type) {
  static constexpr KeysOf kNone{};
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const KeysOf& k) { return has_word(k.model_types, model_type); });
  return row == kRows.end() ? kNone : *row;
}

bool costs_nothing(const KeysOf& keys, std::string_view key) {
  const auto begins = [&](std::string_view prefix) { return key.starts_with(prefix); };
  const auto ends = [&](std::string_view suffix) { return key.ends_with(suffix); };
  return has_word(keys.costless, key) || std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) ||
         std::any_of(kSuffixes.begin(), kSuffixes.end(), ends);
}

}  // namespace draftline::config
