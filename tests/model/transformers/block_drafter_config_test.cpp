// SPDX-License-Identifier: Apache-2.0
// config.json of drafters that propose a block at once: the forms in which they are published, and what is refused.
#include "model/transformers/block_drafter_config.h"

#include <nlohmann/json.hpp>

#include "tests/core/messages.h"

using namespace draftline;
using Json = nlohmann::json;

namespace {

using enum DrafterKind;

Json with(Json config, const Json& more) {
  config.update(more);
  return config;
}
const Json kFiveLayers{{"model_type", "qwen3"},  {"hidden_size", 4096},       {"intermediate_size", 12288},
                       {"num_hidden_layers", 5}, {"num_attention_heads", 32}, {"num_key_value_heads", 8},
                       {"head_dim", 128},        {"vocab_size", 151936},      {"rope_theta", 1000000},
                       {"rms_norm_eps", 1e-6},   {"attention_bias", false}};

// z-lab's Qwen3-8B-DFlash-b16.
const Json kDFlash =
    with(kFiveLayers, {{"architectures", {"DFlashDraftModel"}},
                       {"block_size", 16},
                       {"num_target_layers", 36},
                       {"dflash_config", {{"mask_token_id", 151669}, {"target_layer_ids", {1, 9, 17, 25, 33}}}}});
// DeepSpec's dspark_qwen3_4b_block7: everything at the top.
const Json kDSpark = with(kFiveLayers, {{"architectures", {"Qwen3DSparkModel"}},
                                        {"hidden_size", 2560},
                                        {"intermediate_size", 9728},
                                        {"block_size", 7},
                                        {"mask_token_id", 151669},
                                        {"target_layer_ids", {-1, 9, 17, 25, 33}},
                                        {"markov_rank", 256},
                                        {"markov_head_type", "vanilla"},
                                        {"enable_confidence_head", true}});
// Of z-lab's Qwen3.8-27B-DFlash2.
const Json kDFlash2 = with(kFiveLayers, {{"architectures", {"DFlash2DraftModel"}},
                                         {"layer_types", std::vector<std::string>(5, "sliding_attention")},
                                         {"sliding_window", 2048},
                                         {"is_causal", false},
                                         {"dflash_config",
                                          {{"block_size", 8},
                                           {"mask_token_id", 248},
                                           {"target_layer_ids", {5, 19, 33}},
                                           {"conv_kernel_size", 2},
                                           {"conv_group_size", 16},
                                           {"selector_rank", 256},
                                           {"selector_top_k", 16}}}});
// Of Huang2020/Qwen3-8B-Domino-b16, in SpecForge's qwen3-8b-domino.json.
const Json kDomino = with(kDFlash, {{"emb_dim", 256},
                                    {"dflash_config",
                                     {{"mask_token_id", 151669},
                                      {"target_layer_ids", {1, 9, 17, 25, 33}},
                                      {"projector_type", "domino"},
                                      {"pure_draft_prefix_len", 1},
                                      {"emb_dim", 256},
                                      {"gru_hidden_dim", 1024},
                                      {"shift_label", true}}}});
Json speculators(const std::string& type, const Json& more = Json::object()) {
  return with({{"architectures", {"DFlashDraftModel"}},
               {"speculators_model_type", type},
               {"transformer_layer_config", kFiveLayers},
               {"block_size", 8},
               {"draft_vocab_size", 32000},
               {"aux_hidden_state_layer_ids", {2, 10, 18}},
               {"mask_token_id", 151669}},
              more);
}

DrafterConfig read_block(const Json& config, DrafterKind kind) {
  return read_whole(Document::from_text(config.dump(), "config.json"),
                    [&](const Reader& in) { return read_drafter(in, kind); });
}
std::string block_mistake(const Json& config, DrafterKind kind) {
  return mistake_of([&] { read_block(config, kind); });
}

}  // namespace

TEST_CASE("a DFlash's block, layers and the states it reads, which z-lab counts as they leave a layer") {
  const DrafterConfig d = read_block(kDFlash, dflash);
  CHECK(d.layers == 5);
  CHECK(d.layer.dense_mlp()->intermediate == 12288);
  CHECK(d.layer.heads()->qk_norm == QkNorm::each_head);
  CHECK(d.vocabulary == 0);  // embedding and LM head are the target's
  CHECK(d.auxiliary_layers == std::vector{2, 10, 18, 26, 34});
  CHECK(d.mask_token == 151669);
  CHECK(d.block.rows == 16);
  CHECK(d.windows == std::vector(5, 0));
  Json nested = kDFlash;  // as newer files have it
  nested.erase("block_size");
  nested["dflash_config"]["block_size"] = 8;
  CHECK(read_block(nested, dflash).block.rows == 8);
  nested["dflash_config"].erase("block_size");
  CHECK(read_block(nested, dflash).block.rows == 0);
}

