// SPDX-License-Identifier: Apache-2.0
// What the quantization_config of published families of checkpoints means, cut down to what is read.
#include "model/transformers/quantization_config.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "model/transformers/ignored_modules.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

using nlohmann::json;

json small(bool experts = false) {
  json config{{"architectures", {"LlamaForCausalLM"}},
              {"hidden_size", 64},
              {"intermediate_size", 96},
              {"num_hidden_layers", 4},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"vocab_size", 100},
              {"max_position_embeddings", 128},
              {"rms_norm_eps", 1e-5},
              {"tie_word_embeddings", false},
              {"hidden_act", "silu"}};
  if (experts) {
    config["architectures"] = {"Qwen3MoeForCausalLM"};
    config.update({{"head_dim", 16},
                   {"num_experts", 8},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 32},
                   {"norm_topk_prob", true},
                   {"decoder_sparse_step", 1},
                   {"mlp_only_layers", json::array()}});
  }
  return config;
}

TransformerShape quantised(const json& quantisation, json config = small()) {
  config["quantization_config"] = quantisation;
  return read_whole(Document::from_text(config.dump(), "m/config.json"), read_transformer);
}
Precision precision_of(const json& quantisation, json config = small()) {
  const auto p = quantised(quantisation, std::move(config)).checkpoint;
  REQUIRE(p.has_value());
  return *p;
}
std::string mistakes_of_quantisation(const json& quantisation) {
  try {
    quantised(quantisation);
  } catch (const InputErrors& e) { return e.messages().front(); }
  return "none";
}

const json kHead{"lm_head"};

json tensors(const json& weights, const json& inputs, const json& ignore = kHead) {
  return {
      {"quant_method", "compressed-tensors"},
      {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", inputs}}}}},
      {"ignore", ignore}};
}

Bytes stored(const LinearFormat& f, int in, int out) {
  return bytes_of(f.weights, 1.0 * in * out) + (f.scales.bits > 0 ? f.scales.of(in, out) : Bytes{});
}

}  // namespace

TEST_CASE("a checkpoint without quantization_config has no formats of its own") {
  const auto plain = read_whole(Document::from_text(small().dump(), "m/config.json"), read_transformer);
  CHECK(!plain.checkpoint);
}

TEST_CASE("quant_method fp8: W8A8 with dynamic or static inputs, and in blocks where it has their size") {
  const Precision p = precision_of({{"quant_method", "fp8"}, {"activation_scheme", "dynamic"}});
  CHECK(p.name == "fp8");
  CHECK((p.mlp == format_named("fp8")->layers && p.lm_head.weights == DType::bf16));
  CHECK(precision_of({{"quant_method", "fp8"}}).name == "fp8");
  const Precision known = precision_of({{"quant_method", "fp8"}, {"activation_scheme", "static"}});
  CHECK((known.name == "fp8-static" && known.mlp == format_named("fp8-static")->layers));
  const Precision blocks = precision_of({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}});
  CHECK(blocks.name == "fp8-block");
  CHECK(blocks.attention.scaling() == Scaling::blocks);
  CHECK(mistakes_of_quantisation({{"quant_method", "fp8"}, {"weight_block_size", {128}}})
            .ends_with("/quantization_config/weight_block_size: must be the two sizes of a block"));
}

TEST_CASE("modules_to_not_convert of every layer leave a class in 16 bits, of some layers they are told") {
  const auto with = [](const json& modules) {
    return quantised({{"quant_method", "fp8"}, {"modules_to_not_convert", modules}});
  };
  CHECK(with({"self_attn"}).checkpoint->attention.weights == DType::bf16);
  CHECK(with({"self_attn"}).checkpoint->mlp.weights == DType::fp8);
  const TransformerShape one = with({"model.layers.0.mlp"});
  CHECK(one.checkpoint->mlp.weights == DType::fp8);
  REQUIRE(one.notes.size() == 1);
  CHECK(one.notes.front() ==
        "the checkpoint's MLPs differ in format (75 % fp8, 25 % bf16 of the weights): priced with the bytes of all, "
        "computed in the format of most");
  const double bits = 0.75 * 8 + 0.25 * 16;
  CHECK(8 * stored(one.checkpoint->mlp, 640, 640).value / (640 * 640) == Approx(bits).epsilon(2e-3));
}

