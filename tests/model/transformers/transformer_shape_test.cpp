// SPDX-License-Identifier: Apache-2.0
// Shapes from config.json: published parameter counts, defaults, refusals with their place, tensor-parallel shares.
#include "model/transformers/transformer_shape.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

TEST_CASE("every shipped transformer has the parameter count that its publisher states") {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kTransformers)) {
    const auto document = Document::from_file(entry.path());
    const auto shape = read_transformer(document.root());
    document.finish();
    INFO(shape.name);
    CHECK(shape.name == entry.path().stem().string());
    CHECK(shape.source.find(", ") != std::string::npos);
    const auto& source = document.root().json().at("draftline_source");
    if (!source.contains("published_parameters")) continue;
    CHECK(parameters(shape) == source.at("published_parameters").get<double>());  // integers below 2^53: exact
    ++compared;
  }
  CHECK(compared == 43);
}

TEST_CASE("parameter counts that are published in words only are met as well as the words say") {
  CHECK(parameters(shape_of("llama-3.1-8b")) == Approx(8.03e9).epsilon(0.001));
  CHECK(parameters(shape_of("qwen3-4b")) == Approx(4.02e9).epsilon(0.001));
  CHECK(parameters(shape_of("internlm-20b")) == Approx(20e9).epsilon(0.01));
  CHECK(parameters(shape_of("baichuan-100b-guess")) > 100e9);
  // Falcon's LM head is its embedding; the checkpoint of 41.8e9 stores it twice.
  const auto falcon = shape_of("falcon-40b");
  CHECK(falcon.tied_embeddings);
  CHECK(parameters(falcon) + head_parameters(falcon) == Approx(41.8e9).epsilon(0.001));
  // "30.5B, 3.3B activated" counts both tables; a decode step does not read the embedding.
  const auto moe = shape_of("qwen3-30b-a3b");
  CHECK(parameters(moe) == Approx(30.5e9).epsilon(0.002));
  CHECK(active_parameters(moe) + head_parameters(moe) == Approx(3.35e9).epsilon(0.002));
  CHECK(active_parameters(shape_of("gpt-oss-120b")) == Approx(5.13e9).epsilon(0.001));  // model card, table 1
  CHECK(active_parameters(shape_of("gpt-oss-20b")) == Approx(3.61e9).epsilon(0.001));
  CHECK(parameters(shape_of("llama-4-scout")) == Approx(107.8e9).epsilon(0.001));  // "109B" with its vision tower
  CHECK(parameters(shape_of("llama-4-maverick")) == Approx(400e9).epsilon(0.003));
  const auto scout = shape_of("llama-4-scout");  // "17B active" counts both tables
  CHECK(active_parameters(scout) + head_parameters(scout) == Approx(17.2e9).epsilon(0.003));
  const auto deepseek = shape_of("deepseek-moe-16b");  // "16.4B, 2.8B activated"
  CHECK(parameters(deepseek) == Approx(16.38e9).epsilon(0.001));
  CHECK(active_parameters(deepseek) + head_parameters(deepseek) == Approx(2.83e9).epsilon(0.01));
  // "671B, 36.7B activated, 0.9B of them the embedding, 0.9B the head"
  const auto v3 = shape_of("deepseek-v3");
  CHECK(active_parameters(v3) + head_parameters(v3) == Approx(37.5e9).epsilon(0.01));
  CHECK(active_parameters(shape_of("kimi-k2")) == Approx(32e9).epsilon(0.02));
  CHECK(parameters(shape_of("glm-4.5")) == Approx(355e9).epsilon(0.01));        // "355B, 32B activated"
  CHECK(active_parameters(shape_of("glm-4.5")) == Approx(32e9).epsilon(0.03));  // of two digits
  CHECK(parameters(shape_of("glm-4.5-air")) == Approx(106e9).epsilon(0.01));    // "106B, 12B activated"
  CHECK(active_parameters(shape_of("glm-4.5-air")) == Approx(12e9).epsilon(0.1));
  const auto mixtral = shape_of("mixtral-8x7b");  // "12.9B active parameters", the embedding among them
  CHECK(active_parameters(mixtral) + head_parameters(mixtral) == Approx(12.9e9).epsilon(0.005));
}

