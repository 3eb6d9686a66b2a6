// SPDX-License-Identifier: Apache-2.0
// Networks with state spaces (Mamba-2) and with gates per column (KDA): sizes against published ones, keys, work,
// shares.
#include "model/transformers/described_transformer.h"
#include "model/transformers/module_formats.h"
#include "model/work.h"
#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

namespace {

struct NemotronSizes {
  int hidden, mamba_heads, state, heads, kv_heads, intermediate;
  const char* pattern;
};
json nemotron(const NemotronSizes& n) {
  return {{"architectures", {"NemotronHForCausalLM"}},
          {"hidden_size", n.hidden},
          {"intermediate_size", n.intermediate},
          {"num_attention_heads", n.heads},
          {"num_key_value_heads", n.kv_heads},
          {"head_dim", 128},
          {"vocab_size", 131072},
          {"hybrid_override_pattern", n.pattern},
          {"mamba_num_heads", n.mamba_heads},
          {"mamba_head_dim", 64},
          {"ssm_state_size", n.state},
          {"n_groups", 8},
          {"chunk_size", 128},
          {"mlp_hidden_act", "relu2"},
          {"mamba_ssm_cache_dtype", "float32"}};
}
json nemotron_experts(const NemotronSizes& n, int count, int per_token, double scale) {
  json c = nemotron(n);
  c["n_routed_experts"] = count;
  c["num_experts_per_tok"] = per_token;
  c["moe_intermediate_size"] = n.intermediate;
  c["moe_shared_expert_intermediate_size"] = 2 * n.intermediate;
  c["n_shared_experts"] = 1;
  c["routed_scaling_factor"] = scale;
  c["mtp_hybrid_override_pattern"] = "*E";
  return c;
}
json nemotron_nano() {
  return nemotron_experts({2688, 64, 128, 32, 2, 1856, "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"}, 128, 6,
                          2.5);
}
json nemotron_super() {
  json c =
      nemotron_experts({4096, 128, 128, 32, 2, 2688,
                        "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"},
                       512, 22, 5);
  c["moe_latent_size"] = 1024;
  c["num_nextn_predict_layers"] = 1;
  return c;
}
json nemotron_ultra() {
  const std::string pattern =
      "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  json c = nemotron_experts({8192, 256, 128, 64, 2, 5120, ""}, 512, 22, 5);
  c.erase("hybrid_override_pattern");
  for (const char letter : pattern)
    c["layers_block_type"].push_back(letter == 'M' ? "mamba" : letter == 'E' ? "moe" : "attention");
  c["moe_latent_size"] = 2048;
  return c;
}

json granite(int hidden, int heads, int kv_heads, int mamba_heads) {
  json c = {{"architectures", {"GraniteMoeHybridForCausalLM"}},
            {"hidden_size", hidden},
            {"num_hidden_layers", 40},
            {"num_attention_heads", heads},
            {"num_key_value_heads", kv_heads},
            {"vocab_size", 100352},
            {"tie_word_embeddings", true},
            {"position_embedding_type", "nope"},
            {"mamba_n_heads", mamba_heads},
            {"mamba_d_head", 64},
            {"mamba_d_state", 128},
            {"mamba_n_groups", 1},
            {"embedding_multiplier", 12},
            {"attention_multiplier", 0.0078125},
            {"residual_multiplier", 0.22},
            {"logits_scaling", 16}};
  for (int i = 0; i < 40; ++i) c["layer_types"].push_back(i % 10 == 5 ? "attention" : "mamba");
  return c;
}
json granite_experts(json c, int count, int per_token, int intermediate, int shared) {
  c["num_local_experts"] = count;
  c["num_experts_per_tok"] = per_token;
  c["intermediate_size"] = intermediate;
  c["shared_intermediate_size"] = shared;
  return c;
}
json granite_small() { return granite_experts(granite(4096, 32, 8, 128), 72, 10, 768, 1536); }
json granite_tiny() { return granite_experts(granite(1536, 12, 4, 48), 64, 6, 512, 1024); }

json falcon_h1() {
  return {{"architectures", {"FalconH1ForCausalLM"}},
          {"hidden_size", 5120},
          {"intermediate_size", 21504},
          {"num_hidden_layers", 72},
          {"num_attention_heads", 20},
          {"num_key_value_heads", 4},
          {"head_dim", 128},
          {"vocab_size", 261120},
          {"mamba_n_heads", 32},
          {"mamba_d_head", 128},
          {"mamba_d_ssm", 4096},
          {"mamba_d_state", 256},
          {"mamba_n_groups", 2},
          {"mamba_rms_norm", false}};
}

json kimi_linear() {
  json c = {{"architectures", {"KimiLinearForCausalLM"}},
            {"hidden_size", 2304},
            {"intermediate_size", 9216},
            {"num_hidden_layers", 27},
            {"num_attention_heads", 32},
            {"vocab_size", 163840},
            {"kv_lora_rank", 512},
            {"q_lora_rank", nullptr},
            {"qk_nope_head_dim", 128},
            {"qk_rope_head_dim", 64},
            {"v_head_dim", 128},
            {"mla_use_nope", true},
            {"num_experts", 256},
            {"num_experts_per_token", 8},
            {"moe_intermediate_size", 1024},
            {"num_shared_experts", 1},
            {"first_k_dense_replace", 1},
            {"routed_scaling_factor", 2.446}};
  json& linear = c["linear_attn_config"] = {{"head_dim", 128}, {"num_heads", 32}, {"short_conv_kernel_size", 4}};
  for (int i = 1; i <= 27; ++i) linear[i % 4 == 0 || i == 27 ? "full_attn_layers" : "kda_layers"].push_back(i);
  return c;
}
json kimi_k3() {
  json c = kimi_linear();
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, int>>{{"hidden_size", 7168},
                                                          {"intermediate_size", 33792},
                                                          {"num_hidden_layers", 93},
                                                          {"num_attention_heads", 96},
                                                          {"q_lora_rank", 1536},
                                                          {"num_experts", 896},
                                                          {"num_experts_per_token", 16},
                                                          {"moe_intermediate_size", 3072},
                                                          {"num_shared_experts", 2},
                                                          {"routed_expert_hidden_size", 3584},
                                                          {"attn_res_block_size", 12}})
    c[key] = value;
  c["hidden_act"] = "situ";
  c["mla_use_output_gate"] = true;
  json& linear = c["linear_attn_config"] = {{"head_dim", 128}, {"num_heads", 96}, {"use_full_rank_gate", true}};
  for (int i = 1; i <= 93; ++i) linear[i % 4 == 0 || i == 93 ? "full_attn_layers" : "kda_layers"].push_back(i);
  return c;
}

