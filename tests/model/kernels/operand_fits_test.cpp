// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/operand_fits.h"

#include "model/calibration/kernel_fit.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

GemmFit fixed_at(double us) {
  GemmFit f;
  f.fixed = Seconds{us * 1e-6};
  return f;
}

// 16-bit GEMMs have a fixed cost of 1 us; rates of 1 (16 bits), 2 (8) and 4 PFLOP/s (4).
Device device(bool fp8 = false, bool block = false, bool fp4 = false) {
  Device d = known_device("h100-sxm");
  d.model = GpuModel{};
  for (const DType t : {DType::bf16, DType::fp16}) d.peak[static_cast<std::size_t>(t)] = FlopsPerSecond{1e15};
  for (const DType t : {DType::fp8, DType::int8}) d.peak[static_cast<std::size_t>(t)] = FlopsPerSecond{2e15};
  d.peak[static_cast<std::size_t>(DType::fp4)] = FlopsPerSecond{4e15};
  GpuModel& gpu = d.gpu();
  gpu.gemm = fixed_at(1);
  if (fp8) gpu.narrow_gemm[NarrowFormat::fp8] = fixed_at(2);
  if (block) gpu.narrow_gemm[NarrowFormat::fp8_block] = fixed_at(3);
  if (fp4) gpu.narrow_gemm[NarrowFormat::nvfp4] = fixed_at(4);
  return d;
}

struct Chosen {
  double us;
  bool guess;
  bool operator==(const Chosen&) const = default;
};
Chosen chosen(const Device& d, const Operands& o) {
  const ChosenGemmFit c = gemm_fit(d, o);
  return {c.fit.fixed.value * 1e6, c.guess};
}

constexpr Operands kWide{}, kWeightsAlone{DType::fp8, DType::bf16}, kFp8{DType::fp8, DType::fp8},
    kStatic{DType::fp8, DType::fp8, Scaling::tensor}, kBlock{DType::fp8, DType::fp8, Scaling::blocks},
    kInt8{DType::int8, DType::int8}, kFp4{DType::fp4, DType::fp4}, kFp4WeightsFp8{DType::fp4, DType::fp8};

}  // namespace

TEST_CASE("each format of operands has its own fit") {
  const Device d = device(true, true, true);
  CHECK(chosen(d, kWide) == Chosen{1, false});
  CHECK(chosen(d, kFp8) == Chosen{2, false});
  CHECK(chosen(d, kBlock) == Chosen{3, false});
  CHECK(chosen(d, kFp4) == Chosen{4, false});
}

TEST_CASE("what is narrower than the other operand, or has no rate, is widened and priced as 16 bits: a guess") {
  Device d = device(true, true, true);
  CHECK(chosen(d, kWeightsAlone) == Chosen{1, true});
  CHECK(chosen(d, kFp4WeightsFp8) == Chosen{2, false});
  d.peak[static_cast<std::size_t>(DType::fp8)] = FlopsPerSecond{0};  // as of an A100
  CHECK(chosen(d, kFp8) == Chosen{1, true});
  CHECK(chosen(d, kBlock) == Chosen{1, true});
}

TEST_CASE("a format without a fit takes the nearest one's, and that is a guess") {
  CHECK(chosen(device(), kFp8) == Chosen{1, true});
  CHECK(chosen(device(), kFp4) == Chosen{1, true});
  CHECK(chosen(device(true), kBlock) == Chosen{2, true});
  CHECK(chosen(device(true), kFp4) == Chosen{2, true});
  CHECK(chosen(device(true), kInt8) == Chosen{2, true});  // measured on floating point
}

TEST_CASE("GEMMs with one static scale have the kernels of those with a scale a row, which is no guess") {
  CHECK(chosen(device(true, true), kStatic) == Chosen{2, false});
  CHECK(chosen(device(false, true), kStatic) == Chosen{3, true});
  CHECK(chosen(device(), kStatic) == Chosen{1, true});
  Device d = device(false, true);
  d.gpu().narrow_gemm[NarrowFormat::fp8_static] = fixed_at(5);
  CHECK(chosen(d, kStatic) == Chosen{5, false});
  CHECK(chosen(d, kFp8) == Chosen{5, true});
  CHECK(chosen(d, kBlock) == Chosen{3, false});
}

