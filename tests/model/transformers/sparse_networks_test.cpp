// SPDX-License-Identifier: Apache-2.0
// Networks that choose what they attend to, that keep compressed entries or fixed states, or whose layers differ:
// parameters from their config.json alone against those that their authors print, and bytes of a token by hand.
#include <cmath>

#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

namespace {

json network_of_keys(const char* architecture, json keys) {
  keys["architectures"] = {architecture};
  keys["tie_word_embeddings"] = false;
  return keys;
}

// Two layers are heavily compressed or have the window alone; then every other layer has an indexer.
json deepseek_v4(int hidden, int layers, int heads, int experts, int first) {
  const bool pro = first > 0;
  json c = network_of_keys("DeepseekV4ForCausalLM", {{"hidden_size", hidden},
                                                     {"num_hidden_layers", layers},
                                                     {"num_attention_heads", heads},
                                                     {"num_key_value_heads", 1},
                                                     {"head_dim", 512},
                                                     {"vocab_size", 129280},
                                                     {"moe_intermediate_size", pro ? 3072 : 2048},
                                                     {"n_routed_experts", experts},
                                                     {"n_shared_experts", 1},
                                                     {"num_experts_per_tok", 6},
                                                     {"num_hash_layers", 3},
                                                     {"num_nextn_predict_layers", 1},
                                                     {"q_lora_rank", pro ? 1536 : 1024},
                                                     {"o_groups", pro ? 16 : 8},
                                                     {"o_lora_rank", 1024},
                                                     {"qk_rope_head_dim", 64},
                                                     {"index_n_heads", 64},
                                                     {"index_head_dim", 128},
                                                     {"index_topk", pro ? 1024 : 512},
                                                     {"sliding_window", 128},
                                                     {"hc_mult", 4},
                                                     {"hc_sinkhorn_iters", 20},
                                                     {"scoring_func", "sqrtsoftplus"},
                                                     {"topk_method", "noaux_tc"},
                                                     {"routed_scaling_factor", 2.5},
                                                     {"max_position_embeddings", 1048576}});
  for (int i = 0; i < layers; ++i) c["compress_ratios"].push_back(i < 2 ? first : i % 2 == 0 ? 4 : 128);
  c["compress_ratios"].push_back(0);  // of its MTP module
  return c;
}
json v4_flash() { return deepseek_v4(4096, 43, 64, 256, 0); }
json v4_pro() { return deepseek_v4(7168, 61, 128, 384, 128); }

json minimax_m3() {
  json c = network_of_keys("MiniMaxM3ForCausalLM", {{"hidden_size", 6144},
                                                    {"num_hidden_layers", 60},
                                                    {"num_attention_heads", 64},
                                                    {"num_key_value_heads", 4},
                                                    {"head_dim", 128},
                                                    {"vocab_size", 200064},
                                                    {"dense_intermediate_size", 12288},
                                                    {"moe_intermediate_size", 3072},
                                                    {"shared_intermediate_size", 3072},
                                                    {"n_shared_experts", 1},
                                                    {"num_local_experts", 128},
                                                    {"num_experts_per_tok", 4},
                                                    {"hidden_act", "swigluoai"},
                                                    {"rotary_dim", 64},
                                                    {"rope_theta", 5000000},
                                                    {"num_mtp_modules", 7},
                                                    {"max_position_embeddings", 1048576}});
  json& sparse = c["sparse_attention_config"] = {
      {"sparse_num_index_heads", 4}, {"sparse_index_dim", 128}, {"sparse_block_size", 128}, {"sparse_topk_blocks", 16}};
  for (int i = 0; i < 60; ++i) {
    c["moe_layer_freq"].push_back(i < 3 ? 0 : 1);
    sparse["sparse_attention_freq"].push_back(i < 3 ? 0 : 1);
  }
  return c;
}

json longcat() {
  return network_of_keys("LongcatFlashForCausalLM", {{"hidden_size", 6144},
                                                     {"num_layers", 28},
                                                     {"ffn_hidden_size", 12288},
                                                     {"expert_ffn_hidden_size", 2048},
                                                     {"n_routed_experts", 512},
                                                     {"zero_expert_num", 256},
                                                     {"moe_topk", 12},
                                                     {"num_attention_heads", 64},
                                                     {"q_lora_rank", 1536},
                                                     {"kv_lora_rank", 512},
                                                     {"qk_nope_head_dim", 128},
                                                     {"qk_rope_head_dim", 64},
                                                     {"v_head_dim", 128},
                                                     {"routed_scaling_factor", 6.0},
                                                     {"vocab_size", 131072},
                                                     {"max_position_embeddings", 131072}});
}

json jamba() {
  return network_of_keys("JambaForCausalLM", {{"hidden_size", 4096},
                                              {"intermediate_size", 14336},
                                              {"num_hidden_layers", 32},
                                              {"num_attention_heads", 32},
                                              {"num_key_value_heads", 8},
                                              {"vocab_size", 65536},
                                              {"num_experts", 16},
                                              {"num_experts_per_tok", 2},
                                              {"expert_layer_period", 2},
                                              {"expert_layer_offset", 1},
                                              {"attn_layer_period", 8},
                                              {"attn_layer_offset", 4},
                                              {"mamba_d_state", 16},
                                              {"mamba_d_conv", 4},
                                              {"mamba_expand", 2},
                                              {"mamba_dt_rank", 256},
                                              {"max_position_embeddings", 262144}});
}

// 10 layers with latent attention among 70 with a fixed decay.
json ling_25() {
  return network_of_keys("BailingMoeV2_5ForCausalLM", {{"hidden_size", 8192},
                                                       {"intermediate_size", 18432},
                                                       {"moe_intermediate_size", 2048},
                                                       {"num_hidden_layers", 80},
                                                       {"num_attention_heads", 64},
                                                       {"head_dim", 128},
                                                       {"vocab_size", 157184},
                                                       {"num_experts", 256},
                                                       {"num_shared_experts", 1},
                                                       {"num_experts_per_tok", 8},
                                                       {"n_group", 8},
                                                       {"topk_group", 4},
                                                       {"first_k_dense_replace", 4},
                                                       {"layer_group_size", 8},
                                                       {"group_norm_size", 8},
                                                       {"kv_lora_rank", 512},
                                                       {"q_lora_rank", 1536},
                                                       {"qk_nope_head_dim", 128},
                                                       {"qk_rope_head_dim", 64},
                                                       {"v_head_dim", 128},
                                                       {"max_position_embeddings", 131072}});
}

// 33 of 45 layers have a window of 512 tokens and half as many heads again.
json step_35() {
  json c = network_of_keys("Step3p5ForCausalLM", {{"hidden_size", 4096},
                                                  {"intermediate_size", 11264},
                                                  {"num_hidden_layers", 45},
                                                  {"num_attention_heads", 64},
                                                  {"num_attention_groups", 8},
                                                  {"head_dim", 128},
                                                  {"vocab_size", 128896},
                                                  {"moe_num_experts", 288},
                                                  {"moe_top_k", 8},
                                                  {"moe_intermediate_size", 1280},
                                                  {"share_expert_dim", 1280},
                                                  {"sliding_window", 512},
                                                  {"use_head_wise_attn_gate", true},
                                                  {"moe_router_scaling_factor", 3.0},
                                                  {"num_nextn_predict_layers", 3},
                                                  {"max_position_embeddings", 262144}});
  c["attention_other_setting"] = {{"attention_type", "sliding_attention"},
                                  {"num_attention_heads", 96},
                                  {"num_attention_groups", 8},
                                  {"head_dim", 128}};
  std::string experts;
  for (int i = 0; i < 48; ++i) {
    c["layer_types"].push_back(i % 4 == 0 && i < 45 ? "full_attention" : "sliding_attention");
    if (i >= 3 && i < 45) experts += (experts.empty() ? "" : ",") + std::to_string(i);
  }
  c["moe_layers_enum"] = experts;
  return c;
}

// The widths of Nemotron-Super-49B's layers: how many have each, and whether they attend.
json nemotron_super_49b() {
  json c = network_of_keys("DeciLMForCausalLM", {{"hidden_size", 8192},
                                                 {"num_hidden_layers", 80},
                                                 {"num_attention_heads", 64},
                                                 {"vocab_size", 128256},
                                                 {"rope_theta", 500000},
                                                 {"max_position_embeddings", 131072}});
  const auto add = [&](int layers, double multiple, bool attends) {
    const json attention = attends ? json{{"n_heads_in_group", 8}, {"no_op", false}} : json{{"no_op", true}};
    for (int i = 0; i < layers; ++i)
      c["block_configs"].push_back({{"attention", attention}, {"ffn", {{"ffn_mult", multiple}, {"no_op", false}}}});
  };
  add(48, 5.25, true), add(1, 2.625, true);
  add(1, 5.25, false), add(1, 3.28125, false), add(5, 2.625, false), add(10, 1.3125, false), add(8, 1, false);
  add(6, 0.5, false);
  return c;
}

double bytes_of_token(const TransformerShape& s) { return token_bytes(s, DType::bf16).value; }

struct PublishedNetwork {
  const char* name;
  json config;
  double total, active;  // in thousand millions, as published
  double within;         // of the active ones, which authors round
  double token_bytes;    // by hand
};
std::vector<PublishedNetwork> published_networks() {
  return {
      // An entry of 512 numbers stands for 4 tokens in 21 layers, which have an index's key of 132 bytes, and for 128
      // in 20 others; 2 have the window alone.
      {"DeepSeek-V4-Flash", v4_flash(), 284, 13, 0.05, 21 * (1024 + 132) / 4.0 + 20 * 1024 / 128.0},
      {"DeepSeek-V4-Pro", v4_pro(), 1600, 49, 0.05, 30 * (1024 + 132) / 4.0 + 31 * 1024 / 128.0},
      {"MiniMax-M3", minimax_m3(), 428, 23, 0.05, 60 * 2048 + 57 * 256.0},
      {"LongCat-Flash", longcat(), 560, 27, 0.05, 56 * 1152.0},
      {"Jamba-v0.1", jamba(), 52, 12, 0.03, 4 * 4096.0},
      {"Ling-2.5-1T", ling_25(), 1000, 63, 0.03, 10 * 1152.0},
      {"Step-3.5-Flash", step_35(), 196, 11, 0.05, 12 * 4096.0},
      {"Nemotron-Super-49B", nemotron_super_49b(), 49.9, 49.9, 0.03, 49 * 4096.0},
  };
}

}  // namespace