TEST_CASE("the parts of a parameter count add up by head") {
  // hidden 64, 4 heads of 16, 2 KV heads: A = 2*64*64 + 2*64*32 = 12288; F = 3*64*96 = 18432; H = 100*64 = 6400.
  // norms: 2 layers * 2 * 64 + 64 = 320. Untied: 2 * 30720 + 320 + 2 * 6400 = 74560.
  const auto s = shape_from(with(llama(), "num_key_value_heads", 2));
  CHECK(attention_parameters(s.layer(0)) == 12288);
  CHECK(mlp_parameters(s.layer(0)) == 18432);
  CHECK(layer_parameters(s.layer(0)) == 30720);
  const auto with_layers = [&](const auto& change) {
    TransformerShape other = s;
    for (LayerShape& layer : other.kinds) change(layer, std::get<HeadAttention>(layer.attention));
    return other;
  };
  CHECK(head_parameters(s) == 6400);
  CHECK(parameters(s) == 74560);
  CHECK(active_parameters(s) == 74560 - 6400);
  auto tied = s;
  tied.tied_embeddings = true;
  CHECK(parameters(tied) == 74560 - 6400);
  CHECK(active_parameters(tied) == 74560 - 6400);
  // 2 layers * (64 + 2 * 32)
  CHECK(parameters(with_layers([](auto&, HeadAttention& a) { a.qkv_bias = true; })) == 74560 + 256);
  // 2 layers * 2 * 16
  CHECK(parameters(with_layers([](auto&, HeadAttention& a) { a.qk_norm = QkNorm::each_head; })) == 74560 + 64);
  // 2 layers * (64 + 32)
  CHECK(parameters(with_layers([](auto&, HeadAttention& a) { a.qk_norm = QkNorm::all_heads; })) == 74560 + 192);
  // two matrices for three, norms with bias: 2 * 64 * 96 in place of 3, 320 more
  auto old = with_layers([](LayerShape& l, auto&) {
    l.mlp = DenseMlp{96, MlpKind::gelu};
    l.norm = NormKind::layer;
  });
  old.norm = NormKind::layer;
  CHECK(parameters(old) == 74560 - 2 * 64 * 96 + 320);
  // a layer's MLP: 4 * (64 + 3 * 64 * 32) = 24832; 2 of 4 experts idle: 2 * 3 * 64 * 32 = 12288
  auto sparse = with_layers([](LayerShape& l, auto&) { l.mlp = Experts{4, 2, 32, true}; });
  CHECK(mlp_parameters(sparse.layer(0)) == 24832);
  CHECK(parameters(sparse) - head_parameters(sparse) - active_parameters(sparse) == 2 * 12288);
  // 3 * 64 * 10 = 1920 more, which no token leaves out
  sparse = with_layers([](LayerShape& l, auto&) { l.mlp = Experts{4, 2, 32, true, 10}; });
  CHECK(mlp_parameters(sparse.layer(0)) == 24832 + 1920);
  CHECK(parameters(sparse) - head_parameters(sparse) - active_parameters(sparse) == 2 * 12288);
  sparse.resize_layers(1);
  sparse.add_layer(s.layer(0));
  CHECK(matrix_parameters(sparse) == 2 * 12288 + 18432 + 24832 + 1920);
  CHECK(parameters(sparse) - head_parameters(sparse) - active_parameters(sparse) == 12288);
}