TEST_CASE("experts with a scale a row take the fit of blocks before that of one static scale, which take fp8's") {
  using enum NarrowFormat;
  const auto chosen_of = [](std::initializer_list<NarrowFormat> fits, const Operands& o) {
    Device d = device();
    d.gpu().experts = ExpertFit{};
    for (const NarrowFormat f : fits) d.gpu().narrow_experts[f] = ExpertFit{};
    const ChosenExpertFit c = expert_fit(d, o);
    for (const NarrowFormat f : fits)
      if (c.fit == &*d.gpu().narrow_experts[f]) return std::pair(std::string(name(f)), c.guess);
    return std::pair(std::string("16 bits"), c.guess);
  };
  using Of = std::pair<std::string, bool>;
  CHECK(chosen_of({fp8, fp8_static, fp8_block}, kFp8) == Of("fp8", false));
  CHECK(chosen_of({fp8_static, fp8_block}, kFp8) == Of("fp8_block", true));
  CHECK(chosen_of({fp8_static}, kFp8) == Of("fp8_static", true));
  CHECK(chosen_of({}, kFp8) == Of("16 bits", true));
  CHECK(chosen_of({fp8, fp8_static, fp8_block}, kStatic) == Of("fp8_static", false));
  CHECK(chosen_of({fp8, fp8_block}, kStatic) == Of("fp8", false));  // it was measured with one
  CHECK(chosen_of({fp8_block}, kStatic) == Of("fp8_block", true));
  CHECK(chosen_of({fp8, fp8_static}, kBlock) == Of("fp8", true));
  CHECK(chosen_of({fp8, fp8_block}, kInt8) == Of("fp8", true));
  CHECK(chosen_of({fp8_static, fp8_block}, kInt8) == Of("fp8_block", true));
}

TEST_CASE("experts whose weights alone have 4 bits have a fit of their own, or that of 16 bits, which is a guess") {
  const Operands unpacked = operands_of(NarrowFormat::int4_wo), wide_scales{DType::int4, DType::fp16, Scaling::rows, 1};
  Device d = device(true, true, true);
  d.gpu().experts = ExpertFit{};
  d.gpu().narrow_experts[NarrowFormat::fp8] = ExpertFit{};
  CHECK(expert_fit(d, unpacked).fit == &*d.gpu().experts);
  CHECK(expert_fit(d, unpacked).guess);
  d.gpu().narrow_experts[NarrowFormat::int4_wo] = ExpertFit{};
  for (const Operands& o : {unpacked, wide_scales}) {
    CHECK(expert_fit(d, o).fit == &*d.gpu().narrow_experts[NarrowFormat::int4_wo]);
    CHECK_FALSE(expert_fit(d, o).guess);
  }
  CHECK(expert_fit(d, {DType::int4, DType::int4}).fit != &*d.gpu().narrow_experts[NarrowFormat::int4_wo]);
  CHECK(chosen(d, unpacked) == Chosen{1, true});  // products have no fit of it
}

TEST_CASE("on Hopper experts with a scale a row are faster than in 16 bits, those with one static scale slower") {
  const Device d = known_device(GENERATE("h100-sxm", "h200"));
  const auto time = [&](const Operands& o) {  // of a layer of Qwen3-30B-A3B
    return kernel_time(d, ExpertMlp{.rows = 32,
                                    .hidden = 2048,
                                    .intermediate = 768,
                                    .experts = 128,
                                    .per_token = 8,
                                    .weights = o.weights,
                                    .activations = o.activations,
                                    .scaling = o.scaling})
        .value;
  };
  INFO(d.name);
  CHECK(time(kFp8) < time(kWide));
  CHECK(time(kFp8) == Approx(time(kBlock)).epsilon(0.1));  // Triton's kernels on an L40S differ by less
  CHECK(time(kStatic) > time(kWide));
  CHECK(expert_fit(d, kFp8).guess);
  CHECK_FALSE(expert_fit(d, kStatic).guess);
}

