// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/expert_fit.h"

#include <cmath>

#include "core/errors.h"
#include "core/text_file.h"
#include "model/calibration/expert_tables.h"
#include "model/devices/device.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

// Sharp bounds, no fixed cost, no price of rows: what a test does not name costs nothing.
ExpertFit sharp() {
  ExpertFit f;
  f.blend = 100;
  f.row_cost = 0;
  return f;
}

ExpertFit true_fit_of_experts() {
  ExpertFit f;
  f.fixed = Seconds{26e-6};
  f.peak_share = 0.7;
  f.bandwidth_share = 0.9;
  f.l2_speed = 4;
  f.l2_share = 0.6;
  f.tile_half = 60;
  f.row_cost = 1.5;
  f.latency = Seconds{1.5e-6};
  return f;
}

std::vector<ExpertPoint> measured_layers(const Device& d) {
  std::vector<ExpertPoint> points;
  for (const auto& [hidden, inner, experts, per_token] :
       {std::tuple(2048, 768, 128, 8), {4096, 1536, 128, 8}, {4096, 14336, 8, 2}, {6144, 2048, 256, 8}})
    for (const int ranks : {1, 4, 16})
      for (const int rows : {1, 4, 16, 64, 128, 512, 2048, 8192})
        for (const double exponent : {0.0, 1.2}) {
          ExpertPoint p{.rows = rows,
                        .hidden = hidden,
                        .intermediate = inner / ranks,
                        .experts = experts,
                        .per_token = per_token,
                        .load = {},
                        .time = {},
                        .whole = inner};
          p.load = load_of(rows_of_experts(exponent == 0 ? ExpertDistribution::balanced : ExpertDistribution::power_law,
                                           rows, experts, per_token, exponent));
          p.time = predicted(true_fit_of_experts(), d, p);
          points.push_back(p);
        }
  return points;
}

}  // namespace

TEST_CASE("one row of a layer: fixed cost, its experts' weights, its row") {
  // 1 GB/s, endless arithmetic: 2 experts of 3 x 10 x 20 weights of 2 bytes are 2400 ns; 2 choices move 2 x 10 + 3 x 20
  // numbers, the row 10: 340 bytes; blended sharply with next to no arithmetic.
  Device d = known_device("h100-sxm");
  d.bandwidth = BytesPerSecond{1e9};
  ExpertFit f = sharp();
  f.fixed = Seconds{5e-6};
  f.row_cost = 1;
  const ExpertMlp k{1, 10, 20, 8, 2};
  const std::array one_each{1, 1, 0, 0, 0, 0, 0, 0};
  CHECK(expert_time(f, d, k, load_of(one_each)).value == Approx(5e-6 + 2400e-9 + 340e-9).epsilon(1e-3));
  f.l2_speed = 2;
  CHECK(expert_time(f, d, k, load_of(one_each), 1.0).value == Approx(5e-6 + 1200e-9 + 340e-9).epsilon(1e-3));
  CHECK(expert_time(f, d, ExpertMlp{0, 10, 20, 8, 2}, {}).value == 0);
}

TEST_CASE("tiles of an expert: a row more than a tile costs as much as a tile of them") {
  // One multiprocessor, one expert: 17 rows are a tile of 32, which costs what two of 16 do.
  Device d = known_device("h100-sxm");
  d.multiprocessors = 1;
  d.bandwidth = BytesPerSecond{1e18};  // weights cost nothing
  const ExpertFit f = sharp();
  const auto time = [&](int rows) {
    const std::array all{rows};
    return expert_time(f, d, ExpertMlp{rows, 128, 4096, 1, 1}, load_of(all)).value;
  };
  CHECK(time(16) == Approx(time(9)).epsilon(1e-3));
  CHECK(time(17) == Approx(2 * time(16)).epsilon(0.01));
  CHECK(time(128) == Approx(8 * time(16)).epsilon(0.01));
}

