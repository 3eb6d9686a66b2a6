// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/kernel_fit.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "model/calibration/gemm_tables.h"
#include "model/calibration/kernel_tables.h"
#include "model/calibration/least_squares.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

TEST_CASE("least squares finds a line, and an outlier hardly moves it") {
  // y = 3 + 2 x at x = 0..9, but y(9) is off by 100.
  const auto residuals = [](const Eigen::VectorXd& p) {
    Residuals r{Eigen::VectorXd(10), Eigen::VectorXd()};
    for (int i = 0; i < 10; ++i) r.data[i] = p[0] + p[1] * i - (3 + 2 * i + (i == 9 ? 100 : 0));
    return r;
  };
  const auto fit = least_squares(residuals, Eigen::VectorXd::Zero(2), {0.05, 200, 1e-12});
  CHECK(fit.at[0] == Approx(3).margin(0.1));
  CHECK(fit.at[1] == Approx(2).margin(0.05));
}

TEST_CASE("a prior holds what the data don't say") {
  const auto residuals = [](const Eigen::VectorXd& p) {
    Residuals r{Eigen::VectorXd(1), Eigen::VectorXd(1)};
    r.data[0] = p[0] - 1;
    r.prior[0] = p[1] - 7;
    return r;
  };
  const auto fit = least_squares(residuals, Eigen::VectorXd::Zero(2));
  CHECK(fit.at[0] == Approx(1));
  CHECK(fit.at[1] == Approx(7));
}

TEST_CASE("a GEMM fit gives back the times of the device that made them") {
  const Device truth = known_device("h100-sxm");
  std::vector<GemmPoint> points;
  for (const int rows : {1, 16, 64, 160, 256, 1024})
    for (const int out : {1024, 4096, 5120, 16384})
      for (const int in : {1024, 4096, 8192, 16384}) {
        GemmPoint p{rows, in, out, {}, kCollectorCopies};
        p.time = predicted(truth, p);
        points.push_back(p);
      }
  Device fitted = truth;
  fitted.model = GpuModel{};
  fitted.gpu().gemm = fit_gemm(points, fitted);
  double sum = 0;
  for (const GemmPoint& p : points) sum += std::abs(predicted(fitted, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.02);
  CHECK(fitted.gpu().gemm.bandwidth_share == Approx(truth.gpu().gemm.bandwidth_share).epsilon(0.03));
}

TEST_CASE("an attention fit gives back the times of the device that made them, and how its kernel packs heads") {
  const Device truth = known_device(GENERATE(as<std::string>{}, "h100-sxm", "a100-sxm"));
  std::vector<AttentionPoint> points;
  for (const int sequences : {1, 8, 64})
    for (const int kv_heads : {2, 8})
      for (const int n : {64, 512, 4096}) {
        points.push_back({sequences, 1, n * 4, 32, kv_heads, 128, {}, false, CacheState::repeated});
        points.push_back({sequences, n / 4, 0, 32, kv_heads, 128, {}, false, CacheState::repeated});
      }
  for (auto& p : points) p.time = predicted(truth, p);
  Device fitted = truth;
  fitted.model = GpuModel{};
  fitted.gpu().attention.fits = {fit_attention(points, fitted)};
  double sum = 0;
  for (const auto& p : points) sum += std::abs(predicted(fitted, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.04);
  CHECK(fitted.gpu().attention.fits[0].prefill.layout == truth.gpu().attention.fits[0].prefill.layout);
}

TEST_CASE("that a kernel stacks rows and joins parts is found in its times, where nobody else's library made them") {
  Device truth = known_device("h100-sxm");
  AttentionFit& made = truth.gpu().attention.fits.front();
  made.library.clear();
  made.prefill = {};
  made.prefill.layout = HeadLayout::stacked;
  made.prefill.peak_share = 0.6;
  made.prefill.per_stage = Seconds{2e-6};
  made.prefill.per_tile_row = Seconds{100e-9};
  made.prefill.per_part_row = Seconds{40e-9};
  made.prefill.per_part = Seconds{35e-9};
  std::vector<AttentionPoint> points;
  for (const int sequences : {1, 16})
    for (const int kv_heads : {2, 8, 32})
      for (const int rows : {1, 2, 4, 8, 16, 64})
        for (const int context : {64, 1024, 8192})
          points.push_back({sequences, rows, context, 32, kv_heads, 128, {}, false, CacheState::in_memory});
  for (auto& p : points) p.time = predicted(truth, p);
  const AttentionFit found = fit_attention(points, truth);
  CHECK(found.prefill.layout == HeadLayout::stacked);
  CHECK(found.prefill.per_tile_row.value == Approx(100e-9).epsilon(0.1));
  CHECK(found.prefill.per_part_row.value == Approx(40e-9).epsilon(0.1));
  CHECK(found.prefill.per_row.value == 0);  // what the layout has not, costs nothing
  for (auto& p : points) p.library = "flash_attention_3";
  CHECK(fit_attention(points, truth).prefill.layout != HeadLayout::stacked);
}

TEST_CASE("a table is read by its columns, in the kernel model's domain alone") {
  const FreshFolder folder;
  const auto file = folder.path() / "gemm.csv";
  std::ofstream(file)
      << "gemm_dtype,m,n,k,latency\nbfloat16,16,4096,1024,0.5\nfp8,16,4096,1024,0.2\nbfloat16,4096,4096,1024,0.5\n";
  const auto points = read_gemm_table(Csv::from_file(file)).points;
  REQUIRE(points.size() == 1);
  CHECK(points[0].out == 4096);
  CHECK(points[0].in == 1024);
  CHECK(points[0].time.value == Approx(0.5e-3));
  std::ofstream(file) << "gemm_dtype,m,n,k,latency\nbfloat16,16,4096,1024,-0.5\n";
  CHECK_THROWS_AS(read_gemm_table(Csv::from_file(file)).points, InputErrors);
}

TEST_CASE("attention's table says whose kernel it is, over which cache") {
  const FreshFolder folder;
  const auto file = folder.path() / "attention.csv";
  const std::string header =
      "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,window_size,latency\n";
  std::ofstream(file) << header << "vllm_flash_attn_fa3,2,1,32,8,128,bfloat16,99,0,0.02\n"
                      << "vllm_flash_attn_fa3,2,1,32,8,128,fp8,99,0,0.01\n"
                      << "vllm_flashinfer_trtllmdecode,2,1,32,8,128,fp8,99,0,0.01\n"
                      << "vllm_triton_attn,2,1,32,8,128,fp8,99,0,0.01\n"             // another library
                      << "vllm_flash_attn_fa3,2,1,32,8,64,bfloat16,99,0,0.02\n"      // narrow heads
                      << "vllm_flash_attn_fa3,2,1,32,8,128,bfloat16,99,128,0.02\n";  // a window
  ExcludedRows left_out;
  const auto points = read_decode_table(Csv::from_file(file), left_out);
  CHECK(left_out.rows() == 3);
  REQUIRE(points.size() == 3);
  CHECK(points[0].library == "flash_attention_3");
  CHECK(points[0].format == DType::bf16);
  CHECK(points[1].format == DType::fp8);
  CHECK(points[2].library == "tensorrt_llm");
  CHECK(cache_bytes(points[0]) == Bytes{2 * 2 * 8 * 128 * 2.0 * 100});
  CHECK(cache_bytes(points[1]) == 0.5 * cache_bytes(points[0]));
}