TEST_CASE("a lent fit applies at the format's own rate; without a rate only the weights' bytes are saved") {
  Device d = device();
  d.gpu().gemm = GemmFit{};
  Gemm k{4096, 8192, 8192};
  const double wide = kernel_time(d, k).value;
  CHECK(wide == Approx(2.0 * 4096 * 8192 * 8192 / 1e15).epsilon(0.05));
  k.weights = k.activations = DType::fp8;
  CHECK(kernel_time(d, k).value == Approx(wide / 2).epsilon(0.05));
  d.peak[static_cast<std::size_t>(DType::fp8)] = FlopsPerSecond{0};
  CHECK(kernel_time(d, k).value == Approx(wide).epsilon(0.05));
  k.rows = 1;
  Gemm sixteen = k;
  sixteen.weights = sixteen.activations = DType::bf16;
  CHECK(kernel_time(d, k).value == Approx(kernel_time(d, sixteen).value / 2).epsilon(0.05));
}

TEST_CASE(
    "experts choose alike; where the device has no fit of experts at all, the GEMM's says whether it is a guess") {
  Device d = device(true);
  CHECK(expert_fit(d, kWide).fit == nullptr);
  CHECK_FALSE(expert_fit(d, kFp8).guess);
  CHECK(expert_fit(d, kBlock).guess);
  d.gpu().experts = ExpertFit{};
  CHECK(expert_fit(d, kWide).fit == &*d.gpu().experts);
  CHECK(expert_fit(d, kFp8).fit == &*d.gpu().experts);
  CHECK(expert_fit(d, kFp8).guess);
  d.gpu().narrow_experts[NarrowFormat::fp8] = ExpertFit{};
  CHECK(expert_fit(d, kFp8).fit == &*d.gpu().narrow_experts[NarrowFormat::fp8]);
  CHECK_FALSE(expert_fit(d, kFp8).guess);
  CHECK(expert_fit(d, kWeightsAlone).fit == &*d.gpu().experts);
  CHECK(expert_fit(d, kWeightsAlone).guess);
  CHECK_FALSE(expert_fit(d, kWide).guess);
}

TEST_CASE("scales of 4-bit weights are read with them, and results leave in 16 bits") {
  Device d = device(true, true, true);
  for (GemmFit* f : {&d.gpu().gemm, &*d.gpu().narrow_gemm[NarrowFormat::nvfp4]}) *f = GemmFit{};
  const Operands o = operands_of(NarrowFormat::nvfp4);
  Gemm k{.rows = 1, .in = 8192, .out = 8192, .weights = o.weights, .activations = o.activations};
  const double bare = kernel_time(d, k).value;
  k.scale_bits = o.scale_bits;
  CHECK(kernel_time(d, k).value == Approx(bare * 4.5 / 4).epsilon(0.01));
  d.gpu().narrow_gemm[NarrowFormat::nvfp4]->output_cost = 1;
  const double more = kernel_time(d, k).value - bare * 4.5 / 4;
  CHECK(more == Approx(2 * 8192 / d.bandwidth.value).epsilon(0.2));
}

TEST_CASE("a fit to layers with 8-bit operands takes out the pass that quantises their inputs") {
  Device truth = known_device("h100-sxm");
  GemmFit f = truth.gpu().gemm;
  f.peak_share = 0.7;
  f.bandwidth_share = 0.8;
  put_gemm(truth, kFp8, f);
  REQUIRE(truth.gpu().narrow_gemm[NarrowFormat::fp8]);
  std::vector<GemmPoint> points;
  for (const int rows : {1, 16, 64, 256, 1024})
    for (const int in : {1024, 4096, 16384})
      for (const int out : {1024, 5120, 16384, 65536}) {
        GemmPoint p{.rows = rows, .in = in, .out = out, .time = {}, .copies = 6, .operands = kFp8};
        p.time = predicted(truth, p);
        const Gemm alone{.rows = rows, .in = in, .out = out, .weights = DType::fp8, .activations = DType::fp8};
        CHECK(p.time > gpu_time(truth, alone, l2_share_left(truth, alone, 6.0 * Bytes{1.0 * in * out})) +
                           truth.gpu().copy.fixed);
        points.push_back(p);
      }
  const GemmFit found = fit_gemm(points, truth);
  CHECK(found.bandwidth_share == Approx(0.8).epsilon(0.02));
  Device fitted = truth;
  fitted.gpu().narrow_gemm = {};
  put_gemm(fitted, kFp8, found);
  for (const GemmPoint& p : points) CHECK(predicted(fitted, p) / p.time == Approx(1).epsilon(0.03));
}
