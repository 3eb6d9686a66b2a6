// SPDX-License-Identifier: Apache-2.0
// Each family's config.json, read as its publisher and transformers mean it.
#include <fstream>

#include "model/devices/memory.h"
#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"
#include "tests/source_folder.h"

using namespace draftline;
using nlohmann::json;

TEST_CASE("a network that also sees keeps its text tower's keys apart") {
  auto inner = llama();
  inner.erase("architectures");
  inner["num_key_value_heads"] = 2;
  inner["sliding_window"] = nullptr;
  const json outer = {{"architectures", {"Mistral3ForConditionalGeneration"}}, {"text_config", inner}};
  const auto s = shape_from(outer);
  CHECK(s.architecture == "Mistral3ForConditionalGeneration");
  CHECK(s.hidden == 64);
  CHECK(s.max_positions == 131072);
  CHECK(contains(mistakes_of(with(outer, "text_config", with(inner, "hidden_size", 0))), "#/text_config/hidden_size"));
  CHECK(contains(mistakes_of(with(outer, "text_config", 7)), "#/text_config: must be an object"));
}

TEST_CASE("a network that also sees has the text that it says, or is refused") {
  json c = json::parse(std::ifstream(kTransformers / "qwen3-8b.json"));
  c["model_type"] = "mistral9";
  c["q_lora_rank"] = 1024;
  const json whole{
      {"architectures", {"Mistral3ForConditionalGeneration"}}, {"model_type", "mistral3"}, {"text_config", c}};
  CHECK(contains(mistakes_of(whole), R"(#/text_config/model_type: the text network "mistral9" is not modelled)"));
  json other = whole;
  other["text_config"].erase("q_lora_rank");
  other["text_config"]["model_type"] = "qwen3";
  CHECK(heads_of(shape_from(other)).qk_norm == QkNorm::each_head);
}

TEST_CASE("the text of a network that also hears is found where its file has it, whatever the whole is called") {
  auto inner = llama();
  inner.erase("architectures");
  inner["model_type"] = "qwen3";
  inner["num_key_value_heads"] = 2;
  inner["head_dim"] = 16;
  const auto all = [&](const json& outer) { return parameters(shape_from(outer)); };
  const double alone = all(with(inner, "architectures", {"Qwen3ForCausalLM"}));
  CHECK(all({{"architectures", {"Qwen9OmniForConditionalGeneration"}}, {"thinker_config", {{"text_config", inner}}}}) ==
        alone);
  CHECK(all({{"architectures", {"InternVLChatModel"}}, {"llm_config", inner}}) == alone);
  inner["model_type"] = "tomorrow";
  CHECK(contains(mistakes_of({{"architectures", {"InternVLChatModel"}}, {"llm_config", inner}}),
                 "unknown architecture \"InternVLChatModel\""));
}

TEST_CASE("Hy3 has a router with a bias, and keys of its own for its experts") {
  const auto s = shape_of("hy3");
  CHECK(parameters(s) == Approx(295e9).epsilon(0.01));  // "295B-A21B"
  CHECK(active_parameters(s) == Approx(21e9).epsilon(0.05));
  const Experts& e = *s.experts();
  CHECK((e.choice_bias && e.normalise && e.scale == 2.826 && e.shared == 1536));
  CHECK((s.layer(0).experts() == nullptr && s.layer(1).experts() != nullptr && s.mtp_modules == 1));
  CHECK(rope_of(s).theta == 11158840);
}

