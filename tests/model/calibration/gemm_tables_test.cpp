// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/gemm_tables.h"

#include "core/errors.h"
#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

using namespace draftline;

namespace {

const std::string kHead = "framework,gemm_dtype,m,n,k,latency\n";

}  // namespace

TEST_CASE("a table is read format by format, each with its operands and with the copies its collector rotates") {
  const FreshFolder folder;
  const auto file = folder.path() / "gemm.csv";
  write_text_file(file, kHead +
                            "VLLM,bfloat16,16,4096,1024,0.5\n"
                            "VLLM,fp8,16,4096,1024,0.4\n"
                            "VLLM,nvfp4,16,4096,1024,0.3\n"
                            "SGLang,nvfp4,32,4096,1024,0.3\n");
  const auto wide = read_gemm_table(Csv::from_file(file)).points,
             fp8 = read_gemm_table(Csv::from_file(file), NarrowFormat::fp8).points,
             fp4 = read_gemm_table(Csv::from_file(file), NarrowFormat::nvfp4).points;
  REQUIRE((wide.size() == 1 && fp8.size() == 1 && fp4.size() == 2));
  CHECK(wide[0].operands == Operands{});
  CHECK(fp8[0].operands.activations == DType::fp8);
  CHECK(fp8[0].time.value == Approx(0.4e-3));
  CHECK(fp8[0].copies == 6);
  CHECK(fp4[0].operands.weights == DType::fp4);
  CHECK(fp4[0].operands.scale_bits == 0.5);
  CHECK(fp4[0].copies == 1);
  CHECK(fp4[1].copies == 6);
  CHECK(read_gemm_table(Csv::from_file(file), NarrowFormat::fp8_block).points.empty());
}

TEST_CASE("rows that show how long the host takes to launch a layer are left out") {
  // Small layers take 0.1 ms: the host's. Three times that is surely the device's.
  const FreshFolder folder;
  const auto file = folder.path() / "gemm.csv";
  const std::string rows =
      "fp8_block,1,64,64,0.1\n"
      "VLLM,fp8_block,1,4096,4096,0.11\n"
      "VLLM,fp8_block,1,65536,8192,0.29\n"
      "VLLM,fp8_block,1,65536,16384,0.31\n";
  write_text_file(file, kHead + "VLLM," + rows);
  const GemmTable t = read_gemm_table(Csv::from_file(file), NarrowFormat::fp8_block);
  REQUIRE(t.points.size() == 1);
  CHECK(t.points[0].in == 16384);
  CHECK(t.points[0].copies == 1);
  CHECK(t.points[0].operands.scaling == Scaling::blocks);
  CHECK(t.host_bound == 2);
  // Another collector replays a graph: all its rows are the device's.
  std::string graphs = kHead + "SGLang," + rows;
  for (auto at = graphs.find("VLLM"); at != std::string::npos; at = graphs.find("VLLM"))
    graphs.replace(at, 4, "SGLang");
  write_text_file(file, graphs);
  CHECK(read_gemm_table(Csv::from_file(file), NarrowFormat::fp8_block).points.size() == 3);
}

TEST_CASE("TensorRT-LLM's layers are rotated until they fill L2, at most five times; of an unknown L2 six copies") {
  const FreshFolder folder;
  const auto file = folder.path() / "gemm.csv";
  write_text_file(file, kHead +
                            "TRTLLM,fp8_block,1,1024,1024,0.01\n"
                            "TRTLLM,fp8_block,1,8192,4096,0.02\n"
                            "TRTLLM,fp8_block,1,65536,16384,0.3\n");
  const auto copies = [&](std::optional<Bytes> l2) {
    std::vector<int> all;
    for (const GemmPoint& p : read_gemm_table(Csv::from_file(file), NarrowFormat::fp8_block, l2).points)
      all.push_back(p.copies);
    return all;
  };
  CHECK(copies(Bytes{100e6}) == std::vector{5, 3, 1});
  CHECK(copies({}) == std::vector{6, 6, 6});
}

TEST_CASE("mistakes of a GEMM table have their line") {
  const FreshFolder folder;
  const auto file = folder.path() / "gemm.csv";
  const auto [row, message] =
      GENERATE(table<std::string, std::string>({{"VLLM,fp8,16,4096,1024,0", "a latency must be above 0"},
                                                {"VLLM,fp8,-1,4096,1024,1", "a count out of range"},
                                                {"VLLM,fp8,0,4096,1024,1", "a count out of range"},
                                                {"VLLM,fp8,16,4096,1024,1e-300", "a latency must be above 0"},
                                                {"VLLM,fp8,16,4096,9999999999,1", "a count out of range"}}));
  write_text_file(file, kHead + row + "\n");
  try {
    read_gemm_table(Csv::from_file(file), NarrowFormat::fp8);
    FAIL("was read");
  } catch (const InputErrors& e) {
    CHECK(std::string(e.what()).find("gemm.csv:2: ") != std::string::npos);
    CHECK(std::string(e.what()).find(message) != std::string::npos);
  }
  write_text_file(file, "gemm_dtype,m,n,k,latency\nfp8,16,4096,1024,1\n");
  CHECK_THROWS_AS(read_gemm_table(Csv::from_file(file), NarrowFormat::fp8),
                  InputErrors);  // whose collector it was is not said
  CHECK_NOTHROW(read_gemm_table(Csv::from_file(file)));
}