TEST_CASE("compressed-tensors: number formats and strategies of its group, the LM head unless it is ignored") {
  const json fp8{{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}},
      token{{"num_bits", 8}, {"type", "float"}, {"strategy", "token"}, {"dynamic", true}};
  const Precision p = precision_of(tensors(fp8, token));
  CHECK(p.name == "fp8");
  CHECK((p.mlp.inputs == DType::fp8 && p.mlp.scales.of(64, 100).value == 400));
  CHECK(p.lm_head.weights == DType::bf16);
  CHECK(precision_of(tensors(fp8, token, json::array())).lm_head.weights == DType::fp8);

  // Inputs are static unless they are said to be dynamic, and only where all share a scale.
  json whole{{"num_bits", 8}, {"type", "float"}, {"strategy", "tensor"}, {"dynamic", false}};
  const Precision known = precision_of(tensors(fp8, whole));
  CHECK((known.name == "fp8-static" && known.mlp.scaling() == Scaling::tensor));
  CHECK(known.mlp.scales.of(64, 100).value == 400);
  whole.erase("dynamic");
  CHECK(precision_of(tensors(whole, whole)).name == "fp8-static");
  whole["dynamic"] = true;
  CHECK(precision_of(tensors(whole, whole)).name == "fp8");

  const json int8{{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}};
  CHECK(precision_of(tensors(int8, int8)).name == "int8-w8a8");
  CHECK(precision_of(tensors(int8, nullptr)).name == "int8");
  const Precision w4 =
      precision_of(tensors({{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}}, nullptr));
  CHECK(w4.name == "int4");
  CHECK(w4.mlp.scales.of(64, 1).value == 2 * 2);
  const json fp4{{"num_bits", 4}, {"type", "float"}, {"strategy", "tensor_group"}, {"group_size", 16}};
  CHECK(precision_of(tensors(fp4, fp4)).mlp == format_named("nvfp4")->layers);
  CHECK(mistakes_of_quantisation(tensors({{"num_bits", 3}, {"type", "int"}}, nullptr))
            .ends_with("only 4 and 8 bits are supported"));
}

TEST_CASE("modelopt: in config.json or in the hf_quant_config.json beside it") {
  const Precision p = precision_of({{"quant_method", "modelopt"},
                                    {"quant_algo", "NVFP4"},
                                    {"ignore", {"lm_head", "*.self_attn*"}},
                                    {"kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}}});
  CHECK((p.name == "nvfp4,kv_cache:fp8" && p.kv_cache == DType::fp8));
  CHECK((p.mlp.weights == DType::fp4 && p.attention.weights == DType::bf16 && p.lm_head.weights == DType::bf16));

  const FreshFolder folder;
  std::ofstream(folder.path() / "config.json") << small().dump();
  std::ofstream(folder.path() / "hf_quant_config.json")
      << R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})";
  const auto shape = read_file(folder.path() / "config.json", read_transformer);
  REQUIRE(shape.checkpoint.has_value());
  CHECK((shape.checkpoint->name == "fp8-static,kv_cache:fp8" && shape.checkpoint->kv_cache == DType::fp8));
  CHECK(shape.checkpoint->lm_head.weights == DType::bf16);
  const json by_token{{"quant_method", "modelopt"}, {"quant_algo", "FP8_PER_CHANNEL_PER_TOKEN"}};
  CHECK(precision_of(by_token).name == "fp8");
  std::ofstream(folder.path() / "hf_quant_config.json") << R"({"quantization": {"quant_algo": null}})";
  const auto plain = read_file(folder.path() / "config.json", read_transformer);
  CHECK((!plain.checkpoint && plain.notes.empty()));
  std::ofstream(folder.path() / "hf_quant_config.json") << "{";
  CHECK_THROWS_AS(read_file(folder.path() / "config.json", read_transformer), InputErrors);
}

TEST_CASE("mxfp4 is of experts alone") {
  const Precision p = precision_of(
      {{"quant_method", "mxfp4"}, {"modules_to_not_convert", {"model.layers.*.self_attn", "lm_head"}}}, small(true));
  CHECK((p.name == "mxfp4" && p.experts.weights == DType::fp4));
  CHECK((p.attention.weights == DType::bf16 && p.mlp.weights == DType::bf16));
}

TEST_CASE("gptq, awq and bitsandbytes have weights alone in integers") {
  const Precision gptq = precision_of({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"sym", true}});
  CHECK(gptq.name == "gptq");
  CHECK((gptq.mlp == format_named("gptq")->layers && !gptq.mlp.inputs && gptq.activations == DType::bf16));
  CHECK(precision_of({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}}).mlp.scales.of(64, 1).value == 3);
  json half = small();
  half["torch_dtype"] = "float16";
  CHECK(precision_of({{"quant_method", "awq"}, {"bits", 4}}, half).activations == DType::fp16);
  CHECK(precision_of({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}}).name == "int8");
  CHECK(mistakes_of_quantisation({{"quant_method", "gptq"}, {"bits", 5}}).ends_with("only 4 and 8 bits are supported"));
}