TEST_CASE("of a network that sees the text is rotated as in the network without eyes") {
  auto inner = llama();
  inner.erase("architectures");
  inner["num_key_value_heads"] = 2;
  inner["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e6}, {"mrope_section", {2, 3, 3}}};
  const auto s = shape_from({{"architectures", {"Qwen3VLForConditionalGeneration"}}, {"text_config", inner}});
  CHECK((heads_of(s).qk_norm == QkNorm::each_head && !rope_of(s).scaling && rope_of(s).theta == 5e6));
  auto flat = llama();  // as Qwen2.5-VL was published
  flat["architectures"] = {"Qwen2_5_VLForConditionalGeneration"};
  flat["num_key_value_heads"] = 2;
  flat["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {2, 3, 3}}};
  const auto older = shape_from(flat);
  CHECK((heads_of(older).qkv_bias && !rope_of(older).scaling));
}

TEST_CASE("an indexer's sizes are read where attention is sparse, and every rank has it whole") {
  const auto dense = shape_of("deepseek-v3"), sparse = shape_of("deepseek-v3.2");
  const LatentAttention& latents = sparse.latent()->dims;
  CHECK(latents.indexer == Indexer{.heads = 64, .head_dim = 128, .top_k = 2048});
  CHECK(latents.indexer->key_bytes() == Bytes{132});  // vLLM's cache of 128 numbers of 8 bits and a scale
  CHECK(shard(sparse, {.devices = 8}).latent()->dims == latents);
  // Queries of 64 x 128 from a latent of 1536, a key of 128 and 64 weights from 7168, a norm with a bias.
  CHECK(parameters(sparse) - parameters(dense) == 61.0 * (1536 * 8192 + 7168 * 192 + 2 * 128));
  const auto glm = shape_of("glm-5");
  CHECK(parameters(glm) == Approx(744e9).epsilon(1e-3));        // "744B",
  CHECK(active_parameters(glm) == Approx(40e9).epsilon(0.05));  // "40B" activated
  CHECK((glm.latent()->dims.indexer->paired && !latents.indexer->paired));
  const auto mistake = [](const char* file, const char* key, json value) {
    json c = json::parse(std::ifstream(kTransformers / file));
    c[key] = std::move(value);
    return mistakes_of(c);
  };
  CHECK(contains(mistake("deepseek-v3.2.json", "index_topk", nullptr), "#/index_topk"));
  CHECK(contains(mistake("deepseek-v3.2.json", "index_head_dim", 32), "must be at least qk_rope_head_dim, 64"));
  CHECK(contains(mistake("deepseek-v3.2.json", "q_lora_rank", nullptr), "#/q_lora_rank"));
}

TEST_CASE("layers that share an indexer's choice have neither its weights nor its keys") {
  const auto own = shape_of("glm-5"), shared = shape_of("glm-5.2");
  std::vector<int> full;
  for (int i = 0; i < shared.layers(); ++i)
    if (shared.layer(i).latent()->dims.indexer) full.push_back(i);
  CHECK(full.size() == 21);  // of 78 layers: the first three, then every fourth
  CHECK(std::vector(full.begin(), full.begin() + 5) == std::vector{0, 1, 2, 6, 10});
  // Queries of 32 x 128 from a latent of 2048, a key of 128 and 32 weights from 6144, a norm with a bias.
  CHECK(parameters(own) - parameters(shared) == 57.0 * (2048 * 4096 + 6144 * 160 + 2 * 128));

  json c = json::parse(std::ifstream(kTransformers / "glm-5.json"));
  c["num_hidden_layers"] = 5;
  const auto kinds = [&](const char* key, json value) {
    json with = c;
    with[key] = std::move(value);
    std::string letters;
    const auto shape = shape_from(with);
    for (int i = 0; i < shape.layers(); ++i) letters += shape.layer(i).shares_choice() ? 'S' : 'F';
    return letters;
  };
  CHECK(kinds("indexer_types", {"full", "shared", "full", "full", "shared"}) == "FSFFS");
  CHECK(kinds("index_topk_pattern", "FFSSF") == "FFSSF");
  CHECK(kinds("index_topk_freq", 2) == "FFSFS");  // from the second layer on
  CHECK(kinds("index_topk_freq", 1) == "FFFFF");
  const auto mistake = [&](const char* key, json value) {
    json with = c;
    with[key] = std::move(value);
    return mistakes_of(with);
  };
  CHECK(
      contains(mistake("indexer_types", {"full", "shared"}), "#/indexer_types: must have one entry for each of the 5"));
  CHECK(
      contains(mistake("indexer_types", {"full", "none", "full", "full", "full"}), "#/indexer_types/1: unknown value"));
  CHECK(contains(mistake("index_topk_pattern", "SFFFF"), "the first layer can't share an indexer's choice"));
  CHECK(contains(mistake("index_topk_pattern", "FFTFF"), "may only contain the letters F (full) and S (shared)"));
  c["index_topk_freq"] = 4;
  CHECK(contains(mistake("index_skip_topk_offset", 0), "#/index_skip_topk_offset: the first layer"));
}

TEST_CASE("GLM-4.7-Flash has DeepSeek's attention, and says of each layer whether it has experts") {
  const auto flash = shape_of("glm-4.7-flash");
  CHECK(parameters(flash) == Approx(30e9).epsilon(0.01));  // "30B-A3B"
  CHECK(active_parameters(flash) == Approx(3e9).epsilon(0.2));
  CHECK((flash.latent()->dims.q_rank == 768 && !flash.latent()->query_scale && flash.experts()->scale == 1.8));
  const auto has_experts = [](const TransformerShape& s, int layer) { return s.layer(layer).experts() != nullptr; };
  CHECK((!has_experts(flash, 0) && has_experts(flash, 1) && flash.mtp_modules == 1));
  json c = json::parse(std::ifstream(kTransformers / "glm-4.7-flash.json"));
  c.erase("first_k_dense_replace");
  CHECK((!has_experts(shape_from(c), 0) && has_experts(shape_from(c), 1)));
  c["num_hidden_layers"] = 3;
  c["mlp_layer_types"] = {"dense", "dense", "sparse"};
  CHECK((!has_experts(shape_from(c), 1) && has_experts(shape_from(c), 2)));
  c["mlp_layer_types"] = {"dense", "sparse"};
  CHECK(contains(mistakes_of(c), "#/mlp_layer_types: must have one word for each of the 3 layers"));
  c["mlp_layer_types"] = {"dense", "sparse", "moe"};
  CHECK(contains(mistakes_of(c), "#/mlp_layer_types/2: unknown value \"moe\""));
}

TEST_CASE("Kimi-K2.5's text is K2, and its formats stand in the text's keys") {
  json text = json::parse(std::ifstream(kTransformers / "kimi-k2.json"));
  const auto k2 = shape_from(text);
  const json whole = {{"architectures", {"KimiK25ForConditionalGeneration"}}, {"text_config", text}};
  const auto both = shape_from(whole);
  CHECK(parameters(both) == parameters(k2));
  CHECK(*both.latent() == *k2.latent());
  CHECK(both.checkpoint.has_value());
  CHECK(both.checkpoint->experts == k2.checkpoint->experts);
}

TEST_CASE("Ministral 3's queries grow with the text in every layer, and it has no window unless it says so") {
  const auto s = shape_of("ministral-3-8b");
  CHECK(rope_of(s).growth == QueryGrowth{16384, 0.1, 0, true});
  CHECK(layers_with_window(s) == 0);
  CHECK(s.max_positions == 262144);
  CHECK(parameters(s) == Approx(8.49e9).epsilon(1e-3));  // "8.4B" and a tower that sees
  json latent = json::parse(std::ifstream(kTransformers / "deepseek-v3.json"));
  latent["rope_scaling"]["llama_4_scaling_beta"] = 0.1;  // Mistral Small 4
  CHECK(contains(mistakes_of(latent), "latent attention with scaled queries"));
}

TEST_CASE("Seed-OSS has biases on queries, keys and values; SmolLM3 has no rope in every fourth layer") {
  CHECK(parameters(shape_of("seed-oss-36b")) == 36'151'104'512.0);  // of its files' index
  CHECK((heads_of(shape_of("seed-oss-36b")).qkv_bias && !heads_of(shape_of("seed-oss-36b")).o_bias));
  const auto small = shape_of("smollm3-3b");
  CHECK(parameters(small) == Approx(3.08e9).epsilon(2e-3));  // "3B"
  const auto rotates = [](const LayerShape& l) { return l.rope()->columns > 0; };
  CHECK((rotates(small.layer(2)) && !rotates(small.layer(3)) && small.tied_embeddings));
  CHECK(layers_with_window(small) == 0);
  json c = json::parse(std::ifstream(kTransformers / "smollm3-3b.json"));
  c["num_hidden_layers"] = 4;
  c["use_sliding_window"] = true;
  c["sliding_window"] = 128;
  c["no_rope_layers"] = {1, 0, 1, 1};
  const auto windowed = shape_from(c);
  CHECK((windowed.layer(1).window() == TextWindow{128} && !rotates(windowed.layer(1))));
  CHECK((windowed.layer(3).sees_all() && rotates(windowed.layer(3))));
  c["no_rope_layers"] = {1, 0};
  CHECK(contains(mistakes_of(c), "#/no_rope_layers: has 2 entries for 4 layers"));
}

TEST_CASE("dots.llm1 has DeepSeek-V3's router over attention with norms of each head; ERNIE 4.5 refuses its biases") {
  json c = json::parse(std::ifstream(test::kFixtures / "dots1" / "config.json"));
  const auto dots = shape_from(c);
  const Experts& e = *dots.experts();
  CHECK((heads_of(dots).qk_norm == QkNorm::each_head && e.choice_bias && e.normalise));
  CHECK((e.groups == 4 && e.shared == 40 && e.scale == 2.5));
  CHECK((dots.layer(0).experts() == nullptr && dots.layer(1).experts() != nullptr && layers_with_window(dots) == 0));
  c.erase("norm_topk_prob");
  CHECK_FALSE(shape_from(c).experts()->normalise);
  c.erase("layer_types");
  c["sliding_window"] = 16;
  c["max_window_layers"] = 2;
  CHECK(layers_with_window(shape_from(c)) == 1);
  json ernie = json::parse(std::ifstream(test::kFixtures / "ernie4_5" / "config.json"));
  CHECK((rope_of(shape_from(ernie)).theta == 500 && shape_from(ernie).tied_embeddings));
  ernie["use_bias"] = true;
  CHECK(contains(mistakes_of(ernie), "#/use_bias: a bias in the linear layers is not modelled"));
}

TEST_CASE("norms stand behind the sublayers of OLMo and EXAONE 4, which has no rope where it sees the whole text") {
  const auto read = [](const char* name, const char* key = nullptr, json value = {}) {
    json c = json::parse(std::ifstream(test::kFixtures / name / "config.json"));
    if (key != nullptr) c[key] = std::move(value);
    return c;
  };
  const auto second = shape_from(read("olmo2")), third = shape_from(read("olmo3")),
             exaone = shape_from(read("exaone4"));
  for (const TransformerShape& s : {second, third, exaone})
    CHECK((!s.layer(0).norms_before() && s.layer(0).norms_behind()));
  CHECK((heads_of(second).qk_norm == QkNorm::all_heads && heads_of(exaone).qk_norm == QkNorm::each_head));
  CHECK(layers_with_window(second) == 0);
  // Three layers: two norms of 40, of queries and of keys (40 and 20); the last norm.
  const double matrices = 3 * (2.0 * 40 * 40 + 2 * 40 * 20 + 3 * 40 * 56) + 2 * 96 * 40;
  CHECK(parameters(second) == matrices + 3 * (2 * 40 + 60) + 40);
  // Its rope is scaled in the one layer without a window.
  CHECK((layers_with_window(third) == 3 && rope_of(third).scaling && *third.layer(0).rope() == Rope{500, 10}));
  json older = read("olmo3");
  older.erase("rope_parameters");
  older["rope_theta"] = 7000;
  CHECK(shape_from(older).layer(0).rope()->theta == 7000);
  const auto rotates = [](const LayerShape& l) { return l.rope()->columns > 0; };
  CHECK((rotates(exaone.layer(0)) && exaone.layer(0).window() && !rotates(exaone.layer(3))));
  json whole = read("exaone4", "sliding_window", nullptr);
  whole.erase("layer_types");
  CHECK((layers_with_window(shape_from(whole)) == 0 && rotates(shape_from(whole).layer(3))));
  CHECK(
      contains(mistakes_of(read("exaone4", "sliding_window", 256)), "must be less than max_position_embeddings, 256"));
}

TEST_CASE("MiniMax-M2 has norms of all heads at once and a rotation of half a head") {
  const auto m2 = shape_of("minimax-m2");
  CHECK((heads_of(m2).qk_norm == QkNorm::all_heads && rope_of(m2).columns == 64));
  CHECK(parameters(m2) == Approx(228.7e9).epsilon(1e-3));  // "230 B", of which "10 B" are active
  CHECK(active_parameters(m2) == Approx(10e9).epsilon(0.05));
  const Experts& e = *m2.experts();
  CHECK((e.score == Experts::Score::sigmoid && e.choice_bias && e.normalise && e.groups == 1 && e.shared == 0));
  CHECK(m2.checkpoint->experts.scaling() == Scaling::blocks);
  CHECK(m2.checkpoint->attention.weights == DType::fp8);
  CHECK(m2.checkpoint->lm_head.weights == DType::bf16);
  json other = json::parse(std::ifstream(kTransformers / "minimax-m2.json"));
  other["qk_norm_type"] = "per_head";
  CHECK(contains(mistakes_of(other), "#/qk_norm_type: only norms over all heads"));
}

TEST_CASE("MiMo-V2-Flash has heads, sinks and a rope of their own in its windows, and values narrower than keys") {
  const auto flash = shape_of("mimo-v2-flash");
  CHECK(parameters(flash) == Approx(309e9).epsilon(1e-3));
  CHECK(active_parameters(flash) == Approx(15e9).epsilon(0.03));
  const LayerShape &whole = flash.layer(0), &windowed = flash.layer(1);
  CHECK((flash.layers() - layers_with_window(flash) == 9 && windowed.window() == TextWindow{129}));
  CHECK((whole.experts() == nullptr && windowed.experts() != nullptr));
  CHECK(whole.heads()->heads == AttentionHeads{64, 4, 192, 128});
  CHECK(windowed.heads()->heads == AttentionHeads{64, 8, 192, 128});
  CHECK((windowed.heads()->sinks && !whole.heads()->sinks && whole.heads()->value_scale == 0.707));
  CHECK((*windowed.rope() == Rope{10000, 64} && *whole.rope() == Rope{5e6, 64}));  // 0.334 of 192
  CHECK(flash.mtp_modules == 3);
  CHECK(cache_elements_per_token(flash) == (9 * 4 + 39 * 8) * (192 + 128));
  const auto half = shard(flash, {.devices = 8});
  CHECK(half.layer(0).heads()->heads == AttentionHeads{8, 1, 192, 128});
  CHECK(half.layer(1).heads()->heads == AttentionHeads{8, 1, 192, 128});
  CHECK(contains(refuses_shards(flash, {.devices = 3}).value_or(""), "does not divide the 64 heads"));

  // Of its MTP module, 0.33e9 parameters: a layer with a window and a dense MLP.
  const LayerShape& module = flash.mtp_layer.value();
  CHECK(module.attention == windowed.attention);
  CHECK(module.experts() == nullptr);
  CHECK(layer_parameters(module) + 2.0 * 4096 * 4096 == Approx(0.33e9).epsilon(0.01));

  // As transformers 5 writes it, the rules are the library's; as published, the file says each.
  const json written = json::parse(std::ifstream(test::kFixtures / "mimo_v2_flash" / "config.json"));
  json published = written;
  for (const auto key : {"layer_types", "mlp_layer_types", "rope_parameters", "rms_norm_eps"}) published.erase(key);
  const json says = {{"hybrid_layer_pattern", {0, 1, 1, 0}},
                     {"moe_layer_freq", {0, 1, 1, 1}},
                     {"swa_num_key_value_heads", 2},
                     {"swa_rope_theta", 100},
                     {"rope_theta", 900},
                     {"sliding_window_size", 6},
                     {"layernorm_epsilon", 1e-5}};
  published.update(says);
  TransformerShape ours = shape_from(written);
  CHECK(ours.layer(1).rope()->theta == 100);
  const auto same_share = [&](LayerShape& layer) {  // a published file has one share for all layers
    if (layer.window()) layer.rope()->columns = static_cast<int>(0.334 * layer.heads()->heads.head_dim) / 2 * 2;
  };
  for (LayerShape& layer : ours.kinds) same_share(layer);
  same_share(ours.mtp_layer.value());
  CHECK(shape_from(published) == ours);
  published["moe_layer_freq"] = {0, 1, 1};
  CHECK(contains(mistakes_of(published), "#/moe_layer_freq: has 3 entries for 4 layers"));
  published["moe_layer_freq"] = {0, 1, 1, 2};
  CHECK(contains(mistakes_of(published), "#/moe_layer_freq/3: "));
  published["moe_layer_freq"] = {0, 1, 1, 1};
  published["scoring_func"] = "softmax";
  CHECK(contains(mistakes_of(published), "#/scoring_func: only experts with sigmoid scores"));
  published.erase("scoring_func");
  published["sliding_window_size"] = 255;
  CHECK(contains(mistakes_of(published), "sliding_window must be less than max_position_embeddings, 256"));
  published["sliding_window_size"] = 6;
  published["swa_num_key_value_heads"] = 3;
  CHECK(contains(mistakes_of(published), "the 4 heads are not a multiple of the 3 KV heads"));
}

TEST_CASE("Gemma 4 has wide heads without a window, whose keys are their values, and perhaps experts beside its MLPs") {
  const auto dense = shape_of("gemma-4-31b"), mixture = shape_of("gemma-4-26b-a4b");
  CHECK(parameters(dense) == Approx(30.7e9).epsilon(1e-3));
  CHECK(parameters(mixture) == Approx(25.2e9).epsilon(2e-3));
  CHECK(active_parameters(mixture) == Approx(3.8e9).epsilon(0.02));
  const LayerShape &all = dense.layer(5), &part = dense.layer(0);
  CHECK((layers_with_window(dense) == 50 && part.window() == TextWindow{1024} && dense.logit_cap == 30));
  const AttentionHeads whole{32, 4, 512, 512, true};
  CHECK((all.heads()->heads == whole && whole.projected_columns() == 32 * 512 + 4 * 512));
  CHECK(part.heads()->heads == AttentionHeads{32, 16, 256, 256});
  CHECK((all.rope()->scaling->turned == 0.25 && all.rope()->columns == 512 && *part.rope() == Rope{10000, 256}));
  CHECK(cache_elements_per_token(dense) == 2.0 * (10 * 4 * 512 + 50 * 16 * 256));
  CHECK((std::holds_alternative<ExpertsBesideMlp>(mixture.layer(0).mlp) && mixture.experts()->count == 128));
  CHECK(mixture.layer(0).dense_mlp()->intermediate == 2112);
  CHECK(contains(refuses_shards(mixture, {.devices = 2, .attention_replicas = 2}).value_or(""), "is not modelled"));

  // As transformers 5 writes it: what differs, for each layer.
  const json written = json::parse(std::ifstream(test::kFixtures / "gemma4" / "config.json"));
  json published = written;
  published.erase("per_layer_config");
  published["global_head_dim"] = 16;
  published["num_global_key_value_heads"] = 1;
  CHECK(shape_from(published) == shape_from(written));
  published["attention_k_eq_v"] = false;  // the number of KV heads is then that of the other layers
  CHECK(shape_from(published).usual_heads().kv_heads == 2);
  json narrow = written;
  narrow["sliding_window"] = 256;
  CHECK(contains(mistakes_of(narrow), "sliding_window must be less than max_position_embeddings, 256"));
  json uneven = written;
  uneven["per_layer_config"]["3"]["head_dim"] = 24;
  CHECK(contains(mistakes_of(uneven), "#/per_layer_config/3: differences between layers of one kind"));
  uneven = written;
  uneven["per_layer_config"]["0"]["head_dim"] = 12;
  CHECK(contains(mistakes_of(uneven), "#/per_layer_config/0: differences between layers of one kind"));
  uneven = written;
  uneven["per_layer_config"]["2"]["num_attention_heads"] = 8;
  CHECK(contains(mistakes_of(uneven), "#/per_layer_config/2/num_attention_heads: is not modelled for single layers"));
  uneven = written;
  uneven["layer_types"][3] = "sliding_attention";
  CHECK(contains(mistakes_of(uneven), "#/layer_types: the last layer must be full_attention"));
  json small = published;
  small["hidden_size_per_layer_input"] = 256;
  CHECK(contains(mistakes_of(small), "#/hidden_size_per_layer_input: embeddings per layer"));
  small.erase("hidden_size_per_layer_input");  // 256, as transformers has it
  CHECK(contains(mistakes_of(small), "embeddings per layer"));
  small["model_type"] = "gemma4_unified_text";
  CHECK(shape_from(small).usual_heads().heads == 4);
  small["num_kv_shared_layers"] = 2;
  CHECK(contains(mistakes_of(small), "#/num_kv_shared_layers: layers that share keys and values"));
}

TEST_CASE("Gemma 3 has five windows to a layer that sees all, four norms and a scale of its own") {
  const json config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                       {"text_config",
                        {{"hidden_size", 64},
                         {"num_hidden_layers", 8},
                         {"sliding_window", 1024},
                         {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}}}};
  const auto s = shape_from(config);
  CHECK((layers_with_window(s) == 7 && s.layer(5).sees_all()));
  CHECK(s.layer(0).rope()->theta == 10000);
  CHECK(rope_of(s).theta == 1e6);
  CHECK(s.embedding_scale == 8);
  CHECK(heads_of(s).query_scale == 1.0 / 16);
  CHECK(s.layer(0).dense_mlp()->kind == MlpKind::gated_gelu);
  CHECK(s.tied_embeddings);
  const json newer = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000}}}};
  auto as_of_5 = config;
  as_of_5["text_config"].erase("rope_scaling");
  as_of_5["text_config"]["rope_parameters"] = newer;
  CHECK(shape_from(as_of_5) == s);
  as_of_5["text_config"]["final_logit_softcapping"] = 30;
  CHECK(contains(mistakes_of(as_of_5), "#/text_config/final_logit_softcapping"));
}