TEST_CASE("networks that choose, compress or leave out parts have the parameters that their authors print") {
  for (const PublishedNetwork& p : published_networks()) {
    INFO(p.name);
    const TransformerShape s = shape_from(p.config);
    CHECK(parameters(s) / 1e9 == Approx(p.total).epsilon(0.02));
    // Authors count both tables of the vocabulary, the LM head alone, or neither.
    const double active = active_parameters(s) / 1e9, table = head_parameters(s) / 1e9;
    const bool any = std::abs(active - p.active) < p.within * p.active ||
                     std::abs(active + table - p.active) < p.within * p.active ||
                     std::abs(active - table - p.active) < p.within * p.active;
    CHECK(any);
    CHECK(bytes_of_token(s) == p.token_bytes);
  }
}

TEST_CASE("DeepSeek-V4-Pro caches 9.62 GiB of a text of a million tokens, with index keys in 16 bits") {
  TransformerShape s = shape_from(v4_pro());
  for (LayerShape& layer : s.kinds)
    if (auto* a = std::get_if<CompressedAttention>(&layer.attention); a != nullptr && a->indexer)
      a->indexer->keys = DType::bf16;
  CHECK(bytes_of_token(s) * (1 << 20) / (1 << 30) == Approx(9.62).epsilon(0.001));
}

