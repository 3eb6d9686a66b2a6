// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/residual_streams_fit.h"

#include <cmath>

#include "core/text_file.h"
#include "model/kernels/gpu_stream_mix_time.h"
#include "model/kernels/kernel_time.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

ResidualStreamsFit true_fit_of_streams() {
  ResidualStreamsFit f;
  f.join = {Seconds{9e-6}, 0.88, 1.6, 0.7};
  f.spread = {Seconds{3e-6}, 0.85, 2.5, 0.4};
  return f;
}

}  // namespace

TEST_CASE("residual streams are read twice where they join, and written once where a result is spread") {
  // 5 rows of 3 streams of 10 columns in 2 bytes: 300 bytes of streams, 100 of a sublayer's rows; a matrix of 30 x 15
  StreamMix k{.rows = 5, .hidden = 10, .streams = 3};
  CHECK(work(k).read.value == 2 * 300 + 30 * 15 * 4);
  CHECK(work(k).written.value == 100);
  CHECK(work(k).flops.value == 2 * 5 * 30 * 15);
  k.spreads = true;
  CHECK(work(k).read.value == 300 + 100);
  CHECK(work(k).written.value == 300);
  CHECK(work(k).flops.value == 0);
}

TEST_CASE("a device's fit prices residual streams; without one they are elementwise work of as many bytes") {
  Device d = known_device("h100-sxm");
  d.bandwidth = BytesPerSecond{1e9};
  ResidualStreamsFit f;
  f.join.fixed = Seconds{9e-6};
  f.spread.fixed = Seconds{3e-6};
  d.gpu().residual_streams = f;
  for (const bool spreads : {false, true}) {
    const StreamMix k{.rows = 10, .hidden = 100, .streams = 4, .spreads = spreads};
    d.gpu().residual_streams = f;
    const double fixed = spreads ? 3e-6 : 9e-6;
    CHECK(kernel_time(d, k).value == Approx(fixed + work(k).bytes().value / 1e9));
    CHECK(stream_mix_time(f, d, k) == kernel_time(d, k));
    d.gpu().residual_streams.reset();
    CHECK(kernel_time(d, k) == kernel_time(d, as_elementwise(work(k))));
  }
}

TEST_CASE("a fit of residual streams gives back the times of the device that made them") {
  const Device d = known_device("h100-sxm");
  std::vector<StreamMixPoint> points;
  for (const int hidden : {4096, 7168})
    for (int rows = 1; rows <= 1 << 16; rows *= 2)
      for (const bool spreads : {false, true}) {
        StreamMixPoint p{{.rows = rows, .hidden = hidden, .streams = 4, .spreads = spreads}};
        p.time = predicted(true_fit_of_streams(), d, p);
        points.push_back(p);
      }
  FitSpread spread;
  const ResidualStreamsFit fit = fit_residual_streams(points, d, &spread);
  double sum = 0;
  for (const StreamMixPoint& p : points) sum += std::abs(predicted(fit, d, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.01);
  CHECK(fit.join.fixed.value == Approx(9e-6).epsilon(0.02));
  CHECK(fit.spread.bandwidth_share == Approx(0.85).epsilon(0.02));
  CHECK(spread.names.size() == 2 * 4);
}

TEST_CASE("a table of residual streams has the time of all sites of a layer") {
  const FreshFolder folder;
  const auto read = [&](const std::string& rows) {
    const auto file = folder.path() / "mhc_module.csv";
    write_text_file(file, "op_name,num_tokens,num_sites,hc_mult,hidden_size,latency\n" + rows);
    return read_residual_streams_table(Csv::from_file(file));
  };
  const auto points = read("pre,8,2,4,4096,0.018\npost,8,1,4,7168,0.008\n");
  REQUIRE(points.size() == 2);
  CHECK(points[0].time.value == Approx(9e-6));
  CHECK((points[0].kernel.streams == 4 && points[0].kernel.hidden == 4096 && !points[0].kernel.spreads));
  CHECK(points[1].time.value == Approx(8e-6));
  CHECK(points[1].kernel.spreads);
  CHECK(contains(mistake_of([&] { read("fused,8,2,4,4096,0.018\n"); }), "mhc_module.csv:2: an unknown kernel"));
}