TEST_CASE("mixed precision has the bytes of each module, as ModelOpt lists them") {
  json layers;
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "model.language_model.layers." + std::to_string(i) + ".";
    for (const char* m : {"gate_proj", "up_proj", "down_proj"})
      layers[layer + "mlp." + m] = {{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}};
    for (const char* m : {"q_proj", "k_proj", "v_proj", "o_proj"})
      layers[layer + "self_attn." + m] = {{"quant_algo", "FP8"}};
  }
  json mixed{{"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", layers}};
  const Precision p = precision_of(mixed);
  CHECK((p.mlp.weights == DType::fp4 && !p.mlp.inputs && p.mlp.scales == WeightScales{16, 1, 8}));
  CHECK((p.attention.weights == DType::fp8 && p.lm_head.weights == DType::bf16));
  mixed["quantized_layers"]["lm_head"] = {{"quant_algo", "FP8"}};
  CHECK(precision_of(mixed).lm_head.weights == DType::fp8);
  mixed["quantized_layers"]["lm_head"] = {{"quant_algo", "FP3"}};
  CHECK(mistakes_of_quantisation(mixed).ends_with("/quantized_layers/lm_head/quant_algo: \"FP3\" is not modelled"));
  json few = mixed;
  few["quantized_layers"] = {{"model.layers.0.mlp.gate_proj", {{"quant_algo", "FP8"}}}};
  const Precision mean = precision_of(few);  // a twelfth in 8 bits
  CHECK(8 * stored(mean.mlp, 640, 640).value / (640 * 640) == Approx(16 - 8 / 12.0).epsilon(2e-3));
}

TEST_CASE("compressed-tensors: each group has the format of its targets") {
  const json fp8{{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}},
      int4{{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}};
  const Precision p = precision_of(
      {{"quant_method", "compressed-tensors"},
       {"config_groups",
        {{"group_0", {{"targets", {"re:.*mlp.*"}}, {"weights", int4}, {"input_activations", nullptr}}},
         {"group_1",
          {{"targets", {"re:.*self_attn\\.(q|k|v|o)_proj"}}, {"weights", fp8}, {"input_activations", fp8}}}}},
       {"ignore", {"lm_head"}}});
  CHECK((p.mlp.weights == DType::int4 && p.attention.weights == DType::fp8 && p.lm_head.weights == DType::bf16));
}

TEST_CASE("MLX: bits and a group size, of the embedding and the LM head too") {
  const json four{{"bits", 4}, {"group_size", 64}};
  const Precision p = precision_of(four);
  CHECK((p.name == "mlx" && p.mlp.weights == DType::int4 && p.embedding == DType::int4));
  CHECK(8 * stored(p.lm_head, 640, 640).value / (640 * 640) == 4.5);
  CHECK(8 * stored(precision_of({{"bits", 6}, {"group_size", 64}}).mlp, 640, 640).value / (640 * 640) == 6.5);
  json partly = four;  // a down projection's 96 inputs have two groups
  partly["model.layers.0.mlp.gate_proj"] = false;
  CHECK(8 * stored(precision_of(partly).mlp, 640, 640).value / (640 * 640) == Approx(4.5 + 11.5 / 12).epsilon(0.02));
  json top = small();
  top["quantization"] = four;
  CHECK(read_whole(Document::from_text(top.dump(), "m/config.json"), read_transformer).checkpoint == p);
  top["quantization_config"] = four;  // MLX writes both
  CHECK(read_whole(Document::from_text(top.dump(), "m/config.json"), read_transformer).checkpoint == p);
  top["quantization"]["bits"] = 8;
  CHECK(mistake_of([&] {
          read_whole(Document::from_text(top.dump(), "m/config.json"), read_transformer);
        }).find("#/quantization: shapes a network") != std::string::npos);
  CHECK(mistakes_of_quantisation({{"bits", 2}, {"group_size", 64}}).find("less than 4 bits") != std::string::npos);
}

TEST_CASE("the format of a KV cache may be a text") {
  json algo{{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"kv_cache_scheme", "fp8_e4m3"}};
  CHECK(precision_of(algo).kv_cache == DType::fp8);
  algo["kv_cache_scheme"] = "int4";
  CHECK(precision_of(algo).kv_cache == DType::bf16);
}

TEST_CASE("a method that is not known is told, and leaves precision to the scenario") {
  const TransformerShape s = quantised({{"quant_method", "tomorrow"}});
  CHECK(!s.checkpoint);
  REQUIRE(s.notes.size() == 1);
  CHECK(s.notes.front().find("\"tomorrow\" is unknown") != std::string::npos);
}

TEST_CASE("a list of modules has names, what lies below them, globs and simple regular expressions") {
  const ModuleList list({"model.layers.1", "gate", "*.experts*", "re:.*self_attn\\.[qkv]_proj", "re:.*o_proj$",
                         "re:model\\.layers\\.\\d+\\.norm"});
  CHECK(list.has("model.layers.1.mlp.up_proj"));
  CHECK(!list.has("model.layers.10.mlp.up_proj"));
  CHECK(list.has("model.layers.0.mlp.gate"));
  CHECK(!list.has("model.layers.0.mlp.gate_proj"));
  CHECK(list.has("model.layers.0.mlp.experts.3.up_proj"));
  CHECK(list.has("model.layers.0.self_attn.o_proj"));
  CHECK(!list.has("model.layers.0.self_attn.q_proj"));
  CHECK(list.has("model.layers.21.norm"));
  CHECK(list.not_understood() == std::vector<std::string>{"re:.*self_attn\\.[qkv]_proj"});
}

}  // namespace draftline
