// SPDX-License-Identifier: Apache-2.0
// SpecFormer's equations 1 to 5 against the paper's own figures, and drafters' sizes against published ones.
#include "tests/model/intensity.h"

#include <cmath>

#include "core/reader.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;

namespace {

const std::filesystem::path kFormulas =
    std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/papers/specformer_formulas.json";

static_assert(model_intensity(DType::bf16).value == 1);  // eq. 1: 2 FLOP for 2 bytes
static_assert(model_intensity(DType::fp32).value == 0.5);
static_assert(model_intensity(DType::int4).value == 4);
static_assert(ridge_point(FlopsPerSecond{6}, BytesPerSecond{2}) == FlopsPerByte{3});
static_assert(!Addable<FlopsPerByte, FlopsPerSecond>);

}  // namespace

TEST_CASE("the A100's ridge point is 152.86 from the paper's inputs and 153.02 from the datasheet's") {
  const auto document = Document::from_file(kFormulas);
  int seen = 0;
  for (const auto& row : document.root().at("intensity").items()) {
    const auto ridge =
        ridge_point(row.at("peak").quantity<FlopsPerSecond>(), row.at("bandwidth").quantity<BytesPerSecond>());
    const double printed = row.at("intensity").number();
    CHECK(std::abs(ridge.value - printed) <= 0.005);  // two decimals are printed
    CHECK(std::abs(redundancy(ridge, model_intensity(DType::bf16)) - printed) <= 0.005);
    ++seen;
  }
  document.finish();
  CHECK(seen == 2);
}

TEST_CASE("the draft budget shrinks with the batch") {
  // rho = 152.9: 152.9 / 16 = 9.6, / 64 = 2.4, / 128 = 1.2, / 256 = 0.6
  CHECK(draft_budget(152.86, 1) == 152);
  CHECK(draft_budget(152.86, 16) == 9);
  CHECK(draft_budget(152.86, 64) == 2);
  CHECK(draft_budget(152.86, 128) == 1);
  CHECK(draft_budget(152.86, 256) == 0);
}

TEST_CASE("SpecFormer's p is that of equation 4, with and without the LM head") {
  const auto document = Document::from_file(kFormulas);
  const int positions = document.root().at("draft_positions").at("value").positive_int();
  const auto rows = document.root().at("compute_factor").at("rows").items();
  CHECK(rows.size() == 3);
  for (const auto& row : rows) {
    const auto s = shape_of(row.at("transformer").text());
    const double bare = compute_factor(draft_parameters::specformer(s, false), positions, parameters(s));
    const double headed = compute_factor(draft_parameters::specformer(s, true), positions, parameters(s));
    INFO(s.name);
    CHECK(std::abs(bare - row.at("without_head").number()) <= 0.0005);
    CHECK(std::abs(headed - row.at("with_head").number()) <= 0.0005);
    CHECK(headed - bare == Approx(head_parameters(s) / parameters(s)));
  }
  document.finish();
}

TEST_CASE("p, r1, kappa and theta by head") {
  // 10 read once and 4 of 5 each, of a target of 100: p = 1 + (10 + 20) / 100
  CHECK(DraftParameters{10, 5}.read(4) == 30);
  CHECK(compute_factor({10, 5}, 4, 100) == Approx(1.3));
  CHECK(effective_intensity(2.6, 1.3, FlopsPerByte{1}).value == Approx(2));
  CHECK(draft_efficiency(1.84, 4, 4) == Approx(1.84));  // a chain: kappa = a
  CHECK(draft_efficiency(3, 4, 60) == Approx(0.2));     // a tree of 60 nodes
  CHECK(draft_efficiency(1, 0, 0) == 1);                // no speculation
}

TEST_CASE("theta follows from the printed kappa and speedup") {
  const auto document = Document::from_file(kFormulas);
  for (const auto& row : document.root().at("kappa").at("rows").items())
    // kappa +- .005 over a speedup of about 1.5 +- .005: +- .0075
    CHECK(std::abs(step_cost_ratio(row.at("kappa").number(), row.at("speedup").number()) - row.at("theta").number()) <=
          0.0075);
  document.finish();
}

TEST_CASE("drafters are as large as their authors say") {
  using namespace draft_parameters;
  const auto small = shape_of("llama-2-7b"), large = shape_of("llama-2-13b"), llama3 = shape_of("llama-3.1-8b");
  // EAGLE's own table: 0.24B for 7B, 0.37B for 13B; the LM head is the target's.
  CHECK(eagle1(small).per_position - head_parameters(small) == Approx(236e6).epsilon(0.005));
  CHECK(eagle1(large).per_position - head_parameters(large) == Approx(370e6).epsilon(0.005));
  CHECK(draft_parameters::medusa(small).read(4) ==
        Approx(591e6).epsilon(0.001));  // Kangaroo's abstract: 591M for Medusa
  CHECK(kangaroo(small, 0).per_position - head_parameters(small) ==
        Approx(67e6).epsilon(0.005));  // and 67M for its adapter
  CHECK(draft_parameters::eagle3(llama3, 32000).read(1) == Approx(425e6).epsilon(0.002));
}

TEST_CASE("what a drafter reads follows its wiring") {
  using namespace draft_parameters;
  // d = 4, A = 2*16 + 2*16 = 64, F = 3*4*8 = 96, Y = 160, H = 40
  const auto s = uniform_network("three layers", 3, llama_layer(4, {2, 2, 2, 2}, 8), 10);
  REQUIRE(layer_parameters(s.layer(0)) == 160);
  CHECK(autoregressive().read(7) == 0);
  CHECK(space().read(7) == 0);
  CHECK(draft_model(s).read(2) == 2 * active_parameters(s));
  CHECK(mtp_heads(s).read(2) == 40 + 2 * 160);
  CHECK(mtp_sequential(s).read(1) == 32 + 160 + 40);
  // heads 0, 1, 2 of Hydra: (2*2 + 1) 16 + 40, (2*3 + 1) 16 + 40, (2*4 + 1) 16 + 40 = 120 + 152 + 184
  CHECK(hydra(s, 3).read(3) == 456);
  CHECK(hydra_plus(s, 3).read(3) == 456 + 160);
  CHECK(clover(s).read(3) == 160 + 40 + 3 * 64);
  CHECK(specformer(s, false).read(8) == 4 * 16 + 2 * 64 + 96 + 8 * (16 + 4));
  CHECK(s3d(s, 0.5).read(4) == 0.5 * active_parameters(s));
  CHECK(self_spec(s, 0.5).read(4) == 2 * active_parameters(s));
  CHECK(layerskip(s, 2).read(3) == 3 * (2 * 160 + 40));
  CHECK(kangaroo(s, 2).read(1) == 2 * 160 + 64 + 40);
}
