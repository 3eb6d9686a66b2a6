# SPDX-License-Identifier: Apache-2.0
"""The networks of tools/make_fixtures.py: how each is built, small, and in which format it is stored."""
import numpy
import safetensors
import torch
import transformers

PINNED = {"torch": "2.7.1", "transformers": "4.57.6", "safetensors": "0.6.2", "numpy": "2.2.6"}
NEWER = {"torch": "2.15.0", "transformers": "5.23.0", "safetensors": "0.8.0", "numpy": "2.4.6"}
USED = {m.__name__: m.__version__.split("+")[0] for m in (torch, transformers, safetensors, numpy)}
VOCABULARY = 96

COMMON = dict(vocab_size=VOCABULARY, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0)

# Sizes differ wherever the architecture lets them, so that a mix-up shows in a shape.
NETWORKS = {
    # Grouped queries; llama3 rope scaling whose three ranges (kept, blended, stretched) all occur: wavelengths of the
    # four frequencies are 6, 30, 140, 664 and the bounds 64 / 4 and 64 / 1.
    "llama": dict(
        make=transformers.LlamaForCausalLM, dtype=torch.float32,
        config=transformers.LlamaConfig(
            hidden_size=48, intermediate_size=36, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
            rms_norm_eps=1e-5, rope_theta=500.0,
            rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                              original_max_position_embeddings=64), **COMMON)),
    # A head_dim of its own, linear rope scaling, fp16.
    "mistral": dict(
        make=transformers.MistralForCausalLM, dtype=torch.float16,
        config=transformers.MistralConfig(
            hidden_size=40, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            head_dim=8, rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=None,
            rope_scaling=dict(rope_type="linear", factor=2.0), **COMMON)),
    # Biases on q, k and v; LM head tied to the embedding; several files.
    "qwen2": dict(
        make=transformers.Qwen2ForCausalLM, dtype=torch.float32, shard="40KB",
        config=transformers.Qwen2Config(
            hidden_size=32, intermediate_size=72, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=1,
            rms_norm_eps=1e-6, rope_theta=1000000.0, tie_word_embeddings=True, use_sliding_window=False, **COMMON)),
    # Norms on each head of q and k; 4 heads of 16 columns are more than the hidden size; bf16.
    "qwen3": dict(
        make=transformers.Qwen3ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Qwen3Config(
            hidden_size=40, intermediate_size=72, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
            head_dim=16, rms_norm_eps=1e-6, rope_theta=1000000.0, attention_bias=False, **COMMON)),
    # q, k, v in one matrix, gate and up in another.
    "phi3": dict(
        make=transformers.Phi3ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Phi3Config(
            hidden_size=48, intermediate_size=56, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
            rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=None, resid_pdrop=0.0, embd_pdrop=0.0,
            **(COMMON | dict(original_max_position_embeddings=256)))),
    # Two of five experts in every layer.
    "qwen3_moe": dict(
        make=transformers.Qwen3MoeForCausalLM, dtype=torch.bfloat16,
        config=transformers.Qwen3MoeConfig(
            hidden_size=32, intermediate_size=80, moe_intermediate_size=24, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True,
            decoder_sparse_step=1, mlp_only_layers=[], rms_norm_eps=1e-6, rope_theta=10000.0, attention_bias=False,
            **COMMON)),
    # Latent attention whose queries come from the hidden state, as V2-Lite's; experts of the best of three groups,
    # behind a dense layer.
    "deepseek_v2": dict(
        make=transformers.DeepseekV2ForCausalLM, dtype=torch.bfloat16,
        config=transformers.DeepseekV2Config(
            hidden_size=32, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=4, q_lora_rank=None, kv_lora_rank=18, qk_nope_head_dim=10, qk_rope_head_dim=6,
            v_head_dim=12, head_dim=6, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=2,
            first_k_dense_replace=1, topk_method="group_limited_greedy", n_group=3, topk_group=2, norm_topk_prob=False,
            routed_scaling_factor=1.7, rms_norm_eps=1e-6, rope_theta=10000.0, attention_bias=False, mlp_bias=False,
            **COMMON)),
    # Latent queries, YaRN with its factor on scores, experts scored by sigmoid and chosen with a bias.
    "deepseek_v3": dict(
        make=transformers.DeepseekV3ForCausalLM, dtype=torch.bfloat16,
        config=transformers.DeepseekV3Config(
            hidden_size=32, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=4, q_lora_rank=22, kv_lora_rank=18, qk_nope_head_dim=10, qk_rope_head_dim=8,
            v_head_dim=12, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, first_k_dense_replace=1,
            n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.5, rms_norm_eps=1e-6,
            rope_theta=500.0, attention_bias=False,
            rope_scaling=dict(rope_type="yarn", factor=8.0, beta_fast=4.0, beta_slow=1.0, mscale=0.8,
                              mscale_all_dim=1.0, original_max_position_embeddings=32), **COMMON)),
    # Half of a head's columns rotated, biases on q, k and v, norms of their heads.
    "glm4_moe": dict(
        make=transformers.Glm4MoeForCausalLM, dtype=torch.bfloat16,
        config=transformers.Glm4MoeConfig(
            hidden_size=32, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3, num_attention_heads=6,
            num_key_value_heads=2, head_dim=8, partial_rotary_factor=0.5, n_routed_experts=6, n_shared_experts=1,
            num_experts_per_tok=2, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True,
            routed_scaling_factor=1.5, use_qk_norm=True, attention_bias=True, rms_norm_eps=1e-5, rope_theta=10000.0,
            **COMMON)),
    "mixtral": dict(
        make=transformers.MixtralForCausalLM, dtype=torch.bfloat16,
        config=transformers.MixtralConfig(
            hidden_size=32, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            num_local_experts=5, num_experts_per_tok=2, rms_norm_eps=1e-5, rope_theta=1000000.0, sliding_window=None,
            **COMMON)),
    # A window shorter than the longer prompt, in all layers.
    "mistral_window": dict(
        make=transformers.MistralForCausalLM, dtype=torch.bfloat16,
        config=transformers.MistralConfig(
            hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=7, **COMMON)),
    # YaRN, whose ramp lies within the four frequencies; biases on q, k, v and the attention's output.
    "llama_yarn": dict(
        make=transformers.LlamaForCausalLM, dtype=torch.bfloat16,
        config=transformers.LlamaConfig(
            hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            rms_norm_eps=1e-5, rope_theta=500.0, attention_bias=True,
            rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=8.0,
                              beta_slow=1.0), **COMMON)),
    # LongRoPE on half of the columns; both prompts are longer than the original context.
    "phi3_longrope": dict(
        make=transformers.Phi3ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Phi3Config(
            hidden_size=48, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3,
            rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=None, resid_pdrop=0.0, embd_pdrop=0.0,
            partial_rotary_factor=0.5,
            rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.5, 6.0]),
            **(COMMON | dict(original_max_position_embeddings=4)))),
    # Windows of 6 but in each third layer; norms behind sublayers; scales of embeddings and queries; two ropes.
    "gemma3": dict(
        make=transformers.Gemma3ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Gemma3TextConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2,
            head_dim=16, query_pre_attn_scalar=24, sliding_window=6, rope_theta=1000000.0,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 1 + ["sliding_attention"] * 2,
            rope_scaling=dict(rope_type="linear", factor=8.0), rope_local_base_freq=500.0, **COMMON)),
    # Chunks of 6 but in each second layer, which has no rope and whose queries grow; no layer has experts.
    "llama4": dict(
        make=transformers.Llama4ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Llama4TextConfig(
            hidden_size=32, intermediate_size=40, intermediate_size_mlp=56, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, moe_layers=[], num_local_experts=2, attention_chunk_size=6,
            no_rope_layer_interval=2, attn_temperature_tuning=True, floor_scale=8, attn_scale=0.3, rms_norm_eps=1e-5,
            rope_theta=500.0, **COMMON)),
    # Chunks, a dense layer between two of experts that are scored by sigmoid on what they read, and one for all tokens.
    "llama4_experts": dict(
        make=transformers.Llama4ForCausalLM, dtype=torch.bfloat16,
        config=transformers.Llama4TextConfig(
            hidden_size=32, intermediate_size=24, intermediate_size_mlp=40, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, moe_layers=[0, 2], num_local_experts=4, num_experts_per_tok=2,
            attention_chunk_size=16, no_rope_layer_interval=3, use_qk_norm=False, rms_norm_eps=1e-5, rope_theta=500.0,
            **COMMON)),
    # Windows of 6 in every other layer, sinks, biases everywhere, YaRN that is not truncated, clamped experts.
    "gpt_oss": dict(
        make=transformers.GptOssForCausalLM, dtype=torch.bfloat16,
        config=transformers.GptOssConfig(
            hidden_size=32, intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            head_dim=16, num_local_experts=5, num_experts_per_tok=2, sliding_window=6, rope_theta=500.0,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_scaling=dict(rope_type="yarn", factor=8.0, beta_fast=8.0, beta_slow=1.0, truncate=False,
                              original_max_position_embeddings=32), **COMMON)),
}


