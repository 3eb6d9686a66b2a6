// SPDX-License-Identifier: Apache-2.0
// Networks of gated delta networks and gated attention: config.json, parameters, work and shares by head.
#include "model/work.h"
#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

namespace {

json tiny_hybrid() {
  return {{"architectures", {"Qwen3_5ForCausalLM"}},
          {"hidden_size", 16},
          {"intermediate_size", 24},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"head_dim", 8},
          {"vocab_size", 10},
          {"linear_num_key_heads", 2},
          {"linear_num_value_heads", 4},
          {"linear_key_head_dim", 4},
          {"linear_value_head_dim", 6}};
}

std::string kinds(const TransformerShape& s) {
  std::string text;
  for (int i = 0; i < s.layers(); ++i) text += s.layer(i).delta_net() != nullptr ? 'd' : 'f';
  return text;
}

}  // namespace

TEST_CASE("a hybrid's layers: every fourth attends, or as layer_types says") {
  CHECK(kinds(shape_from(tiny_hybrid())) == "dddf");
  CHECK(kinds(shape_from(with(tiny_hybrid(), "full_attention_interval", 2))) == "dfdf");
  const json types{"full_attention", "linear_attention", "linear_attention", "full_attention"};
  CHECK(kinds(shape_from(with(tiny_hybrid(), "layer_types", types))) == "fddf");
  CHECK(mistakes_of(with(tiny_hybrid(), "layer_types", {"full_attention"})) ==
        "models/tiny/config.json#/layer_types: has 1 entries for 4 layers");
  CHECK(mistakes_of(
            with(tiny_hybrid(), "layer_types", {"mamba", "linear_attention", "linear_attention", "full_attention"}))
            .find("#/layer_types/0: layer type \"mamba\" is not modelled; known: full_attention, linear_attention") !=
        std::string::npos);
  CHECK(mistakes_of(with(tiny_hybrid(), "full_attention_interval", 5)).find("no layer has attention") !=
        std::string::npos);
}

TEST_CASE("a hybrid's keys: defaults, the format of states, what is not modelled") {
  const auto s = shape_from(tiny_hybrid());
  CHECK((heads_of(s).qk_norm == QkNorm::each_head && heads_of(s).output_gate));
  CHECK(rope_of(s).columns == 2);  // a quarter of 8
  REQUIRE(s.layer(0).delta_net() != nullptr);
  CHECK(s.layer(0).delta_net()->kernel == 4);
  CHECK(s.layer(0).delta_net()->state == DType::bf16);
  CHECK(shape_from(with(tiny_hybrid(), "mamba_ssm_dtype", "float32")).layer(0).delta_net()->state == DType::fp32);
  CHECK(mistakes_of(with(tiny_hybrid(), "mamba_ssm_dtype", "int8")).find("a state in \"int8\" is not modelled") !=
        std::string::npos);
  CHECK(mistakes_of(with(tiny_hybrid(), "attn_output_gate", false)).find("#/attn_output_gate: ") != std::string::npos);
  CHECK(mistakes_of(with(tiny_hybrid(), "linear_num_key_heads", 3)).find("the 4 value heads") != std::string::npos);
  const json tower{{"architectures", {"Qwen3_5ForConditionalGeneration"}}, {"text_config", tiny_hybrid()}};
  CHECK(shape_from(tower).states() == s.states());
  CHECK(shape_from(tower).hidden == 16);
}

TEST_CASE("the parameters of a hybrid add up by head") {
  // delta networks: 2 x 8 key and 24 value columns: 16 x (40 + 24 gates + 2 x 4) + 24 x 16 out = 1536; convolution
  // 40 x 4 + 2 x 4 + a norm of 6 = 174. Attention: 16 x (16 q + 16 gates + 2 x 8) + 16 x 16 = 1024, norms of heads 16.
  const auto s = shape_from(tiny_hybrid());
  CHECK(attention_parameters(s.layer(0)) == 1536);
  CHECK(attention_parameters(s.layer(3)) == 1024);
  const double mlp = 3 * 16 * 24, norms = 32;
  CHECK(parameters(s) == 3 * (1536 + 174) + 1024 + 16 + 4 * (mlp + norms) + 16 + 2 * 160);
}

TEST_CASE("a hybrid's shares: the ranks divide the heads of its states too") {
  const auto two = shard(shape_from(tiny_hybrid()), {.devices = 2});
  CHECK(two.layer(0).delta_net()->key_heads == 1);
  CHECK(two.layer(0).delta_net()->value_heads == 2);
  const auto many = shape_from(with(with(tiny_hybrid(), "num_attention_heads", 4), "head_dim", 8));
  CHECK(refuses_shards(many, {.devices = 4}).value().find("divide the 2 key heads of the delta networks of tiny") !=
        std::string::npos);
}

TEST_CASE("the work of a convolution: rows, what precedes them, what is kept") {
  // 2 sequences of 3 rows, 10 columns of 2 bytes, 4 weights a column: 120 bytes of rows, 80 of weights, 2 x 3 rows kept
  CausalConvolution k{.sequences = 2, .rows = 6, .columns = 10, .kernel = 4, .index_bytes = Bytes{7}};
  CHECK(work(k).read.value == 120 + 80 + 120 + 7);
  CHECK(work(k).written.value == 120 + 120);  // every row is kept
  k.prompts = true;
  CHECK(work(k).read.value == 120 + 80 + 7);
  CHECK(work(k).written.value == 120 + 120);  // 3 rows of each sequence
  CHECK(work(k).flops.value == 0);
}

TEST_CASE("the work of a delta rule: a step reads each state once and writes it after every row") {
  // 2 sequences of 3 rows; 2 states of 4 x 8 numbers of 4 bytes each: 256 bytes a sequence. A row reads 2 x 4 of query
  // and key, 16 values and 4 gates, and writes 16: of 2 bytes. Two numbers a head besides.
  DeltaRule k{.sequences = 2, .rows = 6, .widest = 3, .key_heads = 1, .value_heads = 2, .key_dim = 4, .value_dim = 8};
  CHECK(state_bytes(k).value == 256);
  CHECK(work(k).read.value == 6 * 28 * 2 + 4 * 2 + 2 * 256);
  CHECK(work(k).written.value == 6 * 16 * 2 + 6 * 256);
  CHECK(work(k).flops.value == 6 * 6 * 2 * 4 * 8);
  k.prompts = true;  // states begin empty, and the last is kept
  CHECK(work(k).read.value == 6 * 28 * 2 + 4 * 2);
  CHECK(work(k).written.value == 6 * 16 * 2 + 2 * 256);
}