TEST_CASE("absent keys mean what transformers takes them to mean") {
  const auto s = shape_from(llama());
  CHECK(s.name == "tiny");  // the folder of a config.json
  CHECK(s.architecture == "LlamaForCausalLM");
  CHECK(s.usual_heads() == AttentionHeads{4, 4, 16, 16});
  CHECK_FALSE(s.tied_embeddings);
  CHECK((s.norm_epsilon == 1e-6 && s.layer(0).norm_epsilon == 1e-6));
  CHECK(rope_of(s) == Rope{10000, 16});
  CHECK(s.max_positions == 2048);
  CHECK_FALSE(heads_of(s).qkv_bias);
  CHECK(shape_from(with(llama(), "num_key_value_heads", nullptr)).usual_heads().kv_heads == 4);
  CHECK(shape_from(with(llama(), "head_dim", 32)).usual_heads().q_columns() == 128);
  auto old = llama();
  old.erase("architectures");
  CHECK(shape_from(with(old, "model_type", "llama")).architecture == "LlamaForCausalLM");
  auto qwen = with(with(llama(), "architectures", {"Qwen3ForCausalLM"}), "num_key_value_heads", 2);
  CHECK(shape_from(qwen).usual_heads().head_dim == 128);
  CHECK(heads_of(shape_from(qwen)).qk_norm == QkNorm::each_head);
  CHECK(heads_of(shape_from(with(qwen, "architectures", {"Qwen2ForCausalLM"}))).qkv_bias);
}

