// SPDX-License-Identifier: Apache-2.0
// Parameters of networks from their config.json alone, against those that their authors print.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "model/transformers/parameter_check.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

namespace {

json network(const char* architecture, json keys) {
  keys["architectures"] = {architecture};
  return keys;
}

struct Published {
  const char* name;
  json config;
  double all, active;  // billions; 0: a token reads all of them
  double within;       // of both, as precise as they are printed
};

// Hidden size, layers, heads, KV heads and vocabulary, which all of them have.
json sizes(int hidden, int layers, int heads, int kv, int vocabulary) {
  return {{"hidden_size", hidden},           {"num_hidden_layers", layers}, {"num_attention_heads", heads},
          {"num_key_value_heads", kv},       {"vocab_size", vocabulary},    {"tie_word_embeddings", false},
          {"max_position_embeddings", 32768}};
}
json with_all(json a, const json& b) {
  a.update(b);
  return a;
}

std::vector<Published> published() {
  const auto pythia = [](int hidden, int layers, int heads, int vocabulary) {
    json c = sizes(hidden, layers, heads, heads, vocabulary);
    c.erase("num_key_value_heads");
    return network("GPTNeoXForCausalLM",
                   with_all(c, {{"intermediate_size", 4 * hidden}, {"rotary_pct", 0.25}, {"hidden_act", "gelu"}}));
  };
  const auto starcoder = [](int hidden, int layers, int heads, int kv, bool tied) {
    return network("Starcoder2ForCausalLM",
                   with_all(sizes(hidden, layers, heads, kv, 49152), {{"intermediate_size", 4 * hidden},
                                                                      {"use_bias", true},
                                                                      {"hidden_act", "gelu_pytorch_tanh"},
                                                                      {"tie_word_embeddings", tied}}));
  };
  const auto ling = [](const json& base, int dense, int experts, int columns, int first) {
    return network("BailingMoeV2ForCausalLM", with_all(base, {{"intermediate_size", dense},
                                                              {"moe_intermediate_size", columns},
                                                              {"num_experts", experts},
                                                              {"num_shared_experts", 1},
                                                              {"num_experts_per_tok", 8},
                                                              {"n_group", 8},
                                                              {"topk_group", 4},
                                                              {"head_dim", 128},
                                                              {"first_k_dense_replace", first},
                                                              {"score_function", "sigmoid"},
                                                              {"use_qk_norm", true}}));
  };
  json opt = sizes(4096, 32, 32, 32, 50272);
  opt.erase("num_key_value_heads");
  return {
      {"InternLM3-8B",
       network("InternLM3ForCausalLM",
               with_all(sizes(4096, 48, 32, 2, 128512),
                        {{"intermediate_size", 10240}, {"head_dim", 128}, {"qkv_bias", false}, {"bias", false}})),
       8.80, 0, 1e-3},
      {"GLM-4-9B",
       network("GlmForCausalLM", with_all(sizes(4096, 40, 32, 2, 151552),
                                          {{"intermediate_size", 13696}, {"head_dim", 128}, {"attention_bias", true}})),
       9.40, 0, 1e-3},
      {"GLM-4-32B-0414",
       network("Glm4ForCausalLM",
               with_all(sizes(6144, 61, 48, 2, 151552),
                        {{"intermediate_size", 23040}, {"head_dim", 128}, {"attention_bias", false}})),
       32.6, 0, 2e-3},
      {"Phi-3.5-MoE",
       network("PhiMoEForCausalLM", with_all(sizes(4096, 32, 32, 8, 32064), {{"intermediate_size", 6400},
                                                                             {"num_local_experts", 16},
                                                                             {"num_experts_per_tok", 2},
                                                                             {"attention_bias", true}})),
       41.9, 6.6, 0.02},
      {"Qwen1.5-MoE-A2.7B",
       network("Qwen2MoeForCausalLM",
               with_all(sizes(2048, 24, 16, 16, 151936), {{"intermediate_size", 5632},
                                                          {"moe_intermediate_size", 1408},
                                                          {"shared_expert_intermediate_size", 5632},
                                                          {"num_experts", 60},
                                                          {"num_experts_per_tok", 4}})),
       14.3, 2.7, 0.01},
      {"pythia-1.4b", pythia(2048, 24, 16, 50304), 1.414647808, 0, 1e-9},
      {"pythia-6.9b", pythia(4096, 32, 32, 50432), 6.857302016, 0, 1e-9},
      {"starcoder2-3b", starcoder(3072, 30, 24, 2, true), 3.030371328, 0, 1e-9},
      {"starcoder2-15b", starcoder(6144, 40, 48, 4, false), 15.957889024, 0, 1e-9},
      {"opt-6.7b",
       network("OPTForCausalLM", with_all(opt, {{"ffn_dim", 16384},
                                                {"word_embed_proj_dim", 4096},
                                                {"activation_function", "relu"},
                                                {"tie_word_embeddings", true}})),
       6.658473984, 0, 2e-3},  // without its table of positions
      {"Ling-mini-2.0", ling(sizes(2048, 20, 16, 4, 157184), 5120, 256, 512, 1), 16.26, 1.43, 0.01},
      {"Ling-flash-2.0", ling(sizes(4096, 32, 32, 4, 157184), 9216, 256, 1024, 1), 103, 6.1, 0.02},
      {"Mistral-Small-4",
       network("Mistral4ForCausalLM", with_all(sizes(4096, 36, 32, 32, 131072), {{"intermediate_size", 12288},
                                                                                 {"moe_intermediate_size", 2048},
                                                                                 {"n_routed_experts", 128},
                                                                                 {"n_shared_experts", 1},
                                                                                 {"num_experts_per_tok", 4},
                                                                                 {"kv_lora_rank", 256},
                                                                                 {"q_lora_rank", 1024},
                                                                                 {"qk_rope_head_dim", 64},
                                                                                 {"qk_nope_head_dim", 64},
                                                                                 {"v_head_dim", 128},
                                                                                 {"first_k_dense_replace", 0}})),
       119, 6.5, 0.03},
  };
}

}  // namespace