TEST_CASE("DeepSeek-V4's layers differ by the tokens of an entry, and each row reads four residual streams") {
  const auto s = shape_from(v4_flash());
  CHECK((s.layers() == 43 && s.kinds.size() == 3 && s.mtp_modules == 1));
  CHECK((s.layer(0).window() && s.layer(0).compressed()->series() == 0 && !s.layer(0).compressed()->indexer));
  const CompressedAttention &sparse = *s.layer(2).compressed(), &heavy = *s.layer(3).compressed();
  CHECK((sparse.compression == 4 && sparse.overlaps && sparse.indexer->top_k == 512));
  CHECK((heavy.compression == 128 && !heavy.overlaps && !heavy.indexer));
  CHECK((sparse.compressed_columns() == 2 * 2 * (512 + 128) && heavy.compressed_columns() == 2 * 512));
  CHECK((s.layer(2).streams == 4 && s.layer(2).stream_weights() == 24));
  CHECK((s.usual_layer() == s.layer(42) && shares_keys(s) && s.mtp_layer->window()));
  // Two devices divide the heads and their groups; each has the key and the indexer.
  const TransformerShape half = shard(s, {.devices = 2});
  CHECK((half.layer(2).compressed()->heads == 32 && half.layer(2).compressed()->output_groups == 4));
  CHECK(half.layer(2).compressed()->indexer->heads == 64);
}