TEST_CASE("a fit of experts gives back the times of the device that made them") {
  const Device d = known_device("h100-sxm");
  const auto points = measured_layers(d);
  FitSpread spread;
  const ExpertFit fit = fit_experts(points, d, &spread);
  double sum = 0;
  for (const ExpertPoint& p : points) sum += std::abs(predicted(fit, d, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.01);
  CHECK(fit.fixed.value == Approx(true_fit_of_experts().fixed.value).epsilon(0.03));
  CHECK(fit.bandwidth_share == Approx(true_fit_of_experts().bandwidth_share).epsilon(0.02));
  CHECK(spread.names.size() == 9);
}

TEST_CASE("a table of expert layers: what is read and what is left out, each with its number") {
  const FreshFolder folder;
  const std::string head =
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n";
  const Device d = known_device("h100-sxm");
  const auto file = folder.path() / "moe.csv";
  write_text_file(file, head +
                            "bfloat16,16,4096,1536,8,128,2,1,balanced,1.0\n"        // 2.4 GB in 1 ms: gated
                            "bfloat16,16,4096,1536,8,128,2,1,power_law_1.01,1.0\n"  // ... and its other rows
                            "bfloat16,16,4096,1536,8,128,1,8,balanced,1.0\n"        // whole experts divided
                            "bfloat16,16,4096,1536,8,128,64,1,balanced,1.0\n"       // 24 columns
                            "fp8,16,4096,1536,8,128,1,1,balanced,1.0\n"             // another format
                            "bfloat16,128,2688,1856,6,128,1,1,balanced,0.9\n"       // 3.8 GB in 0.9 ms: two matrices
                            "bfloat16,1,2688,1856,6,128,1,1,balanced,0.06\n");      // ... of the same layer
  const ExpertTable t = read_expert_table(Csv::from_file(file), d);
  REQUIRE(t.points.size() == 2);
  CHECK(t.expert_parallel == 1);
  CHECK(t.unaligned == 1);
  CHECK(t.other_formats == 1);
  CHECK(t.not_gated == 2);
  const ExpertPoint& p = t.points[0];
  CHECK((p.rows == 16 && p.hidden == 4096 && p.intermediate == 768 && p.whole == 1536));
  CHECK(p.load.touched == 128);
  CHECK(t.points[1].load.touched < 128);
  CHECK(p.time.value == Approx(1e-3));
}

TEST_CASE("a table of expert layers is read format by format, and of each format the library that has most of it") {
  const FreshFolder folder;
  const std::string head =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
      "distribution,latency\n";
  const Device d = known_device("h100-sxm");
  const auto file = folder.path() / "moe.csv";
  write_text_file(file, head +
                            "triton,bfloat16,16,4096,1536,8,128,1,1,balanced,2.0\n"
                            "cutlass,fp8,16,4096,1536,8,128,1,1,balanced,1.0\n"
                            "cutlass,fp8,32,4096,1536,8,128,1,1,balanced,1.0\n"
                            "triton,fp8,16,4096,1536,8,128,1,1,balanced,1.5\n"
                            "marlin,int4_wo,16,4096,1536,8,128,1,1,balanced,0.8\n"
                            // 1.9 GB of 8 bits in 3 ms: nobody could tell, but 3.8 GB of 16 bits in 0.9 ms have no gate
                            "cutlass,fp8,128,2688,1856,6,128,1,1,balanced,3\n"
                            "triton,bfloat16,128,2688,1856,6,128,1,1,balanced,0.9\n");
  const ExpertTable wide = read_expert_table(Csv::from_file(file), d),
                    fp8 = read_expert_table(Csv::from_file(file), d, NarrowFormat::fp8);
  REQUIRE((wide.points.size() == 1 && fp8.points.size() == 2));
  CHECK((wide.library == "triton" && fp8.library == "cutlass"));
  CHECK((wide.other_libraries == 0 && fp8.other_libraries == 1));
  CHECK((wide.not_gated == 1 && fp8.not_gated == 1));
  CHECK(fp8.other_formats == 3);
  CHECK(fp8.points[0].operands.activations == DType::fp8);
  CHECK(touched_weights(fp8.points[0]) == 0.5 * touched_weights(wide.points[0]));
  CHECK(read_expert_table(Csv::from_file(file), d, NarrowFormat::nvfp4).points.empty());
}

TEST_CASE("rows called fp8 have one static scale where most are of kernels that take nothing else") {
  const FreshFolder folder;
  const Device d = known_device("h100-sxm");
  const auto file = folder.path() / "moe.csv";
  const auto read = [&](const std::vector<std::string>& kernels) {
    std::string text =
        "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
        "distribution,latency\n";
    for (const std::string& k : kernels) text += k + ",fp8,16,4096,1536,8,128,1,1,balanced,1.0\n";
    text += kernels.front() + ",fp8,16,4096,1536,8,128,1,8,balanced,1.0\n";
    write_text_file(file, text);
    return std::pair(read_expert_table(Csv::from_file(file), d, NarrowFormat::fp8),
                     read_expert_table(Csv::from_file(file), d, NarrowFormat::fp8_static));
  };
  const std::string cutlass = "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts",
                    triton = "vllm_modeloptfp8moe_triton_tritonexperts",
                    trtllm = "vllm_modeloptfp8moe_flashinfer_trtllm_trtllmfp8expertsmonolithic",
                    other = "vllm_fp8moe_flashinfer_cutlass_flashinferexperts";
  const auto [rows, whole] = read({cutlass, cutlass, triton});
  CHECK(rows.points.empty());
  REQUIRE(whole.points.size() == 2);
  CHECK(whole.points[0].operands == operands_of(NarrowFormat::fp8_static));
  // What is left out is counted once, whichever of the two the rows are.
  CHECK((whole.other_libraries == 1 && rows.other_libraries == 0));
  CHECK((whole.expert_parallel == 1 && rows.expert_parallel == 0));
  for (const std::string& most : {triton, trtllm, other}) {
    INFO(most);
    const auto [fp8, none] = read({most, most, cutlass});
    REQUIRE(fp8.points.size() == 2);
    CHECK(fp8.points[0].operands == operands_of(NarrowFormat::fp8));
    CHECK(none.points.empty());
    CHECK((fp8.other_libraries == 1 && none.other_libraries == 0));
    CHECK((fp8.expert_parallel == 1 && none.expert_parallel == 0));
  }
}

TEST_CASE("a fit to layers of 8-bit experts is the device's own of that format") {
  Device d = known_device("h100-sxm");
  d.gpu().narrow_experts = {};
  std::vector<ExpertPoint> points = measured_layers(d);
  for (ExpertPoint& p : points) {
    p.operands = operands_of(NarrowFormat::fp8);
    p.time = predicted(true_fit_of_experts(), d, p);
  }
  const ExpertFit fit = fit_experts(points, d);
  CHECK(fit.bandwidth_share == Approx(true_fit_of_experts().bandwidth_share).epsilon(0.02));
  put_experts(d, points[0].operands, fit);
  REQUIRE(d.gpu().narrow_experts[NarrowFormat::fp8]);
  for (const ExpertPoint& p : points) CHECK(predicted(d, p) / p.time == Approx(1).epsilon(0.03));
  CHECK(predicted(d, measured_layers(d)[0]) != predicted(d, points[0]));
}

TEST_CASE("mistakes of an expert table have their line") {
  const FreshFolder folder;
  const std::string head =
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n";
  const Device d = known_device("h100-sxm");
  const auto [row, message] = GENERATE(
      table<std::string, std::string>({{"bfloat16,16,4096,1536,8,128,1,1,skewed,1.0", "a distribution is"},
                                       {"bfloat16,16,4096,1536,8,128,1,1,power_law_1,1.0", "an exponent other than 1"},
                                       {"bfloat16,16,4096,1536,9,8,1,1,balanced,1.0", "more experts than there are"},
                                       {"bfloat16,0,4096,1536,8,128,1,1,balanced,1.0", "a count out of range"},
                                       {"bfloat16,1000000,4096,1536,2000,2000,1,1,balanced,1.0", "whose product is"},
                                       {"bfloat16,16,4096,1536,8,128,1,1,balanced,0", "a latency must be above 0"}}));
  const auto file = folder.path() / "moe.csv";
  write_text_file(file, head + row + "\n");
  try {
    read_expert_table(Csv::from_file(file), d);
    FAIL("was read");
  } catch (const InputErrors& e) {
    CHECK(std::string(e.what()).find("moe.csv:2: ") != std::string::npos);
    CHECK(std::string(e.what()).find(message) != std::string::npos);
  }
}