TEST_CASE("networks of known layers have the parameters that their authors print, total and for a token") {
  for (const Published& p : published()) {
    INFO(p.name);
    const TransformerShape s = shape_from(p.config);
    CHECK(parameters(s) / 1e9 == Approx(p.all).epsilon(p.active > 0 ? 0.01 : p.within));
    // Authors count the embedding or leave it out.
    const double active = active_parameters(s), embedding = head_parameters(s);
    if (p.active > 0)
      CHECK(std::min(std::abs(active / 1e9 - p.active), std::abs((active + embedding) / 1e9 - p.active)) <
            p.within * p.active);
  }
}

TEST_CASE("a name says how many parameters a network has, to its last digit") {
  const auto said = [](std::string_view name) {
    const NamedCounts n = counts_in_name(name);
    return std::pair{n.all ? n.all->billions : 0, n.active ? n.active->billions : 0};
  };
  CHECK(said("Qwen3-30B-A3B-FP8") == std::pair{30.0, 3.0});
  CHECK(said("qwen3-0.6b") == std::pair{0.6, 0.0});
  CHECK(said("gpt-oss-120b") == std::pair{120.0, 0.0});
  CHECK(said("Qwen1.5-MoE-A2.7B") == std::pair{0.0, 2.7});
  for (const char* other : {"Mixtral-8x7B-v0.1", "Llama-4-Scout-17B-16E", "deepseek-v3", "Qwen3-4bit", "v2.5-base"})
    CHECK(said(other) == std::pair{0.0, 0.0});
}

TEST_CASE("every shipped network has the parameters that its name says") {
  for (const auto& file : std::filesystem::directory_iterator(kTransformers)) {
    const Document document = Document::from_file(file.path());
    TransformerShape s = read_whole(document, read_transformer);
    s.name = file.path().stem().string();
    check_parameters(document.root(), s);
    for (const std::string& note : document.notes()) CHECK(!contains(note, "gives "));
  }
}

TEST_CASE("a network whose experts are lost is told by its name, by a count and by the index of its weights") {
  json config = json::parse(std::ifstream(kTransformers / "qwen3-30b-a3b.json"));
  config.erase("draftline_source");
  const auto notes_of = [](const json& c, const std::filesystem::path& folder, const std::string& name) {
    const Document document = Document::from_text(c.dump(), folder / "config.json");
    TransformerShape s = read_whole(document, read_transformer);
    s.name = name;
    check_parameters(document.root(), s);
    return document.notes();
  };
  CHECK(notes_of(config, "net", "Qwen3-30B-A3B").empty());
  json few = config;
  few["num_experts"] = 32;
  REQUIRE(notes_of(few, "net", "Qwen3-30B-A3B").size() == 1);
  CHECK(contains(notes_of(few, "net", "Qwen3-30B-A3B").front(), "its name says 30.000 billion"));
  CHECK(notes_of(few, "net", "mine").empty());
  few["num_parameters"] = 30.5e9;
  CHECK(contains(notes_of(few, "net", "mine").front(), "its num_parameters say 30.500 billion"));
  few.erase("num_parameters");
  const FreshFolder folder;
  std::ofstream(folder.path() / "model.safetensors.index.json")
      << R"({"metadata": {"total_size": 61064245248}, "weight_map": {}})";
  CHECK(notes_of(config, folder.path(), "mine").empty());
  CHECK(contains(notes_of(few, folder.path(), "mine").front(), "model.safetensors.index.json 61.06"));
}