TEST_CASE("MiniMax-M3 reads 16 blocks of 128 tokens in all layers but the first three, and has several MTP modules") {
  const auto s = shape_from(minimax_m3());
  CHECK((!s.layer(2).heads()->blocks && s.layer(2).dense_mlp()->intermediate == 12288));
  CHECK((s.layer(3).heads()->blocks->tokens() == 2048 && s.layer(3).experts()->shared == 3072));
  CHECK(s.mtp_modules == 7);
  CHECK(contains(mistakes_of(with(minimax_m3(), "attention_output_gate", true)), "#/attention_output_gate"));
}

TEST_CASE("Step-3.5 has more heads where it has a window, and a gate of each head") {
  const auto s = shape_from(step_35());
  CHECK((s.layer(0).heads()->heads.heads == 64 && s.layer(1).heads()->heads.heads == 96));
  CHECK((!s.layer(0).window() && s.layer(1).window()->tokens == 512 && s.layer(0).heads()->gate_each_head));
  CHECK((s.layer(2).dense_mlp() != nullptr && s.layer(3).experts()->count == 288));
  CHECK((s.mtp_modules == 3 && s.mtp_layer->window() && s.mtp_layer->experts() == nullptr));
  CHECK(contains(mistakes_of(with(step_35(), "moe_layers_enum", "3,x")), "must be numbers of layers"));
}

TEST_CASE("parts that a search left out are no parts, and widths are multiples of 256 columns") {
  const auto s = shape_from(nemotron_super_49b());
  CHECK((s.layer(0).dense_mlp()->intermediate == 28672 && s.layer(0).heads()->heads.kv_heads == 8));
  CHECK((!s.layer(60).attends() && s.layer(79).dense_mlp()->intermediate == 2816));  // 8192 / 3, rounded up
  json linear = nemotron_super_49b();
  linear["block_configs"][3]["attention"]["replace_with_linear"] = true;
  CHECK(contains(mistakes_of(linear), "#/block_configs/3/attention/replace_with_linear: is not modelled"));
}

TEST_CASE("LongCat's router passes rows on, so that a token has 8 of 512 experts on average") {
  const auto s = shape_from(longcat());
  CHECK((s.layers() == 56 && s.experts()->per_token == 8 && s.layer(0).experts()->shared == 12288));
  CHECK(s.layer(1).dense_mlp()->intermediate == 12288);
  CHECK(s.notes.size() == 1);
}

TEST_CASE("Jamba keeps a state of 16 numbers for each column, Ling 2.5 one of 128 x 128 for each head") {
  const auto j = shape_from(jamba()), l = shape_from(ling_25());
  CHECK((j.layer(4).attends() && !j.layer(3).attends() && j.layer(3).experts()->per_token == 2));
  CHECK((j.states()->elements() == 8192 * 16 && j.states()->convolved_columns == 8192));
  CHECK((l.layer(7).latent() != nullptr && l.layer(8).states()->elements() == 64 * 128 * 128));
  CHECK((l.states()->convolved_columns == 0 && l.states()->format == DType::fp32));
}

TEST_CASE("GLM-5.3-Flash pools the keys of 16 tokens for its choice, in every fourth layer") {
  json c = network_of_keys("Glm5NextForConditionalGeneration", {{"hidden_size", 4096},
                                                                {"intermediate_size", 12288},
                                                                {"moe_intermediate_size", 2048},
                                                                {"num_hidden_layers", 45},
                                                                {"num_attention_heads", 64},
                                                                {"vocab_size", 154880},
                                                                {"n_routed_experts", 288},
                                                                {"n_shared_experts", 1},
                                                                {"num_experts_per_tok", 8},
                                                                {"q_lora_rank", 1536},
                                                                {"kv_lora_rank", 512},
                                                                {"qk_nope_head_dim", 256},
                                                                {"qk_rope_head_dim", 0},
                                                                {"v_head_dim", 256},
                                                                {"index_topk", 2048},
                                                                {"index_head_dim", 128},
                                                                {"index_n_heads", 32},
                                                                {"index_kpool", 16},
                                                                {"first_k_dense_replace", 3},
                                                                {"hc_mult", 4},
                                                                {"max_position_embeddings", 1048576}});
  const auto s = shape_from(c);
  CHECK((s.layer(3).latent() != nullptr && s.layer(0).delta_net() != nullptr && s.layer(0).streams == 4));
  CHECK(s.layer(3).latent()->dims.indexer->key_bytes().value == 132 / 16.0);
  CHECK(bytes_of_token(s) == 11 * (1024 + 132 / 16.0));
}