TEST_CASE("rope's base and scaling are read in the old manner and the new") {
  const auto rope = [](const char* key, json value) {
    return rope_of(shape_from(with(llama(), key, std::move(value))));
  };
  CHECK(rope("rope_theta", 5e5).theta == 5e5);
  CHECK(rope("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 7e5}}).theta == 7e5);
  const json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 8192}};
  const RopeScaling expected{RopeScaling::Kind::llama3, 8, 1, 4, 8192};
  CHECK(rope("rope_scaling", scaling).scaling == expected);
  CHECK(rope("rope_parameters", scaling).scaling == expected);
  CHECK(rope_of(shape_of("llama-3.1-8b")).scaling == expected);
  const auto linear = rope("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}).scaling;
  REQUIRE(linear);
  CHECK(linear->kind == RopeScaling::Kind::linear);
  CHECK(linear->factor == 2);
  CHECK_FALSE(rope("rope_scaling", nullptr).scaling);
  CHECK(contains(
      mistakes_of(with(llama(), "rope_scaling", {{"rope_type", "xpos"}, {"factor", 4.0}})),
      "config.json#/rope_scaling/rope_type: rope scaling \"xpos\" is not modelled; known: default, linear, llama3"));
  CHECK(contains(mistakes_of(with(llama(), "rope_scaling", {{"type", "linear"}})), "#/rope_scaling"));
  CHECK(contains(mistakes_of(with(llama(), "rope_scaling", "llama3")), "#/rope_scaling: must be an object or null"));
}

TEST_CASE("YaRN and LongRoPE scale frequencies, sines and cosines as transformers does") {
  const json sized = with(llama(), "max_position_embeddings", 2048);
  const TransformerShape stretched = shape_from(with(sized, "rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}));
  CHECK(stretched.max_positions == 4 * 2048);
  const json of_half = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 1024}};
  CHECK(shape_from(with(sized, "rope_scaling", of_half)).max_positions == 4096);
  const json of_less = {{"rope_type", "yarn"}, {"factor", 1.5}, {"original_max_position_embeddings", 1024}};
  CHECK(shape_from(with(sized, "rope_scaling", of_less)).max_positions == 2048);
  const auto yarn = rope_of(stretched).scaling;
  REQUIRE(yarn);
  CHECK(yarn->kind == RopeScaling::Kind::yarn);
  CHECK(yarn->original_context == 2048);                             // the file's positions
  CHECK(yarn->attention_factor == Approx(0.1 * std::log(4.0) + 1));  // Peng et al. 2023, equation 22
  // Of DeepSeek's two scales only their quotient reaches sines and cosines: of equal ones 1.
  const json equal = {{"type", "yarn"}, {"factor", 4.0}, {"mscale", 0.7}, {"mscale_all_dim", 0.7}};
  CHECK(rope_of(shape_from(with(sized, "rope_scaling", equal))).scaling->attention_factor == 1);
  const json upside_down = {{"type", "yarn"}, {"factor", 4.0}, {"beta_fast", 1}, {"beta_slow", 32}};
  CHECK(contains(mistakes_of(with(sized, "rope_scaling", upside_down)), "beta_slow must not be above beta_fast"));

  const json factors = {1, 1, 1, 2, 2, 2, 4, 4};  // of 16 columns
  auto phi = with(llama(), "rope_scaling", {{"type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}});
  phi["original_max_position_embeddings"] = 1024;
  phi["max_position_embeddings"] = 4096;
  const auto longrope = rope_of(shape_from(phi)).scaling;
  REQUIRE(longrope);
  CHECK(longrope->factor == 4);
  CHECK(longrope->attention_factor == Approx(std::sqrt(1 + std::log(4.0) / std::log(1024.0))));
  CHECK(contains(mistakes_of(with(phi, "head_dim", 32)), "longrope has 8 factors for 16"));
}

TEST_CASE("a sliding window belongs to layers, not to the text") {
  const auto phi = shape_of("phi-3-mini");
  CHECK(phi.max_positions == 4096);
  CHECK(phi.layer(0).window() == TextWindow{2047});
  CHECK(layers_with_window(phi) == 32);
  const auto window = [](const json& config) { return shape_from(config).layer(0).window(); };
  auto mistral = with(with(llama(), "architectures", {"MistralForCausalLM"}), "num_key_value_heads", 2);
  mistral["max_position_embeddings"] = 32768;
  CHECK(shape_from(mistral).max_positions == 32768);
  CHECK(window(mistral) == TextWindow{4096});  // the default
  CHECK(window(with(mistral, "sliding_window", 1000)) == TextWindow{1000});
  CHECK_FALSE(window(with(mistral, "sliding_window", nullptr)));
  CHECK(layers_with_window(shape_from(with(mistral, "sliding_window", 32768))) == 0);  // no text fills it
  auto qwen = with(with(llama(), "architectures", {"Qwen2ForCausalLM"}), "num_key_value_heads", 2);
  qwen["sliding_window"] = 512;
  CHECK(layers_with_window(shape_from(qwen)) == 0);
  qwen["use_sliding_window"] = true;
  CHECK(layers_with_window(shape_from(qwen)) == 0);  // the first 28 layers have full attention
  const auto one = shape_from(with(qwen, "max_window_layers", 1));
  CHECK((one.layer(0).sees_all() && one.layer(1).window() == TextWindow{512}));
  CHECK(layers_with_window(shape_from(with(qwen, "layer_types", {"sliding_attention", "full_attention"}))) == 1);
  CHECK(contains(mistakes_of(with(qwen, "layer_types", {"full_attention"})),
                 "#/layer_types: has 1 entries for 2 layers"));
  CHECK(contains(mistakes_of(with(qwen, "layer_types", {"full_attention", "mamba"})), "#/layer_types/1: layer type"));
}

TEST_CASE("what is wrong in a config is refused at its place") {
  CHECK(contains(mistakes_of(with(llama(), "architectures", {"MambaForCausalLM"})),
                 "config.json#/architectures/0: unknown architecture \"MambaForCausalLM\"; known: LlamaForCausalLM, "
                 "Qwen2ForCausalLM"));
  CHECK(contains(mistakes_of(with(llama(), "architectures", json::array())),
                 "#/architectures: must name the architecture"));
  CHECK(contains(mistakes_of(with(llama(), "architectures", 7)), "#/architectures"));
  for (const json& bad : {json(0), json(-4), json(1.5), json("4096"), json(1e12), json(true)}) {
    INFO(bad.dump());
    for (const char* key :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"})
      CHECK(contains(mistakes_of(with(llama(), key, bad)), std::string("config.json#/") + key + ":"));
  }
  auto missing = llama();
  missing.erase("hidden_size");
  CHECK(contains(mistakes_of(missing), "hidden_size"));
  CHECK(contains(mistakes_of(with(llama(), "num_key_value_heads", 3)),
                 "the 4 heads are not a multiple of the 3 KV heads"));
  CHECK(contains(mistakes_of(with(llama(), "num_attention_heads", 5)), "hidden size 64 is not divided by 5 heads"));
  CHECK(contains(mistakes_of(with(llama(), "head_dim", 15)), "pairs of columns"));
  CHECK(heads_of(shape_from(with(llama(), "attention_bias", true))).o_bias);
  CHECK(contains(mistakes_of(with(llama(), "mlp_bias", true)), "#/mlp_bias"));
  CHECK(contains(mistakes_of(with(llama(), "hidden_act", "relu")), "#/hidden_act: activation \"relu\""));
  CHECK(contains(mistakes_of(with(llama(), "rms_norm_eps", -1)), "#/rms_norm_eps"));
  CHECK(contains(mistakes_of(with(llama(), "rope_theta", 0)), "#/rope_theta"));
  auto wide = with(with(llama(), "num_attention_heads", 1 << 16), "head_dim", 1 << 14);
  CHECK(contains(mistakes_of(wide), "columns are more than"));
  auto two = with(with(llama(), "hidden_size", 0), "vocab_size", 0);  // both at once
  CHECK(contains(mistakes_of(two), "#/hidden_size"));
  CHECK(contains(mistakes_of(two), "#/vocab_size"));
  CHECK(mistakes_of(json::array()) != "none");
  CHECK(mistakes_of(json::object()) != "none");
}

TEST_CASE("a mixture of experts that a shape can't express is refused") {
  json moe = with(llama(), "architectures", {"Qwen3MoeForCausalLM"});
  moe.update(
      {{"num_key_value_heads", 2}, {"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}});
  REQUIRE(mistakes_of(moe) == "none");
  CHECK(contains(mistakes_of(with(moe, "mlp_only_layers", {0})), "#/mlp_only_layers"));
  CHECK(contains(mistakes_of(with(moe, "decoder_sparse_step", 2)), "#/decoder_sparse_step"));
  CHECK(contains(mistakes_of(with(moe, "num_experts_per_tok", 9)),
                 "#/num_experts_per_tok: must be at most num_experts, 8"));
}

TEST_CASE("tensor parallelism divides heads and columns, and copies KV heads where there are too few") {
  const auto whole = shape_of("llama-3.1-8b");  // 32 heads, 8 KV heads, MLP 14336
  const auto quarter = shard(whole, {.devices = 4});
  CHECK(quarter.usual_heads() == AttentionHeads{8, 2, 128, 128});
  CHECK(quarter.hidden == 4096);
  CHECK((quarter.intermediate == 3584 && quarter.layer(0).dense_mlp()->intermediate == 3584));
  CHECK(quarter.vocabulary == 32064);
  CHECK(layer_parameters(quarter.layer(0)) == layer_parameters(whole.layer(0)) / 4);
  CHECK(shard(whole, {.devices = 16}).usual_heads() == AttentionHeads{2, 1, 128, 128});
  CHECK(shard(whole, {.devices = 1}) == whole);
  CHECK(shard(shape_of("qwen3-30b-a3b"), {.devices = 4}).experts()->intermediate == 192);
  auto odd = whole;
  odd.vocabulary = 32001;
  CHECK(shard(odd, {.devices = 2}).vocabulary == 16001);
  CHECK_THROWS_WITH(shard(whole, {.devices = 3}), "tensor_parallel 3 does not divide the 32 heads of llama-3.1-8b");
  auto six = whole;
  std::get<HeadAttention>(six.kinds[0].attention).heads = {24, 6, 128, 128};
  CHECK_THROWS_WITH(shard(six, {.devices = 4}),
                    "tensor_parallel 4 does not divide the 6 KV heads of llama-3.1-8b and is not a multiple of them");
  CHECK_THROWS_AS(shard(whole, {.devices = 0}), InputErrors);
}
