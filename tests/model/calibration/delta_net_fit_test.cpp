// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/delta_net_fit.h"

#include <cmath>

#include "core/errors.h"
#include "core/text_file.h"
#include "model/kernels/gpu_delta_net_time.h"
#include "model/kernels/kernel_time.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

DeltaNetFit true_fit_of_delta_net() {
  DeltaNetFit f;
  f.rule = {Seconds{4e-6}, 0.9, 1.8, 0.8};
  f.convolution = {Seconds{2e-6}, 0.5, 1.5, 0.8};
  f.prompt_convolution = {Seconds{4e-6}, 0.65, 1.2, 0.5};
  f.prompt_rule = {Seconds{2e-6}, Seconds{8e-6}, Seconds{3e-6}, 0.9, 2, 0.9};
  return f;
}

std::vector<DeltaNetPoint> measured(const Device& d) {
  std::vector<DeltaNetPoint> points;
  for (const auto& [keys, values] : {std::pair(2, 4), {4, 8}, {16, 16}, {16, 32}})
    for (const int sequences : {1, 4, 16, 64, 256})
      for (const int rows : {1, 64, 512, 4096})
        for (const bool prompts : {false, true}) {
          if (!prompts && rows > 1) continue;
          const int columns = (2 * keys + values) * 128, all = sequences * rows;
          const CausalConvolution convolution{
              .sequences = sequences, .rows = all, .columns = columns, .kernel = 4, .prompts = prompts};
          const DeltaRule rule{.sequences = sequences,
                               .rows = all,
                               .widest = rows,
                               .key_heads = keys,
                               .value_heads = values,
                               .key_dim = 128,
                               .value_dim = 128,
                               .prompts = prompts};
          for (const auto& kernel : {std::variant<CausalConvolution, DeltaRule>(convolution), {rule}}) {
            DeltaNetPoint p{kernel, {}, keys, values};
            p.time = predicted(true_fit_of_delta_net(), d, p);
            points.push_back(p);
          }
        }
  return points;
}

}  // namespace

TEST_CASE("a step's delta rule takes its states' bytes, a prompt's the chain of its chunks") {
  Device d = known_device("h100-sxm");
  d.bandwidth = BytesPerSecond{1e9};
  d.multiprocessors = 10;
  DeltaNetFit f;
  f.rule.fixed = Seconds{5e-6};
  f.prompt_rule = {Seconds{1e-6}, Seconds{10e-6}, Seconds{100e-6}, 1e6, 100, 1};
  DeltaRule k{
      .sequences = 1, .rows = 3, .widest = 3, .key_heads = 1, .value_heads = 1, .key_dim = 100, .value_dim = 100};
  const double state = 4e4;  // bytes: a microsecond for each 1000
  CHECK(delta_net_time(f, d, k).value == Approx(5e-6 + 4 * state / 1e9).epsilon(0.02));  // one read, three written
  k.prompts = true;
  k.value_heads = 20;       // two waves
  k.rows = k.widest = 130;  // three chunks
  CHECK(delta_net_time(f, d, k).value == Approx(1e-6 + 2 * (10e-6 + 3 * 100e-6)).epsilon(1e-3));
  k.value_heads = 21;  // three
  CHECK(delta_net_time(f, d, k).value == Approx(1e-6 + 3 * (10e-6 + 3 * 100e-6)).epsilon(1e-3));
}

TEST_CASE("a fit of delta networks gives back the times of the device that made them") {
  const Device d = known_device("h100-sxm");
  const auto points = measured(d);
  FitSpread spread;
  const DeltaNetFit fit = fit_delta_net(points, d, &spread);
  double sum = 0;
  for (const DeltaNetPoint& p : points) sum += std::abs(predicted(fit, d, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.01);
  CHECK(fit.rule.bandwidth_share == Approx(0.9).epsilon(0.02));
  CHECK(fit.prompt_rule.chunk.value == Approx(3e-6).epsilon(0.02));
  CHECK(spread.names.size() == 3 * 4 + 6);
  CHECK(spread.names.front() == "rule.fixed");
}

TEST_CASE("without a fit, kernels of delta networks are elementwise work of as many bytes") {
  Device d = known_device("h100-sxm");
  d.gpu().delta_net.reset();
  const CausalConvolution k{.sequences = 1, .rows = 4, .columns = 8192, .kernel = 4};
  const Work w = work(k);
  CHECK(kernel_time(d, k) == kernel_time(d, Copy{.read = w.read, .written = w.written}));
}

TEST_CASE("a table of delta networks: its kernels by name, and what is wrong with its line") {
  const FreshFolder folder;
  const std::string head =
      "kernel_source,batch_size,seq_len,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,latency\n";
  const auto read = [&](const std::string& rows) {
    const auto file = folder.path() / "gdn.csv";
    write_text_file(file, head + rows);
    return read_delta_net_table(Csv::from_file(file)).points;
  };
  const auto points = read(
      "causal_conv1d_update,8,1,4,2,128,4,128,0.002\n"
      "causal_conv1d_fn,1,8,4,2,128,4,128,0.002\n"
      "causal_conv1d_fn,2,16,4,2,128,4,128,0.004\n"
      "chunk_gated_delta_rule_flashinfer,2,100,4,2,128,4,128,0.011\n"
      "fused_recurrent_gated_delta_rule_packed_decode,8,1,4,2,128,4,128,0.0045\n");
  REQUIRE(points.size() == 4);  // the convolution of 8 rows takes another way
  CHECK(std::get<CausalConvolution>(points[0].kernel).columns == 1024);
  CHECK(std::get<CausalConvolution>(points[1].kernel).prompts);
  CHECK(std::get<DeltaRule>(points[2].kernel).widest == 100);
  CHECK(std::get<DeltaRule>(points[3].kernel).rows == 8);
  CHECK(points[3].time.value == 4.5e-6);
  const auto mistake = [&](const std::string& row) { return mistake_of([&] { read(row); }); };
  CHECK(mistake("selective_scan,8,1,4,2,128,4,128,0.002\n").find("gdn.csv:2: an unknown kernel") != std::string::npos);
  CHECK(mistake("causal_conv1d_update,0,1,4,2,128,4,128,0.002\n").find("gdn.csv:2: a count out of range") !=
        std::string::npos);
  CHECK(mistake("causal_conv1d_update,1,1,4,2,128,4,128,0\n").find("a latency must be above 0") != std::string::npos);
  // 65536 x 65536 rows, kept rows and columns: none fits an int.
  for (const char* large :
       {"chunk_gated_delta_rule,65536,65536,4,2,128,4,128,9\n", "causal_conv1d_update,65536,1,65536,2,128,4,128,9\n",
        "causal_conv1d_update,1,1,4,65536,65536,4,128,9\n"})
    CHECK(contains(mistake(large), "gdn.csv:2: counts whose product is out of range"));
}
