// SPDX-License-Identifier: Apache-2.0
// A folder of tables with rows of several operand formats becomes a device file with a fit for each.
#include <algorithm>
#include <sstream>

#include "core/text_file.h"
#include "model/calibration/calibrated_files.h"
#include "model/calibration/gemm_tables.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

double milliseconds(Seconds t) { return 1e3 * t.value; }

// GEMMs of every format as `truth` takes them; of fp8_block the host's time alone.
std::string gemms(const Device& truth) {
  std::ostringstream text;
  text.precision(9);
  text << "framework,gemm_dtype,m,n,k,latency\nVLLM,fp8_block,1,64,64,0.1\n";
  for (const int rows : {1, 16, 65, 129, 257, 1024})
    for (const int in : {1024, 4096, 16384})
      for (const int out : {1024, 5120, 16384}) {
        const auto row = [&](const char* format, const Operands& o) {
          const GemmPoint p{.rows = rows, .in = in, .out = out, .time = {}, .copies = 6, .operands = o};
          text << "VLLM," << format << ',' << rows << ',' << out << ',' << in << ','
               << milliseconds(predicted(truth, p)) << '\n';
        };
        row("bfloat16", {});
        row("fp8", operands_of(NarrowFormat::fp8));
        text << "VLLM,fp8_block," << rows << ',' << out << ',' << in << ",0.1\n";
        text << "VLLM,nvfp4," << rows << ',' << out << ',' << in << ",0.05\n";
      }
  return text.str();
}

std::string attention(const Device& truth, bool decode) {
  std::ostringstream text;
  text.precision(9);
  text
      << "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,latency\n";
  for (const int sequences : {1, 8, 64})
    for (const int keys : {128, 1024, 8192})
      for (const int kv_heads : {2, 8}) {
        AttentionPoint p{sequences, decode ? 1 : keys, decode ? keys : 0, 32, kv_heads, 128, {}};
        text << "vllm_flash_attn_fa3," << sequences << ',' << p.rows << ",32," << kv_heads << ",128,bfloat16,bfloat16,"
             << p.context << ',' << milliseconds(predicted(truth, p)) << '\n';
      }
  return text.str();
}

int left_out(const CalibratedDevice& r, const std::string& table, const std::string& why) {
  int rows = 0;
  for (const TableRows& t : r.tables)
    for (const auto& [reason, n] : t.excluded.reasons())
      if (t.table == table && reason.find(why) != std::string::npos) rows += n;
  return rows;
}

}  // namespace

TEST_CASE("tables with rows of several formats become a device file with a fit for each that shows the device") {
  const Device truth = known_device("h100-sxm");
  const FreshFolder folder;
  write_text_file(folder.path() / "gemm.csv.gz", gemms(truth));
  write_text_file(folder.path() / "generation_attention.csv.gz", attention(truth, true));
  write_text_file(folder.path() / "context_attention.csv.gz", attention(truth, false));
  CalibrationInput o;
  o.measured = folder.path();
  o.data = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  o.device = "h100-sxm";
  o.source = "me";
  o.locator = "here";
  const CalibratedDevice r = calibrated_from_tables(o);
  const OrderedJson& fp8 = r.device.at("fits").at("gemm_fp8");
  CHECK(fp8.at("kind") == "calibrated");
  CHECK(fp8.at("source") == "me");
  CHECK(fp8.at("tiles") == "by_rows_128");
  CHECK(fp8.contains("interval"));
  CHECK_FALSE(r.device.at("fits").at("gemm").contains("tiles"));
  // Layers launched one by one are left out, and with them the format; the card has no rate for nvfp4.
  CHECK(r.device.at("fits").at("gemm_fp8_block").at("source") == "aiconfigurator");  // as it was
  CHECK_FALSE(r.device.at("fits").contains("gemm_nvfp4"));
  CHECK(left_out(r, "gemm.csv.gz", "fp8_block launched one by one") == 54);
  CHECK(left_out(r, "gemm.csv.gz", "nvfp4, in which the datasheet has no rate") == 54);
  const auto of_fp8 =
      std::find_if(r.quality.begin(), r.quality.end(), [](const auto& q) { return q.op == "gemm, fp8"; });
  REQUIRE(of_fp8 != r.quality.end());
  CHECK(of_fp8->points == 54);
  const Document written = Document::from_text(text_of(r.device), "mine.json");
  const Device mine = read_device(written.root());
  written.finish();
  const Gemm k{.rows = 64, .in = 4096, .out = 8192, .weights = DType::fp8, .activations = DType::fp8};
  CHECK(kernel_time(mine, k) / kernel_time(truth, k) == Approx(1).epsilon(0.05));
}

TEST_CASE("a library's products are added to a device's file, and its attention to the others'") {
  const Device truth = known_device("h100-sxm");
  const FreshFolder folder;
  write_text_file(folder.path() / "gemm.csv", gemms(truth));
  write_text_file(folder.path() / "generation_attention.csv", attention(truth, true));
  write_text_file(folder.path() / "context_attention.csv", attention(truth, false));
  CalibrationInput o;
  o.measured = folder.path();
  o.data = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  o.device = "h100-sxm";
  o.source = "me";
  o.locator = "here";
  o.library = "mine";
  const OrderedJson fits = calibrated_from_tables(o).device.at("fits");
  const OrderedJson before = OrderedJson::parse(read_text_file(o.data / "devices/h100-sxm.json")).at("fits");
  CHECK(fits.at("libraries").at("mine").at("gemm_fp8").at("source") == "me");
  CHECK(fits.at("libraries").at("mine").contains("gemm"));
  CHECK(fits.at("gemm") == before.at("gemm"));
  CHECK(fits.at("gemm_fp8") == before.at("gemm_fp8"));
  const OrderedJson &kernels = fits.at("attention").at("kernels"), &known = before.at("attention").at("kernels");
  REQUIRE(kernels.size() == known.size());  // FlashAttention 3 over bf16 was measured again
  const auto measured = std::find_if(kernels.begin(), kernels.end(), [](const OrderedJson& k) {
    return k.at("library") == "flash_attention_3" && k.at("cache") == "bf16" && !k.contains("form");
  });
  REQUIRE(measured != kernels.end());
  CHECK(measured->at("decode").at("source") == "me");
}