TEST_CASE("the speculators library counts states as they enter a layer, and has an LM head of its own") {
  const DrafterConfig d = read_block(speculators("dflash"), dflash);
  CHECK(d.auxiliary_layers == std::vector{2, 10, 18});
  CHECK(d.vocabulary == 32000);
  CHECK(d.layer.hidden == 4096);
  CHECK(d.block.rows == 8);
  CHECK(read_block(speculators("dspark"), dspark).block.markov_rank == 256);
}

TEST_CASE("windows are those of layer_types, or of all layers where only use_swa says so") {
  const auto windows = [](const Json& more) { return read_block(with(kDFlash, more), dflash).windows; };
  CHECK(
      windows({{"layer_types",
                {"sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "sliding_attention"}},
               {"sliding_window", 4096}}) == std::vector{4096, 4096, 0, 4096, 4096});
  Json own = kDFlash.at("dflash_config");  // as ModelOpt writes it
  own.update({{"use_swa", true}, {"swa_window_size", 1024}});
  CHECK(windows({{"layer_types", std::vector<std::string>(5, "full_attention")}, {"dflash_config", own}}) ==
        std::vector(5, 1024));
  CHECK(windows({{"layer_types", std::vector<std::string>(5, "sliding_attention")},
                 {"sliding_window", 2048},
                 {"dflash_config", own}}) == std::vector(5, 1024));  // the nearer key first
  own.erase("swa_window_size");
  CHECK(contains(block_mistake(with(kDFlash, {{"dflash_config", own}}), dflash),
                 "#: a window requires \"swa_window_size\" or \"sliding_window\""));
  CHECK(contains(block_mistake(with(kDFlash, {{"layer_types", {"sliding_attention"}}}), dflash),
                 "#/layer_types: has 1 entries for 5 layers"));
}

TEST_CASE("DSpark's head, and DFlash 2's convolutions and selector") {
  const DrafterConfig spark = read_block(kDSpark, dspark), second = read_block(kDFlash2, dflash2);
  CHECK(spark.block.markov_rank == 256);
  CHECK(spark.block.rows == 7);
  CHECK(spark.auxiliary_layers == std::vector{0, 10, 18, 26, 34});  // -1: the embedding
  CHECK(second.block.conv_taps == 2);
  CHECK(second.block.conv_group == 16);
  CHECK(second.block.selector_rank == 256);
  CHECK(second.block.selector_top_k == 16);
  CHECK(second.windows == std::vector(5, 2048));
}

TEST_CASE("Domino's head, whose root predicts") {
  const auto [gru, rank, uncorrected] = read_block(kDomino, domino).block.domino;
  CHECK(gru == 1024);
  CHECK(rank == 256);
  CHECK(uncorrected == 1);
  Json spec_forge = with(kDomino, {{"architectures", {"DominoDraftModel"}}});
  spec_forge["dflash_config"].erase("projector_type");
  spec_forge["dflash_config"].erase("pure_draft_prefix_len");
  CHECK(read_block(spec_forge, domino).block.domino.uncorrected == 0);
  for (const Json& shift : {Json(false), Json()}) {
    Json dflash_rows = kDomino;
    dflash_rows["dflash_config"]["shift_label"] = shift;
    CHECK(contains(block_mistake(dflash_rows, domino), "only a Domino drafter with \"shift_label\": true is modelled"));
  }
  Json without = kDomino;
  without["dflash_config"].erase("gru_hidden_dim");
  CHECK(contains(block_mistake(without, domino), "#/dflash_config: missing key \"gru_hidden_dim\""));
}

TEST_CASE("a folder of Domino is never read as DFlash") {
  CHECK(contains(block_mistake(kDomino, dflash), "#/dflash_config/projector_type: belongs to a \"domino\" drafter"));
  CHECK(contains(block_mistake(kDFlash, domino), "belongs to a \"dflash\" drafter, but the method is \"domino\""));
  const Json library = speculators("dflash", {{"projector_type", "domino"}});
  CHECK(contains(block_mistake(library, dflash), "#/projector_type: belongs to a \"domino\" drafter"));
  CHECK(contains(block_mistake(library, domino), "#/speculators_model_type: Domino in the form of the speculators"));
}

TEST_CASE("a block drafter of another kind than the method's is told, whatever its form") {
  CHECK(contains(block_mistake(kDSpark, dflash),
                 "#/architectures/0: belongs to a \"dspark\" drafter, but the method is \"dflash\""));
  CHECK(contains(block_mistake(kDFlash, dflash2), "belongs to a \"dflash\" drafter, but the method is \"dflash2\""));
  CHECK(contains(block_mistake(speculators("eagle3"), dspark),
                 "#/speculators_model_type: belongs to a \"eagle3\" drafter, but the method is \"dspark\""));
  Json modelopt = kDFlash;  // which names all of them DFlash
  modelopt["dflash_config"].update({{"projector_type", "dspark"}, {"markov_rank", 64}});
  CHECK(read_block(modelopt, dspark).block.markov_rank == 64);
  CHECK(contains(block_mistake(modelopt, dflash), "#/dflash_config/projector_type: belongs to a \"dspark\" drafter"));
  CHECK(contains(block_mistake(with(kDSpark, {{"architectures", {"Gemma4DSparkModel"}}}), dspark),
                 "a block drafter of the architecture \"Gemma4DSparkModel\" is not modelled"));
}

TEST_CASE("what no block drafter's network here has is refused at its key") {
  CHECK(contains(block_mistake(with(kDFlash, {{"attention_bias", true}}), dflash), "#/attention_bias: biases"));
  CHECK(contains(block_mistake(with(kDSpark, {{"markov_head_type", "rnn"}}), dspark), "#/markov_head_type: only the"));
  CHECK(contains(block_mistake(with(kDSpark, {{"markov_rank", 0}}), dspark), "#/markov_rank: must be at least 1"));
  CHECK(contains(block_mistake(with(kDFlash, {{"target_hidden_size", 2048}}), dflash), "#/target_hidden_size: "));
  CHECK(
      contains(block_mistake(with(kDFlash, {{"num_hidden_layers", 33}}), dflash), "#/num_hidden_layers: more than 32"));
  CHECK(
      contains(block_mistake(speculators("dflash", {{"sample_from_anchor", true}}), dflash), "#/sample_from_anchor: "));
  CHECK(contains(block_mistake(speculators("dspark", {{"sample_from_anchor", false}}), dspark),
                 "#/sample_from_anchor: a DSpark drafter whose root row"));
  CHECK(contains(block_mistake(speculators("dflash", {{"draft_vocab_size", 200000}}), dflash),
                 "#/draft_vocab_size: is larger"));
  CHECK(contains(block_mistake(with(kDFlash, {{"model_type", "qwen3_moe"}}), dflash),
                 "#/model_type: a block drafter with"));
  CHECK(contains(block_mistake(with(kDFlash, {{"block_size", 1}}), dflash), "#/block_size: must be at least 2"));
  CHECK(contains(block_mistake(kFiveLayers, dflash), "#: is not a block drafter's config.json: it has neither"));
  CHECK(contains(block_mistake(speculators("dflash2", {{"conv_kernel_size", 2}}), dflash2),
                 "#/draft_vocab_size: a selector over a part"));
  Json mask = kDFlash;
  mask["dflash_config"]["mask_token_id"] = 151936;
  CHECK(contains(block_mistake(mask, dflash), "#/dflash_config/mask_token_id: must be at most 151935"));
  Json without = kDFlash2;
  without["dflash_config"].erase("selector_rank");
  CHECK(contains(block_mistake(without, dflash2), "#/dflash_config: missing key \"selector_rank\""));
  without = kDFlash;
  without["dflash_config"]["target_layer_ids"] = Json::array();
  CHECK(contains(block_mistake(without, dflash), "target_layer_ids: must be 1 to 16 layers"));
}

TEST_CASE("a P-EAGLE is EAGLE-3 with more layers and a mask token") {
  Json native{{"architectures", {"LlamaForCausalLMEagle3"}},
              {"hidden_size", 64},
              {"intermediate_size", 96},
              {"num_hidden_layers", 4},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"vocab_size", 200},
              {"rope_theta", 500000.0},
              {"rms_norm_eps", 1e-5},
              {"hidden_act", "silu"},
              {"ptd_token_id", 199}};
  const DrafterConfig d = read_block(native, p_eagle);
  CHECK(d.layers == 4);
  CHECK(d.mask_token == 199);
  CHECK(d.vocabulary == 200);
  CHECK(read_block(native, eagle3).layers == 4);
  Json layer = native;
  layer.erase("architectures");
  layer["model_type"] = "llama";
  const Json theirs{{"speculators_model_type", "peagle"},
                    {"draft_vocab_size", 50},
                    {"mask_token_id", 7},
                    {"transformer_layer_config", layer},
                    {"eagle_aux_hidden_state_layer_ids", {2, 10, 18, 26, 34}},
                    {"speculators_config", {{"proposal_methods", {{{"speculative_tokens", 6}}}}}}};
  const DrafterConfig t = read_block(theirs, p_eagle);
  CHECK(t.vocabulary == 50);
  CHECK(t.auxiliary_layers.size() == 5);
  CHECK(!t.norm_before_residual);
  CHECK(t.own_embedding);
  CHECK(t.trained_drafts == 6);
  layer["layer_types"] = {"sliding_attention", "full_attention", "full_attention", "full_attention"};
  layer["model_type"] = "qwen3";
  layer["sliding_window"] = 16;
  Json mixed = theirs;
  mixed["transformer_layer_config"] = layer;
  CHECK(contains(block_mistake(mixed, p_eagle), "#/transformer_layer_config/layer_types: layers with and without"));
}
