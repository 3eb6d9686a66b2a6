// SPDX-License-Identifier: Apache-2.0
// Networks of GGUF files against the shipped ones of the same name. The keys are those that llama.cpp's converter
// writes for them; tensors have the sizes of the embedding and of the rest together.
#include <nlohmann/json.hpp>

#include "core/int_indexed.h"
#include "core/text_file.h"
#include "model/transformers/config_families.h"
#include "model/transformers/gguf_config.h"
#include "model/transformers/gguf_network.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/transformers/gguf_text.h"
#include "tests/source_folder.h"

namespace draftline {

namespace {

struct GgufRow {
  std::string architecture, network;
  std::vector<std::pair<std::string, std::uint32_t>> keys;  // in addition to those of all
  std::vector<std::string> vectors;                         // small tensors by which a property is told
};

const std::vector<GgufRow> kGgufRows{
    {"llama", "llama-3.1-8b", {{"rope.dimension_count", 128}, {"vocab_size", 128256}}, {}},
    {"llama", "mixtral-8x7b", {{"expert_count", 8}, {"expert_used_count", 2}, {"rope.dimension_count", 128}}, {}},
    {"qwen2", "qwen2.5-7b", {}, {"blk.0.attn_q.bias"}},
    {"qwen3", "qwen3-8b", {{"attention.key_length", 128}, {"attention.value_length", 128}}, {}},
    {"qwen3moe",
     "qwen3-30b-a3b",
     {{"expert_count", 128},
      {"expert_used_count", 8},
      {"expert_feed_forward_length", 768},
      {"attention.key_length", 128}},
     {}},
    {"qwen3next",
     "qwen3-next-80b-a3b",
     {{"expert_count", 512},
      {"expert_used_count", 10},
      {"expert_feed_forward_length", 512},
      {"expert_shared_feed_forward_length", 512},
      {"attention.key_length", 256},
      {"attention.value_length", 256},
      {"rope.dimension_count", 64},
      {"full_attention_interval", 4},
      {"ssm.conv_kernel", 4},
      {"ssm.state_size", 128},
      {"ssm.group_count", 16},
      {"ssm.time_step_rank", 32},
      {"ssm.inner_size", 4096}},
     {}},
    {"qwen35moe",
     "qwen3.5-35b-a3b",
     {{"expert_count", 256},
      {"expert_used_count", 8},
      {"expert_feed_forward_length", 512},
      {"expert_shared_feed_forward_length", 512},
      {"attention.key_length", 256},
      {"rope.dimension_count", 64},
      {"full_attention_interval", 4},
      {"ssm.conv_kernel", 4},
      {"ssm.state_size", 128},
      {"ssm.group_count", 16},
      {"ssm.time_step_rank", 32},
      {"ssm.inner_size", 4096}},
     {}},
    {"phi3", "phi-3-mini", {{"rope.dimension_count", 96}, {"attention.sliding_window", 2047}}, {}},
    {"seed_oss", "seed-oss-36b", {{"attention.key_length", 128}}, {"blk.0.attn_q.bias"}},
    {"smollm3", "smollm3-3b", {{"rope.dimension_count", 128}}, {}},
    {"gemma3", "gemma-3-27b", {{"attention.key_length", 128}, {"attention.sliding_window", 1024}}, {}},
    {"gpt-oss",
     "gpt-oss-20b",
     {{"expert_count", 32},
      {"expert_used_count", 4},
      {"expert_feed_forward_length", 2880},
      {"attention.key_length", 64},
      {"attention.sliding_window", 128}},
     {"blk.0.attn_q.bias"}},
    {"llama4",
     "llama-4-scout",
     {{"expert_count", 16},
      {"expert_used_count", 1},
      {"expert_feed_forward_length", 8192},
      {"attention.key_length", 128},
      {"interleave_moe_layer_step", 1}},
     {}},
    {"deepseek2",
     "deepseek-v3",
     {{"attention.head_count_kv", 1},
      {"attention.key_length", 576},
      {"attention.value_length", 512},
      {"attention.key_length_mla", 192},
      {"attention.value_length_mla", 128},
      {"attention.q_lora_rank", 1536},
      {"attention.kv_lora_rank", 512},
      {"rope.dimension_count", 64},
      {"expert_count", 256},
      {"expert_used_count", 8},
      {"expert_feed_forward_length", 2048},
      {"expert_shared_count", 1},
      {"expert_group_count", 8},
      {"expert_group_used_count", 4},
      {"expert_gating_func", 2},
      {"leading_dense_block_count", 3}},
     {}},
    {"deepseek2",
     "deepseek-v2-lite",
     {{"attention.head_count_kv", 1},
      {"attention.key_length", 576},
      {"attention.value_length", 512},
      {"attention.key_length_mla", 192},
      {"attention.value_length_mla", 128},
      {"attention.kv_lora_rank", 512},
      {"rope.dimension_count", 64},
      {"expert_count", 64},
      {"expert_used_count", 6},
      {"expert_feed_forward_length", 1408},
      {"expert_shared_count", 2},
      {"expert_gating_func", 1},
      {"leading_dense_block_count", 1}},
     {}},
    {"glm4moe",
     "glm-4.5-air",
     {{"block_count", 47},
      {"nextn_predict_layers", 1},
      {"attention.key_length", 128},
      {"rope.dimension_count", 64},
      {"expert_count", 128},
      {"expert_used_count", 8},
      {"expert_feed_forward_length", 1408},
      {"expert_shared_count", 1},
      {"leading_dense_block_count", 1}},
     {"blk.0.attn_q.bias"}},
    {"minimax-m2",
     "minimax-m2",
     {{"expert_count", 256},
      {"expert_used_count", 8},
      {"expert_feed_forward_length", 1536},
      {"attention.key_length", 128},
      {"rope.dimension_count", 64}},
     {}},
    {"mistral3", "ministral-3-8b", {{"attention.key_length", 128}}, {}}};

constexpr std::uint32_t kSingles = 0, kHalves = 1;

// A file of the row's architecture, with the sizes of the shipped network.
GgufText gguf_of(const GgufRow& row, const TransformerShape& shipped, const nlohmann::json& config) {
  GgufText t;
  t.text("general.architecture", row.architecture);
  const auto has = [&](const std::string& key) {
    return std::ranges::any_of(row.keys, [&](const auto& k) { return k.first == key; });
  };
  const auto number = [&](const std::string& key, int value) {
    if (!has(key)) t.number(row.architecture + "." + key, static_cast<std::uint32_t>(value));
  };
  number("block_count", shipped.layers());
  number("embedding_length", shipped.hidden);
  number("context_length", *shipped.max_positions);
  number("feed_forward_length", config.value("intermediate_size_mlp", config.value("intermediate_size", 0)));
  number("attention.head_count", shipped.usual_heads().heads);
  number("attention.head_count_kv", shipped.usual_heads().kv_heads);
  t.real(row.architecture + ".attention.layer_norm_rms_epsilon", 1e-5F);
  t.real(row.architecture + ".rope.freq_base", 1e6F);
  if (row.architecture == "mistral3") {
    t.text("mistral3.rope.scaling.type", "yarn");
    t.real("mistral3.rope.scaling.factor", 16);
    t.number("mistral3.rope.scaling.original_context_length", 16384);
    t.real("mistral3.attention.temperature_scale", 0.1F);
  }
  for (const auto& [key, value] : row.keys) t.number(row.architecture + "." + key, value);
  const std::uint64_t hidden = static_cast<std::uint64_t>(shipped.hidden),
                      vocabulary = static_cast<std::uint64_t>(shipped.vocabulary);
  double rest = parameters(shipped) - to_double(hidden * vocabulary) - to_double(64 * hidden);
  t.tensor("token_embd.weight", {hidden, vocabulary}, kHalves);
  if (!shipped.tied_embeddings) {
    t.tensor("output.weight", {hidden, vocabulary}, kHalves);
    rest -= to_double(hidden * vocabulary);
  }
  t.tensor("blk.0.attn_q.weight", {hidden, 64}, kHalves);
  const bool experts = shipped.experts() != nullptr;
  t.tensor(experts ? "blk.0.ffn_up_exps.weight" : "blk.0.ffn_up.weight",
           {1024, static_cast<std::uint64_t>(rest / 1024)}, kHalves);
  for (const std::string& name : row.vectors) t.tensor(name, {8}, kSingles);
  if (has("nextn_predict_layers")) t.tensor("blk.46.ffn_up_exps.weight", {4096, 500000}, kHalves);  // of the MTP module
  return t;
}

}  // namespace

TEST_CASE("a GGUF file of each architecture gives the network that ships under its name") {
  const auto row = kGgufRows.at(GENERATE(range(std::size_t{0}, kGgufRows.size())));
  CAPTURE(row.architecture, row.network);
  const auto file = test::source_folder() / "data/transformers" / (row.network + ".json");
  const TransformerShape shipped =
      read_whole(Document::from_file(file), [](const Reader& in) { return read_transformer(in); });
  const auto whole = nlohmann::json::parse(read_text_file(file));
  const auto config = whole.value("text_config", whole);
  const FreshFolder folder;
  const auto path = folder.path() / "file.gguf";
  gguf_of(row, shipped, config).write(path);
  const TransformerShape s = read_gguf_network(GgufHeader::read(path));
  const auto family = [](const std::string& architecture) { return architecture.substr(0, architecture.find("For")); };
  if (row.architecture != "mistral3")  // Mistral's network for text and pictures, of which a file has the text's part
    CHECK(family(s.architecture) == family(shipped.architecture));
  CHECK(s.notes.empty());
  CHECK(s.layers() == shipped.layers());
  CHECK(parameters(s) == Approx(parameters(shipped)).epsilon(1e-5));  // norms of q and k, biases
  CHECK(active_parameters(s) == Approx(active_parameters(shipped)).epsilon(1e-5));
  CHECK(s.usual_heads() == shipped.usual_heads());
  CHECK(s.tied_embeddings == shipped.tied_embeddings);
  CHECK(s.max_positions == shipped.max_positions);
  CHECK((s.experts() == nullptr) == (shipped.experts() == nullptr));
  CHECK((s.latent() == nullptr) == (shipped.latent() == nullptr));
  CHECK(s.states() == shipped.states());
  CHECK(all_windowed(s) == all_windowed(shipped));
  for (int i = 0; i < s.layers(); ++i) CHECK(s.layer(i).mlp.index() == shipped.layer(i).mlp.index());
}

TEST_CASE("each architecture of GGUF is one of config.json's, and docs/recipes/your_network.md lists it") {
  const std::string page = read_text_file(test::source_folder() / "docs/recipes/your_network.md");
  const auto row = [&](const std::string& use) {
    const auto begin = page.find("| " + use + " |");
    REQUIRE(begin != std::string::npos);
    return page.substr(begin, page.find('\n', begin) - begin);
  };
  for (const GgufFamily& f : gguf_families()) {
    CAPTURE(f.name);
    CHECK(config::family(f.architecture) != nullptr);
    CHECK(contains(row(f.decoded ? "priced and decoded" : "priced"), "`" + std::string(f.name) + "`"));
  }
}

TEST_CASE("a key of a GGUF file that is not used is named, or refused if it shapes the network") {
  const auto of = [](const auto& add) {
    const FreshFolder folder;
    const auto path = folder.path() / "file.gguf";
    GgufText t = gguf_llama({}, [](const std::string&, std::uint32_t) { return kHalves; });
    add(t);
    t.write(path);
    return read_gguf_network(GgufHeader::read(path)).notes;
  };
  CHECK(of([](GgufText& t) { t.number("general.file_type", 1), t.texts("tokenizer.ggml.merges", 3); }).empty());
  const auto notes = of([](GgufText& t) { t.real("llama.logit_scale", 0.25F), t.number("adapter.type", 1); });
  CHECK(notes == std::vector<std::string>{"\"adapter.type\" is not used", "\"llama.logit_scale\" is not used"});
  CHECK(contains(mistake_of([&] { of([](GgufText& t) { t.number("llama.ssm.state_size", 16); }); }),
                 "the key \"llama.ssm.state_size\" shapes a network, but is not modelled for this architecture"));
  CHECK(contains(mistake_of([&] { of([](GgufText& t) { t.number("llama.attention.value_length", 32); }); }),
                 "values of another size than keys"));
  const auto others = of([](GgufText& t) { t.tensor("blk.0.adapter.weight", {16, 16}, kHalves); });
  CHECK(others ==
        std::vector<std::string>{"the tensor \"blk.0.adapter.weight\" and 0 others are of no known kind: their "
                                 "bytes are not counted"});
}

}  // namespace draftline