struct PublishedHybrid {
  const char* name;
  json config;
  double total, active;  // in thousand millions, as published
  double kv_bytes;       // of a token, 16 bits, by hand
  double state_bytes;    // of a sequence in the config's format, by hand
};
std::vector<PublishedHybrid> published_hybrids() {
  return {
      // 6 layers of 2 x 2 heads of 128; 23 states of 64 x 64 x 128 in 32 bits. "31.6B total, 3.2B active"
      {"Nemotron-3-Nano", nemotron_nano(), 31.6, 3.2, 6 * 1024, 23 * 524288.0 * 4},
      {"Nemotron-3-Super", nemotron_super(), 120.6, 12, 8 * 1024, 40 * 1048576.0 * 4},
      {"Nemotron-3-Ultra", nemotron_ultra(), 550, 55, 12 * 1024, 48 * 2097152.0 * 4},
      {"Nemotron-H-56B",
       nemotron({8192, 256, 256, 64, 8, 32768,
                 "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-"
                 "M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}),
       56, 55, 10 * 4096, 54 * 4194304.0 * 4},
      {"Nemotron-H-8B",
       nemotron({4096, 128, 128, 32, 8, 21504, "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}), 8.1, 7.6,
       4 * 4096, 24 * 1048576.0 * 4},
      {"Granite-4.0-H-Small", granite_small(), 32, 9, 4 * 4096, 36 * 1048576.0 * 2},
      {"Granite-4.0-H-Tiny", granite_tiny(), 7, 1.4, 4 * 2048, 36 * 393216.0 * 2},
      {"Falcon-H1-34B", falcon_h1(), 33.6, 32.3, 72 * 2048, 72 * 1048576.0 * 2},
      // 7 layers of a latent of 512 + 64; 20 states of 32 x 128 x 128 in 32 bits. "48B-A3B"
      {"Kimi-Linear-48B", kimi_linear(), 48, 3, 7 * 1152, 20 * 524288.0 * 4},
  };
}

double kv_bytes(const TransformerShape& s) {
  double elements = 0;
  for (int i = 0; i < s.layers(); ++i) elements += cached_elements(s.layer(i));
  return 2 * elements;
}
double state_bytes(const TransformerShape& s) {
  double bytes = 0;
  for (int i = 0; i < s.layers(); ++i)
    if (const auto form = s.layer(i).states()) bytes += bytes_of(form->format, form->elements()).value;
  return bytes;
}

TransformerShape described(const std::string& text) {
  const auto document = Document::from_text(text, "scenario.json");
  auto shape = read_described_transformer(document.root());
  document.finish();
  return shape;
}

}  // namespace

TEST_CASE("parameters of networks with state spaces and with gates per column are the published ones, by name") {
  for (const PublishedHybrid& p : published_hybrids()) {
    INFO(p.name);
    const auto s = shape_from(p.config);
    CHECK(parameters(s) == Approx(p.total * 1e9).epsilon(0.025));
    CHECK(active_parameters(s) == Approx(p.active * 1e9).epsilon(0.05));
    CHECK(kv_bytes(s) == p.kv_bytes);
    CHECK(state_bytes(s) == p.state_bytes);
  }
  const auto k3 = shape_from(kimi_k3());
  CHECK(parameters(k3) == Approx(2.8e12).epsilon(0.02));
  CHECK(k3.notes.size() == 1);  // attention over blocks of layers is not priced
  CHECK((k3.experts()->latent == 3584 && k3.latent()->output_gate));
}

TEST_CASE(
    "the named modules of a network hold its parameters: experts without a gate, of a latent space, KDA's gates") {
  std::vector<json> configs{kimi_k3()};
  for (const PublishedHybrid& p : published_hybrids()) configs.push_back(p.config);
  for (const json& config : configs) {
    INFO(config);
    const auto s = shape_from(config);
    CHECK(stored_bytes(s, Precision(DType::bf16)).value == Approx(2 * parameters(s)).epsilon(0.002));
  }
}

TEST_CASE("Nemotron-H's layers are one sublayer each, and its MTP module is attention with experts") {
  const auto s = shape_from(nemotron_super());
  CHECK((s.layers() == 88 && s.kinds.size() == 3 && s.mtp_modules == 1));
  CHECK((s.layer(0).mamba() != nullptr && !s.layer(0).has_mlp()));
  CHECK((!s.layer(1).has_attention() && s.layer(1).experts()->latent == 1024));
  CHECK((s.layer(7).attends() && !s.layer(7).has_mlp() && s.layer(7).rope()->columns == 0));
  CHECK((s.mtp_layer->attends() && s.mtp_layer->experts() != nullptr));
  CHECK(s.usual_layer() == s.layer(7));
  CHECK(s.layer(0).mamba()->chunk == 128);
  // A norm for the one sublayer; the matrices, a convolution with its bias, three numbers a head, and a norm.
  CHECK(vector_parameters(s.layer(0)) == 4096 + 5.0 * (8192 + 2048) + 3 * 128 + 8192);
  CHECK(vector_parameters(s.layer(1)) == 4096 + 512);
}

TEST_CASE("keys of networks with state spaces that are not modelled are refused at their place") {
  CHECK(
      contains(mistakes_of(with(nemotron_nano(), "hybrid_override_pattern", "MX")),
               "#/hybrid_override_pattern: may only contain the letters M (state space), * (attention), - (MLP) and E "
               "(experts)"));
  CHECK(contains(mistakes_of(with(nemotron_nano(), "num_hidden_layers", 51)),
                 "#/num_hidden_layers: must be the number of kinds of layers, 52"));
  CHECK(contains(mistakes_of(with(nemotron_nano(), "mlp_hidden_act", "silu")), "activation \"silu\" is not modelled"));
  CHECK(contains(mistakes_of(with(nemotron_nano(), "n_groups", 7)), "64 heads of its state spaces are not a multiple"));
  CHECK(contains(mistakes_of(with(nemotron_nano(), "mtp_hybrid_override_pattern", "M*E")),
                 "#/mtp_hybrid_override_pattern"));
  constexpr auto kLimited = "#/time_step_limit: a limit of the steps other than from 0 to infinity is not modelled";
  for (const json& limit : {json{0.001, "Infinity"}, json{0, 0.1}, json{0, {{"__float__", "NaN"}}}, json::array({0})})
    CHECK(contains(mistakes_of(with(granite_small(), "time_step_limit", limit)), kLimited));
  CHECK(contains(mistakes_of(with(falcon_h1(), "mamba_d_ssm", 5120)), "#/mamba_d_ssm: must be the columns"));
  json mixed = granite_small();
  mixed["layer_types"][0] = "multihead_latent_attention";
  CHECK(contains(mistakes_of(mixed), "#/layer_types/0: is not modelled for this architecture"));
  json lost = kimi_linear();
  lost["linear_attn_config"]["kda_layers"].erase(0);
  CHECK(contains(mistakes_of(lost), "#/linear_attn_config: names 26 layers of 27"));
}

TEST_CASE("kinds of layers and an infinite limit of the steps have two spellings each") {
  json older = nemotron_ultra(), newer = older;
  for (json& word : newer["layers_block_type"])
    word = word == "mamba" ? "linear_attention" : word == "attention" ? "full_attention" : "moe";
  newer["mtp_layers_block_type"] = {"full_attention", "moe"};
  json small = granite_small(), with_words = small;
  for (json& word : with_words["layer_types"]) word = word == "mamba" ? "linear_attention" : "full_attention";
  CHECK(shape_from(with_words) == shape_from(small));
  older["time_step_limit"] = {0, "Infinity"};
  newer["time_step_limit"] = {0.0, {{"__float__", "Infinity"}}};
  CHECK(shape_from(newer) == shape_from(older));
}

TEST_CASE("factors of a config.json are those that stored weights contain; absent ones are 1") {
  json c = granite_small();
  const auto s = shape_from(c);
  CHECK((s.embedding_scale == 12 && s.logit_factor == 1.0 / 16 && s.usual_layer().heads()->query_scale == 0.0078125));
  for (const LayerShape& kind : s.kinds)
    CHECK(kind.factors == MatrixFactors{.o = 0.22, .mamba_out = 0.22, .down = 0.22});
  for (const char* key : {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"})
    c.erase(key);
  const auto plain = shape_from(c);
  CHECK((plain.embedding_scale == 1 && plain.logit_factor == 1 && plain.usual_layer().heads()->query_scale == 1));
  CHECK(plain.layer(0).factors == MatrixFactors{});

  json h1 = falcon_h1();
  CHECK(shape_from(h1).layer(0).factors == MatrixFactors{});
  h1["lm_head_multiplier"] = 0.5;
  h1["attention_in_multiplier"] = 2;
  h1["key_multiplier"] = 0.25;
  h1["mlp_multipliers"] = {0.75, 3};
  h1["ssm_in_multiplier"] = 2;
  h1["ssm_multipliers"] = {1, 2, 3, 4, 5};
  h1["ssm_out_multiplier"] = 7;
  const auto all = shape_from(h1);
  CHECK(all.logit_factor == 0.5);
  CHECK(all.layer(0).factors ==
        MatrixFactors{.qkv = 2, .keys = 0.25, .gate = 0.75, .mamba_in = {2, 4, 6, 8, 10}, .mamba_out = 7, .down = 3});
  h1["ssm_multipliers"] = {1, 2};
  CHECK(contains(mistakes_of(h1), "#/ssm_multipliers: must be 5 numbers"));
}

TEST_CASE("Falcon-H1's norm stands before its gate unless the file says otherwise, or is absent") {
  const auto mamba = [](json c) { return *shape_from(c).layer(0).mamba(); };
  CHECK((!mamba(falcon_h1()).norm && !mamba(falcon_h1()).norm_before_gate));
  json normed = with(falcon_h1(), "mamba_rms_norm", true);
  CHECK((mamba(normed).norm && mamba(normed).norm_before_gate));
  normed["mamba_norm_before_gate"] = false;
  CHECK((mamba(normed).norm && !mamba(normed).norm_before_gate));
}

TEST_CASE("architectures with a part that is not modelled are refused by that part, with what to do instead") {
  const auto refusal = [](const char* architecture) { return mistakes_of({{"architectures", {architecture}}}); };
  CHECK(contains(refusal("Zamba2ForCausalLM"),
                 "layers that share the weights of one attention, which is not modelled; describe the network"));
  CHECK(contains(refusal("MiniMaxText01ForCausalLM"), "lightning attention"));
}

TEST_CASE("devices divide the heads of state spaces and their groups, and have a single group each") {
  const auto nano = shape_from(nemotron_nano()), small = shape_from(granite_small());
  const Mamba2 one = *shard(nano, {.devices = 4}).layer(0).mamba();
  CHECK((one.heads == 16 && one.groups == 2 && one.columns() == 1024));
  const Mamba2 alone = *shard(small, {.devices = 8}).layer(0).mamba();
  CHECK((alone.heads == 16 && alone.groups == 1));
  CHECK(contains(*refuses_shards(nano, {.devices = 16}), "does not divide the 8 groups of the state spaces"));
  CHECK(contains(*refuses_shards(shape_from(falcon_h1()), {.devices = 3}), "does not divide the 20 heads"));
}

TEST_CASE("a scan multiplies and adds twice for each number of a state and row, and moves a state for each row") {
  // 2 sequences of 3 rows, 4 heads of 8 columns in 2 groups, states of 4 x 8 x 16 numbers of 4 bytes.
  SelectiveScan k{.sequences = 2, .rows = 6, .widest = 3, .heads = 4, .head_dim = 8, .groups = 2, .state_dim = 16};
  CHECK(work(k).flops.value == 4 * 6 * 4 * 8 * 16);
  CHECK(state_bytes(k).value == 2048);
  const double inputs = 2 * (6 * (32 + 2 * 2 * 16 + 4) + 3 * 4);
  CHECK(work(k).read.value == inputs + 2 * 2048);
  CHECK(work(k).written.value == 2 * 6 * 32 + 6 * 2048);
  k.prompts = true;
  CHECK(work(k).read.value == inputs);
  CHECK(work(k).written.value == 2 * 6 * 32 + 2 * 2048);
}

TEST_CASE("an ungated expert has two matrices, and experts of narrower rows leave the router its own") {
  ExpertMlp k{.rows = 4, .hidden = 16, .intermediate = 24, .experts = 8, .per_token = 8};
  const double router = 2.0 * 4 * 64 * 8;
  k.gated = false;
  k.routed_apart = true;
  k.router_columns = 64;
  CHECK(work(k).flops.value == router + 2.0 * 4 * 8 * 2 * 16 * 24);
  CHECK(work(k).read.value == 2 * (4 * (16 + 64) + 64 * 8 + 8 * 2 * 16 * 24));
}

TEST_CASE("a network by its shapes has states and layers in a pattern") {
  const std::string sizes =
      R"({"layers": 6, "hidden": 64, "heads": 4, "kv_heads": 2, "intermediate": 96, "vocabulary": 100, )";
  const std::string mamba = R"("mamba": {"heads": 4, "head_dim": 16, "groups": 2, "state": 32, "format": "fp32"}, )";
  const auto s = described(sizes + mamba + R"("experts": {"count": 8, "per_token": 2, "intermediate": 32, "latent": 16},
    "gated": false, "pattern": ["mamba", "experts", "attention+mamba+mlp"]})");
  CHECK((s.layer(0).mamba() != nullptr && !s.layer(0).has_mlp() && s.layer(3) == s.layer(0)));
  CHECK((!s.layer(1).has_attention() && s.layer(1).experts()->latent == 16));
  CHECK(
      (s.layer(2).attends() && s.layer(2).mamba() != nullptr && s.layer(2).dense_mlp()->kind == MlpKind::squared_relu));
  CHECK(s.states() == StateForm{2, 4, 32, 16, 128 + 64, 4, DType::fp32, true});
  const auto delta = described(sizes + R"("delta_net": {"key_heads": 2, "value_heads": 4, "key_dim": 16, "value_dim": 8,
    "column_gates_rank": 4}, "pattern": ["delta_net+mlp", "attention+mlp"]})");
  CHECK(delta.layer(0).delta_net()->column_gates->rank == 4);
  const auto mistake = [&](const std::string& rest) { return mistake_of([&] { described(sizes + rest + "}"); }); };
  CHECK(contains(mistake(mamba + R"("pattern": ["mamba+mlp"])"), "#/pattern: no layer attends to all of the text"));
  CHECK(
      contains(mistake(R"("pattern": ["mamba", "attention"])"), "\"mamba\" requires the key \"mamba\" of the network"));
  CHECK(contains(mistake(R"("pattern": ["lstm", "attention"])"), "\"lstm\" is not known; known: attention"));
  CHECK(contains(mistake(mamba + R"("name": "x")"), "missing key \"pattern\""));
}