TEST_CASE("gpt-oss alternates windows of 128 with sinks in every layer; Llama 4 has chunks and layers without rope") {
  const auto oss = shape_from({{"architectures", {"GptOssForCausalLM"}}, {"num_hidden_layers", 4}});
  CHECK((oss.layer(0).window() == TextWindow{128} && oss.layer(1).sees_all()));
  CHECK(oss.layer(1).experts() != nullptr);
  CHECK((oss.layer(0).heads()->sinks && oss.layer(1).heads()->sinks));
  CHECK(rope_of(oss).scaling->factor == 32);
  const auto llama4 = shape_from({{"architectures", {"Llama4ForCausalLM"}},
                                  {"num_hidden_layers", 8},
                                  {"interleave_moe_layer_step", 2},
                                  {"num_local_experts", 128}});
  CHECK((layers_with_window(llama4) == 6 && llama4.layer(4).window() == TextWindow{8192, true}));
  CHECK((llama4.layer(3).experts() != nullptr && llama4.layer(4).experts() == nullptr));
  // Queries grow with the text where they are not rotated, and are normalised where they are.
  CHECK((llama4.layer(3).rope()->columns == 0 && llama4.layer(3).rope()->growth));
  CHECK((llama4.layer(4).rope()->columns == 128 && !llama4.layer(4).rope()->growth));
  CHECK(llama4.layer(3).heads()->qk_norm == QkNorm::none);
  CHECK(llama4.layer(4).heads()->qk_norm == QkNorm::unweighted);
  CHECK(llama4.experts()->shared == 8192);
  CHECK(llama4.intermediate == 16384);
  CHECK(contains(mistakes_of({{"architectures", {"Llama4ForCausalLM"}}, {"no_rope_layers", {1, 0}}}),
                 "#/no_rope_layers: has 2 entries for 48 layers"));
}

