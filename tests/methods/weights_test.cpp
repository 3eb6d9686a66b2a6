// SPDX-License-Identifier: Apache-2.0
// Weights that a method adds to a 7B Llama, and rows it verifies, against the sizes its authors state and closed
// formulas.
#include "decoder/priced/backend.h"
#include "methods/decoder.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

TransformerShape llama_7b(int layers = 32) {
  return uniform_network("llama-7b", layers, llama_layer(4096, {32, 32, 128, 128}, 11008), 32000);
}

struct Added {
  double weights;  // counted in bf16
  int rows;
};
Added added(const std::string& method, const std::string& parameters = "",
            const TransformerShape& target = llama_7b()) {
  const Document text = Document::from_text("{\"name\":\"" + method + "\"" + parameters + "}", "method.json");
  Decoder decoder(
      Decoder::Options{.target = target, .precision = Precision(DType::bf16), .slots = 4}, MethodSpec(text.root()),
      [](const NamedNetwork&) { return llama_7b(); },
      [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  int rows = 0;
  decoder.ops.on_segment = [&](const SegmentRun& run) {
    for (std::size_t i = 0; i < run.tape->passes.size(); ++i) rows = std::max(rows, run.tape->passes[i].rows.widest);
  };
  const std::vector<std::vector<int>> none;
  decoder.ops.follow(&none);
  decoder.generator.assume(1, 8);
  decoder.generator.step();
  return {(decoder.weights.bytes() - decoder.target_bytes).value / 2, rows};
}

constexpr double d = 4096, f = 11008, V = 32000, A = 4 * d * d, F = 3 * d * f, Y = A + F, H = V * d;

}  // namespace

TEST_CASE("drafters have the sizes their authors state") {
  CHECK(added("eagle1").weights == Approx(0.24e9).epsilon(0.02));  // the authors' table: 0.24 B
  CHECK(added("medusa", R"(,"draft_length":4)").weights == Approx(591e6).epsilon(0.01));
  CHECK(added("hydra_plus").weights == Approx(1.26e9).epsilon(0.01));
  CHECK(added("kangaroo").weights == Approx(67e6).epsilon(0.01));
}

TEST_CASE("the assistant of Gemma 4 12B has the size of its published file") {
  LayerShape windowed = llama_layer(3840, {16, 8, 256, 256}, 11008);
  std::get<HeadAttention>(windowed.attention).window = TextWindow{1024};
  TransformerShape target = uniform_network("gemma", 31, windowed, 262144);
  target.add_layer(llama_layer(3840, {16, 1, 512, 512}, 11008));
  CHECK(added("gemma4_assistant", "", target).weights == Approx(422.86e6).epsilon(1e-3));
}

TEST_CASE("what DFlash 2 adds to DFlash for Qwen3.5-4B: 16.5 M of convolutions, as announced, and its codebooks") {
  const auto target = uniform_network("qwen", 32, llama_layer(2560, {32, 32, 128, 128}, 11008), 248320);
  const double more = added("dflash2", R"(,"draft_length":7)", target).weights -
                      added("dflash", R"(,"draft_length":7)", target).weights;
  // Two convolutions in each of 5 layers, each with 2 sides of 2 taps: a kernel for 160 groups, and the taps.
  const double convolutions = 5 * 2 * (2560.0 * (2 * 2 * 160) + 2 * 2 * 2560);
  CHECK(convolutions == Approx(16.5e6).epsilon(0.002));
  CHECK(more - convolutions == 2 * 256.0 * 248320 + 2560 * 256);
}

TEST_CASE("Kangaroo's adapter and head run once for each draft, its early layers once more for the last") {
  // One step, 6 drafts: the target's head verifies too; the adapter sees the newest committed row with the first.
  Decoder decoder(
      Decoder::Options{.target = llama_7b(), .precision = Precision(DType::bf16), .slots = 4},
      MethodSpec(*methods::find("kangaroo")), [](const NamedNetwork&) { return llama_7b(); },
      [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  int heads = 0;
  std::vector<int> adapter_rows, early_rows;
  decoder.ops.on_segment = [&](const SegmentRun& run) {
    for (const Op& op : run.tape->ops) {
      if (const auto* linear = std::get_if<Linear>(&op)) heads += linear->w.out == 32000;
      if (const auto* attend = std::get_if<Attend>(&op)) {
        const int rows = run.tape->pass(attend->pass).rows.total;
        if (!decoder.target.owns(attend->cache)) adapter_rows.push_back(rows);
        else if (attend->layer == 1) early_rows.push_back(rows);
      }
    }
  };
  const std::vector<std::vector<int>> none;
  decoder.ops.follow(&none);
  decoder.generator.assume(1, 8);
  decoder.generator.step();
  CHECK(heads == 6 + 1);
  CHECK(adapter_rows == std::vector<int>{2, 1, 1, 1, 1, 1});
  CHECK(early_rows == std::vector<int>(7, 1));
}

TEST_CASE("Kangaroo leaves 32 layers behind the second and 40 behind the third") {
  for (const auto& [layers, exit] : {std::pair{32, 2}, {40, 3}, {2, 1}}) {
    const TransformerShape shape = llama_7b(layers);
    const Decoder decoder(
        Decoder::Options{.target = shape, .precision = Precision(DType::bf16), .slots = 4},
        MethodSpec(*methods::find("kangaroo")), [&](const NamedNetwork&) { return shape; },
        [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
    CHECK(decoder.method->auxiliary_layers() == std::vector<int>{exit});
  }
}

TEST_CASE("drafters have the weights of the formulas, biases and norms aside") {
  struct Case {
    const char* method;
    const char* parameters;
    double weights;
    int rows;
  };
  const Case cases[] = {
      {"autoregressive", "", 0, 1},
      {"medusa", "", 4 * (d * d + H), 64},
      {"mtp_heads", "", 3 * Y, 4},
      {"mtp_sequential", "", 2 * d * d + Y, 2},
      {"eagle1", "", 2 * d * d + Y, 26},
      {"eagle2", "", 2 * d * d + Y, 60},
      {"hass", "", 2 * d * d + Y, 60},
      {"eagle3", "", 3 * d * d + Y + 3 * d * d + d * V, 60},
      {"p_eagle", "", 3 * d * d + 4 * Y + 3 * d * d + d * V, 10},  // 5 pairs and the root's, 4 masks
      {"dflash", "", 5 * d * d + 5 * Y, 16},
      {"ddtree", "", 5 * d * d + 5 * Y, 33},
      {"dflash", R"(,"block_size":8,"layers":3,"target_layers":[5,30])", 2 * d * d + 3 * Y, 8},
      {"dspark", "", 5 * d * d + 5 * Y + 2 * 256 * V, 8},
      // Two convolutions a layer, of 2 sides of 2 taps: 4 d / 16 columns of the kernel, 4 d of the taps.
      {"dflash2", "", 5 * d * d + 5 * Y + 10 * (4 * d * d / 16 + 4 * d) + 2 * 256 * V + 256 * d, 8},
      {"domino", "", 5 * d * d + 5 * Y + (3 * 1024 + 256) * (d + 1024) + 256 * V, 17},
      {"eagle3_1", "", 3 * d * d + Y + 3 * d * d + d * V, 60},
      {"hydra", "", 2 * (2 + 3 + 4 + 5) * d * d + 4 * H, 64},
      {"hydra_plus", "", Y + 2 * (2 + 3 + 4 + 5) * d * d + 4 * (d * d + H), 64},
      {"clover", "", Y + 3 * d * d + 3 * d * d, 5},
      {"specformer", "", 4 * d * d + 2 * A + F + 8 * d * d, 9},
      {"specformer", R"(,"draft_length":4,"without":"positional_ffn")", 4 * d * d + 2 * A + F, 5},
      {"specformer", R"(,"draft_length":4,"causal":true)", 4 * d * d + 2 * A + F + 8 * d * d, 5},
      {"specformer", R"(,"draft_length":4,"width":2)", 4 * d * d + 2 * (2 * A) + 2 * F + 8 * d * d, 5},
      {"clover", R"(,"without":"attention_decoder")", Y + d * d + 3 * d * d, 5},
      {"clover", R"(,"without":"regressive_connection")", Y + 3 * d * d, 5},
      {"clover", R"(,"without":"augmenting_block")", 3 * d * d, 5},
      {"s3d", "", 0, 5},
      {"space", "", 0, 36},
      {"layerskip", "", 0, 7},
      {"magicdec_streaming", "", 0, 8},
      {"magicdec_snapkv", "", 0, 8},
      {"triforce", R"(,"draft":"x")", 32 * Y + 2 * H, 7},
      {"self_spec", "", 0, 9},
      {"kangaroo", "", A, 7},
      {"gemma4_assistant", R"(,"hidden":1024,"intermediate":512,"layers":2)",
       3 * d * 1024 + 2 * (2 * d * 1024 + 3 * 512 * 1024) + V * 1024, 4},
      {"lookahead", "", 0, 120},
      {"jacobi", "", 0, 16},
      {"prompt_lookup", "", 0, 11},
      {"suffix_decoding", "", 0, 13},
      {"eagle1", R"(,"draft_length":3,"draft_vocabulary":8000)", 2 * d * d + Y + 8000 * d, 4},
      {"eagle2", R"(,"draft_length":3,"draft_vocabulary":8000)", 2 * d * d + Y + 8000 * d, 4},
      {"mcsd", R"(,"draft":"x")", 32 * Y + 2 * H, 29},
      {"sequoia", R"(,"draft":"x","rank_acceptance":[0.5,0.2,0.1])", 32 * Y + 2 * H, 64},
      {"draft_model", R"(,"draft":"x")", 32 * Y + 2 * H, 5},
      {"pard", R"(,"draft":"x")", 32 * Y + 2 * H, 17},  // 8 drafts and the root before, the root, 7 masks
      {"assisted", R"(,"draft":"x")", 32 * Y + 2 * H, 21},
      {"bild", R"(,"draft":"x")", 32 * Y + 2 * H, 11},
  };
  for (const Case& c : cases) {
    INFO(c.method);
    const Added a = added(c.method, c.parameters);
    CHECK(a.weights == Approx(c.weights).epsilon(0.001).margin(2 * d));  // a mask's embedding, a norm
    CHECK(a.rows == c.rows);
  }
}