# Experts' matrices in MXFP4, as they are published; with several blocks in a row, or one.
NETWORKS["gpt_oss_mxfp4"] = dict(
    make=transformers.GptOssForCausalLM, dtype=torch.bfloat16, mxfp4=True,
    config=transformers.GptOssConfig(
        hidden_size=96, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, num_local_experts=3, num_experts_per_tok=2, sliding_window=6, rope_theta=500.0,
        layer_types=["sliding_attention", "full_attention"], rope_scaling=None, **COMMON))

# Gated delta networks, three to one layer of gated attention; norms are stored less 1, but for those behind the delta
# rule; experts beside a shared one with a gate.
HYBRID = dict(
    num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16, partial_rotary_factor=0.25,
    linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=12,
    linear_conv_kernel_dim=4, rms_norm_eps=1e-6, **COMMON)
NETWORKS["qwen3_next"] = dict(
    make=transformers.Qwen3NextForCausalLM, dtype=torch.bfloat16, norms_less_one=True,
    config=transformers.Qwen3NextConfig(
        hidden_size=32, intermediate_size=48, moe_intermediate_size=20, shared_expert_intermediate_size=28,
        num_experts=6, num_experts_per_tok=2, rope_theta=10000.0, attention_bias=False, **HYBRID))

if USED == NEWER:  # of which the older versions know nothing
    HYBRID.pop("partial_rotary_factor")
    QWEN3_5 = dict(
        hidden_size=32, attention_bias=False,
        rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.25,
                             mrope_section=[1, 1, 0], mrope_interleaved=True), **HYBRID)
    EXPERTS = dict(moe_intermediate_size=20, shared_expert_intermediate_size=28, num_experts=6, num_experts_per_tok=2)
    GEMMA4 = dict(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, num_global_key_value_heads=1,
        head_dim=8, global_head_dim=16, attention_k_eq_v=True, hidden_size_per_layer_input=0, sliding_window=7,
        final_logit_softcapping=2.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention", "full_attention"],
        rope_parameters=dict(
            full_attention=dict(rope_type="proportional", rope_theta=900.0, partial_rotary_factor=0.25),
            sliding_attention=dict(rope_type="default", rope_theta=100.0)), **COMMON)
    QWEN3_VL = dict(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        rms_norm_eps=1e-6, attention_bias=False,
        rope_parameters=dict(rope_type="default", rope_theta=500.0, mrope_section=[3, 3, 2], mrope_interleaved=True),
        **COMMON)
    SEES = dict(
        tie_word_embeddings=False,
        vision_config=dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, patch_size=2,
                           temporal_patch_size=1, spatial_merge_size=1, out_hidden_size=32, num_position_embeddings=4,
                           deepstack_visual_indexes=[0]))
    SPARSE = dict(
        hidden_size=32, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=4, q_lora_rank=22, kv_lora_rank=18, qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=12,
        n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, first_k_dense_replace=1, norm_topk_prob=True,
        routed_scaling_factor=2.5, rms_norm_eps=1e-5, index_topk=9, index_head_dim=14, **COMMON)
    NEMOTRON_H = dict(
        hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=12, mamba_num_heads=6, mamba_head_dim=8,
        n_groups=2, ssm_state_size=10, conv_kernel=4, chunk_size=16, **COMMON)
    GRANITE = dict(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, mamba_n_heads=8,
        mamba_d_head=8, mamba_d_state=10, mamba_chunk_size=16, embedding_multiplier=3.0, attention_multiplier=0.2,
        residual_multiplier=0.4, logits_scaling=0.7, **COMMON)
    FALCON_H1 = dict(
        hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        mamba_d_ssm=48, mamba_n_heads=6, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=10, mamba_chunk_size=16,
        embedding_multiplier=1.5, lm_head_multiplier=0.7, key_multiplier=0.6, attention_in_multiplier=0.9,
        attention_out_multiplier=1.2, ssm_in_multiplier=1.3, ssm_out_multiplier=0.8, mlp_multipliers=[0.7, 1.4],
        ssm_multipliers=[0.6, 0.7, 1.1, 1.2, 0.5], rope_parameters=dict(rope_type="default", rope_theta=500.0),
        **COMMON)
    NETWORKS = {
        # An indexer chooses 9 tokens, with enough heads that no score is 0; YaRN, whose factor its vectors have too.
        "deepseek_v32": dict(
            make=transformers.DeepseekV32ForCausalLM, dtype=torch.bfloat16,
            config=transformers.DeepseekV32Config(
                index_n_heads=18, n_group=4, topk_group=2,
                rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=8.0, beta_fast=4.0, beta_slow=1.0,
                                     mscale=0.8, mscale_all_dim=1.0, original_max_position_embeddings=32), **SPARSE)),
        # The same without YaRN and groups, and the pairs of rope lie side by side in the indexer too.
        "glm_moe_dsa": dict(
            make=transformers.GlmMoeDsaForCausalLM, dtype=torch.bfloat16,
            config=transformers.GlmMoeDsaConfig(
                index_n_heads=22, n_group=1, topk_group=1,
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **SPARSE)),
        # GLM-5.2: the second layer reads the tokens that the first one's indexer chose.
        "glm_moe_dsa_shared": dict(
            make=transformers.GlmMoeDsaForCausalLM, dtype=torch.bfloat16,
            config=transformers.GlmMoeDsaConfig(
                index_n_heads=22, n_group=1, topk_group=1, indexer_types=["full", "shared", "full"],
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **SPARSE)),
        # Biases on q, k and v alone, and a head_dim of its own.
        "seed_oss": dict(
            make=transformers.SeedOssForCausalLM, dtype=torch.bfloat16,
            config=transformers.SeedOssConfig(
                hidden_size=40, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, head_dim=12, rope_parameters=dict(rope_type="default", rope_theta=500.0),
                tie_word_embeddings=False, **COMMON)),
        # The second and the fourth layer have no rope, and see a window instead.
        "smollm3": dict(
            make=transformers.SmolLM3ForCausalLM, dtype=torch.bfloat16,
            config=transformers.SmolLM3Config(
                hidden_size=40, intermediate_size=56, num_hidden_layers=4, num_attention_heads=4,
                num_key_value_heads=2, no_rope_layer_interval=2, use_sliding_window=True, sliding_window=7,
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # Experts with a bias on the choice, behind one dense layer, and norms of each head.
        "dots1": dict(
            make=transformers.Dots1ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Dots1Config(
                hidden_size=40, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=2, n_shared_experts=2, n_routed_experts=8,
                num_experts_per_tok=3, first_k_dense_replace=1, n_group=4, topk_group=2, norm_topk_prob=True,
                routed_scaling_factor=2.5, sliding_window=None,
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # The pairs of rope lie side by side in each head.
        "ernie4_5": dict(
            make=transformers.Ernie4_5ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Ernie4_5Config(
                hidden_size=40, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4,
                num_key_value_heads=2, head_dim=12, rope_parameters=dict(rope_type="default", rope_theta=500.0),
                **COMMON)),
        # Experts under names of their own, behind one dense layer.
        "hy_v3": dict(
            make=transformers.HYV3ForCausalLM, dtype=torch.bfloat16,
            config=transformers.HYV3Config(
                hidden_size=40, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=2, head_dim=12, num_experts=6, num_experts_per_tok=2,
                num_shared_experts=1, rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # Norms behind each sublayer alone, and of all heads at once.
        "olmo2": dict(
            make=transformers.Olmo2ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Olmo2Config(
                hidden_size=40, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4,
                num_key_value_heads=2, rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # The same with windows in three of four layers, and YaRN in the others.
        "olmo3": dict(
            make=transformers.Olmo3ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Olmo3Config(
                hidden_size=40, intermediate_size=56, num_hidden_layers=4, num_attention_heads=4,
                num_key_value_heads=2, sliding_window=7,
                rope_parameters=dict(
                    full_attention=dict(rope_type="yarn", rope_theta=500.0, factor=8.0, beta_fast=4.0, beta_slow=1.0,
                                        attention_factor=1.2, original_max_position_embeddings=32),
                    sliding_attention=dict(rope_type="default", rope_theta=500.0)), **COMMON)),
        # Norms behind each sublayer and of each head; windows in three of four layers, and no rope in the others.
        "exaone4": dict(
            make=transformers.Exaone4ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Exaone4Config(
                hidden_size=40, intermediate_size=56, num_hidden_layers=4, num_attention_heads=4,
                num_key_value_heads=2, sliding_window=7,
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # GLM-4.7-Flash: latent attention and GLM's router, with a bias on the choice.
        "glm4_moe_lite": dict(
            make=transformers.Glm4MoeLiteForCausalLM, dtype=torch.bfloat16,
            config=transformers.Glm4MoeLiteConfig(
                hidden_size=32, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=4, q_lora_rank=22, kv_lora_rank=18, qk_nope_head_dim=10,
                qk_rope_head_dim=8, v_head_dim=12, n_routed_experts=6, n_shared_experts=1, num_experts_per_tok=2,
                n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8, rms_norm_eps=1e-5,
                rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON)),
        # DeepSeek-V3 within a network that also sees, under the names of transformers 5.
        "kimi_k25": dict(
            make=transformers.Kimi_K25ForConditionalGeneration, dtype=torch.bfloat16,
            saved=dict(save_original_format=False),
            config=transformers.Kimi_K25Config(
                text_config=dict(
                    model_type="deepseek_v3", hidden_size=32, intermediate_size=56, moe_intermediate_size=20,
                    num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=22, kv_lora_rank=18,
                    qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=12, n_routed_experts=6, n_shared_experts=1,
                    num_experts_per_tok=2, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True,
                    routed_scaling_factor=2.8, rms_norm_eps=1e-5, tie_word_embeddings=False,
                    rope_parameters=dict(rope_type="default", rope_theta=500.0), **COMMON),
                vision_config=dict(num_hidden_layers=1, hidden_size=16, intermediate_size=8, num_attention_heads=2,
                                   patch_size=2, pos_emb_height=2, pos_emb_width=2, pos_emb_time=1),
                projection_hidden_size=16, tie_word_embeddings=False)),
        # Queries that grow with the text, from the 8th token on; YaRN.
        "ministral3": dict(
            make=transformers.Ministral3ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Ministral3Config(
                hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                head_dim=16, rms_norm_eps=1e-5, sliding_window=None,
                rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=32.0, beta_fast=4.0, beta_slow=1.0,
                                     mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=8,
                                     llama_4_scaling_beta=0.3), **COMMON)),
        # Norms of all heads of q, and of k, at once; half of a head's columns rotated; experts chosen with a bias.
        "minimax_m2": dict(
            make=transformers.MiniMaxM2ForCausalLM, dtype=torch.bfloat16,
            config=transformers.MiniMaxM2Config(
                hidden_size=32, intermediate_size=20, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
                head_dim=8, num_local_experts=6, num_experts_per_tok=2, rms_norm_eps=1e-6,
                rope_parameters=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=0.5), **COMMON)),
        # Windows whose layers have twice the KV heads, sinks and a rope of their own; values of fewer columns than keys.
        "mimo_v2_flash": dict(
            make=transformers.MiMoV2FlashForCausalLM, dtype=torch.bfloat16,
            config=transformers.MiMoV2FlashConfig(
                hidden_size=40, intermediate_size=56, moe_intermediate_size=20, num_hidden_layers=4,
                num_attention_heads=4, num_key_value_heads=1, head_dim=24, v_head_dim=10, sliding_window=7,
                layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
                n_routed_experts=6, num_experts_per_tok=2, rms_norm_eps=1e-5,
                rope_parameters=dict(
                    full_attention=dict(rope_type="default", rope_theta=900.0, partial_rotary_factor=0.334),
                    sliding_attention=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)),
                **COMMON)),
        # Layers without a window have wider heads, fewer of keys, whose keys are their values before the norms; each
        # layer's output is scaled, and logits are capped.
        "gemma4": dict(
            make=transformers.Gemma4ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Gemma4TextConfig(intermediate_size=56, tie_word_embeddings=False, **GEMMA4)),
        # The same with experts beside each dense MLP.
        "gemma4_moe": dict(
            make=transformers.Gemma4ForCausalLM, dtype=torch.bfloat16,
            config=transformers.Gemma4TextConfig(
                intermediate_size=56, enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=20,
                **GEMMA4)),
        # Networks that also see; the text's positions alone are asked for.
        "qwen2_5_vl": dict(
            make=transformers.Qwen2_5_VLForConditionalGeneration, dtype=torch.bfloat16,
            config=transformers.Qwen2_5_VLConfig(
                text_config=dict(
                    hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
                    num_key_value_heads=2, rms_norm_eps=1e-6,
                    rope_parameters=dict(rope_type="default", rope_theta=500.0, mrope_section=[1, 1, 2]), **COMMON),
                vision_config=dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, patch_size=2,
                                   temporal_patch_size=1, spatial_merge_size=1, out_hidden_size=32,
                                   fullatt_block_indexes=[0]))),
        "qwen3_vl": dict(
            make=transformers.Qwen3VLForConditionalGeneration, dtype=torch.bfloat16,
            config=transformers.Qwen3VLConfig(text_config=dict(intermediate_size=40, **QWEN3_VL), **SEES)),
        # Experts in one tensor for all, as published: inputs before outputs.
        "qwen3_vl_moe": dict(
            make=transformers.Qwen3VLMoeForConditionalGeneration, dtype=torch.bfloat16, inputs_first=True,
            config=transformers.Qwen3VLMoeConfig(
                text_config=dict(moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True,
                                 intermediate_size=40, **QWEN3_VL), **SEES)),
        # The same with dense MLPs, and the delta networks' inputs in matrices of their own.
        "qwen3_5": dict(
            make=transformers.Qwen3_5ForCausalLM, dtype=torch.bfloat16, norms_less_one=True,
            config=transformers.Qwen3_5TextConfig(intermediate_size=56, **QWEN3_5)),
        # Experts, in tensors of their own.
        "qwen3_5_moe": dict(
            make=transformers.Qwen3_5MoeForCausalLM, dtype=torch.bfloat16, norms_less_one=True,
            config=transformers.Qwen3_5MoeTextConfig(**EXPERTS, **QWEN3_5)),
        # A network that also sees, as published: all experts of a layer in one tensor.
        "qwen3_5_moe_vision": dict(
            make=transformers.Qwen3_5MoeForConditionalGeneration, dtype=torch.bfloat16, norms_less_one=True,
            saved=dict(save_original_format=False),
            config=transformers.Qwen3_5MoeConfig(
                text_config=dict(**EXPERTS, **QWEN3_5), tie_word_embeddings=False,
                vision_config=dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, patch_size=2,
                                   temporal_patch_size=1, spatial_merge_size=1, out_hidden_size=32,
                                   num_position_embeddings=4))),
        # Layers of one sublayer: state spaces, attention without rope, and MLPs of squared ReLU. Under the names of
        # transformers 5.
        "nemotron_h": dict(
            make=transformers.NemotronHForCausalLM, dtype=torch.bfloat16, saved=dict(save_original_format=False),
            config=transformers.NemotronHConfig(
                intermediate_size=56, hybrid_override_pattern="M-M*-", use_conv_bias=False, **NEMOTRON_H)),
        # Nemotron-3, as published: experts of narrower rows, chosen with a bias, and a wider one for all tokens.
        "nemotron_h_experts": dict(
            make=transformers.NemotronHForCausalLM, dtype=torch.bfloat16,
            config=transformers.NemotronHConfig(
                intermediate_size=56, hybrid_override_pattern="ME*EM", n_routed_experts=6, num_experts_per_tok=2,
                moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, moe_latent_size=24,
                routed_scaling_factor=2.5, **NEMOTRON_H)),
        # Granite 4: state spaces and one layer of attention without rope; experts beside an MLP for all tokens; factors
        # on embeddings, scores, sublayers and logits.
        "granite_hybrid": dict(
            make=transformers.GraniteMoeHybridForCausalLM, dtype=torch.bfloat16,
            config=transformers.GraniteMoeHybridConfig(
                num_local_experts=5, num_experts_per_tok=2, intermediate_size=20, shared_intermediate_size=28,
                layer_types=["linear_attention", "full_attention", "linear_attention"], mamba_n_groups=1,
                tie_word_embeddings=True, **GRANITE)),
        # The same without experts, with rope and several groups of heads.
        "granite_hybrid_dense": dict(
            make=transformers.GraniteMoeHybridForCausalLM, dtype=torch.bfloat16,
            config=transformers.GraniteMoeHybridConfig(
                num_local_experts=0, intermediate_size=56, shared_intermediate_size=56, position_embedding_type="rope",
                layer_types=["full_attention", "linear_attention", "linear_attention"], mamba_n_groups=2,
                mamba_conv_bias=False, rope_parameters=dict(rope_type="default", rope_theta=500.0), **GRANITE)),
        # Attention and a state space side by side, without a norm behind the scan, and factors everywhere.
        "falcon_h1": dict(
            make=transformers.FalconH1ForCausalLM, dtype=torch.bfloat16,
            config=transformers.FalconH1Config(mamba_rms_norm=False, **FALCON_H1)),
        # The same with a norm before the gate.
        "falcon_h1_norm": dict(
            make=transformers.FalconH1ForCausalLM, dtype=torch.bfloat16,
            config=transformers.FalconH1Config(mamba_rms_norm=True, mamba_norm_before_gate=True, **FALCON_H1)),
    }