TEST_CASE("the families that name their keys otherwise are understood") {
  const auto glm = shape_of("chatglm3-6b");
  CHECK(glm.usual_heads() == AttentionHeads{32, 2, 128, 128});
  CHECK(rope_of(glm).columns == 64);
  CHECK(heads_of(glm).qkv_bias);
  CHECK(glm.max_positions == 8192);
  const auto qwen = shape_of("qwen-14b");  // intermediate_size counts gate and up together
  CHECK(qwen.intermediate == 13696);
  CHECK(heads_of(qwen).qkv_bias);
  const auto falcon = shape_of("falcon-40b");
  CHECK(falcon.intermediate == 4 * 8192);
  CHECK(falcon.usual_heads() == AttentionHeads{128, 8, 64, 64});
  CHECK(falcon.layer(0).parallel);
  CHECK((falcon.norm == NormKind::layer && falcon.layer(0).norm == NormKind::layer));
  CHECK(falcon.layer(0).dense_mlp()->kind == MlpKind::gelu);
  CHECK(*shape_of("qwen3-30b-a3b").experts() == Experts{128, 8, 768, true});
  CHECK(*shape_of("deepseek-moe-16b").experts() == Experts{64, 6, 1408, false, 2816});
}

TEST_CASE("latent attention and routers are read as DeepSeek, GLM and Mixtral mean them") {
  const auto v3 = shape_of("deepseek-v3");
  const LatentHeads& latents = *v3.latent();
  CHECK(latents.dims == LatentAttention{1536, 512, 128, 64, 128});
  CHECK(latents.q_columns() == 128 * 192);
  CHECK(latents.query_scale.value() == Approx(std::pow(0.1 * std::log(40) + 1, 2) / std::sqrt(192.0)));
  CHECK(latents.rope.scaling->attention_factor == 1);  // mscale over mscale_all_dim
  CHECK(v3.layers() == 61);
  CHECK(v3.layer(2).experts() == nullptr);
  CHECK(v3.layer(3).experts() != nullptr);
  const Experts& e = *v3.experts();
  CHECK((e.score == Experts::Score::sigmoid && e.choice_bias && e.groups == 8 && e.groups_per_token == 4));
  CHECK((e.scale == 2.5 && e.normalise && e.shared == 2048));
  CHECK(v3.checkpoint->experts.scaling() == Scaling::blocks);
  // 61 layers of 512 + 64 columns a token, on every rank; a rank of 8 has 16 heads.
  const auto rank = shard(v3, {.devices = 8});
  CHECK(rank.latent()->heads == 16);
  CHECK(rank.latent()->dims == latents.dims);
  const auto lite = shape_of("deepseek-v2-lite");
  CHECK(lite.latent()->dims.q_rank == 0);
  const Experts& plain = *lite.experts();
  CHECK((plain.score == Experts::Score::softmax && !plain.choice_bias && !plain.normalise));
  const auto glm = shape_of("glm-4.5");
  CHECK((heads_of(glm).qkv_bias && heads_of(glm).qk_norm == QkNorm::each_head && rope_of(glm).columns == 64));
  CHECK(*shape_of("mixtral-8x7b").experts() == Experts{8, 2, 14336, true});
  const auto config = [](const char* key, json value) {
    json c = json::parse(std::ifstream(kTransformers / "deepseek-v3.json"));
    c[key] = std::move(value);
    return mistakes_of(c);
  };
  CHECK(contains(config("n_group", 7), "#/n_group: must divide the experts, 256"));
  CHECK(contains(config("topk_group", 9), "#/topk_group: must be at most n_group, 8"));
  CHECK(contains(config("scoring_func", "softmax"), "#/scoring_func: only experts with sigmoid scores"));
  CHECK(contains(config("qk_rope_head_dim", 63),
                 "#/qk_rope_head_dim: must be even, because rope rotates pairs of columns"));
  CHECK(contains(config("kv_lora_rank", 0), "#/kv_lora_rank"));
  CHECK(contains(config("kv_lora_rank", nullptr), "#/kv_lora_rank"));
}
