// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/state_space_fit.h"

#include <cmath>

#include "core/text_file.h"
#include "model/kernels/gpu_delta_net_time.h"
#include "model/kernels/gpu_time.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

StateSpaceFit true_fit_of_state_spaces() {
  StateSpaceFit f;
  f.convolution = {Seconds{4e-6}, 0.7, 1.5, 0.6};
  f.prompt_convolution = {Seconds{4e-6}, Seconds{0.04e-6}, Seconds{0.07e-6}, 0.9, 5, 0.5};
  return f;
}

}  // namespace

TEST_CASE("a state space's convolution of a prompt takes a CTA for each column, which walks over chunks of 512 rows") {
  Device d = known_device("h100-sxm");
  d.multiprocessors = 10;
  StateSpaceFit f;
  f.convolution.fixed = Seconds{3e-6};
  f.prompt_convolution = {Seconds{1e-6}, Seconds{2e-6}, Seconds{5e-6}, 1e6, 100, 0};
  CausalConvolution k{
      .sequences = 2, .rows = 2 * 512, .columns = 100, .kernel = 4, .prompts = true, .state_space = true};
  const auto microseconds = [&] { return state_space_time(f, d, k).value * 1e6; };
  CHECK(microseconds() == Approx(1 + 20 * (2 + 5)).epsilon(1e-3));  // 200 CTAs in 20 waves
  k.rows = 2 * 100;                                                 // a part of 512 rows takes as long
  CHECK(microseconds() == Approx(1 + 20 * (2 + 5)).epsilon(1e-3));
  k.rows = 2 * 513;  // twice the threads, two chunks at a time
  CHECK(microseconds() == Approx(1 + 20 * (2 + 2 * 5)).epsilon(1e-3));
  k.rows = 2 * 1025;
  CHECK(microseconds() == Approx(1 + 20 * (2 + 4 * 5)).epsilon(1e-3));
  k.prompts = false;
  k.rows = 2;
  CHECK(microseconds() == Approx(3).epsilon(0.01));
}

TEST_CASE("a device's fit of state spaces prices their convolutions, and no delta network's") {
  Device d = known_device("h100-sxm");
  d.gpu().state_space = true_fit_of_state_spaces();
  CausalConvolution k{.sequences = 1, .rows = 1, .columns = 6144, .kernel = 4, .state_space = true};
  for (const bool prompts : {false, true}) {
    k.prompts = prompts;
    k.rows = prompts ? 64 : 1;
    CHECK(gpu_time(d, k) == state_space_time(*d.gpu().state_space, d, k));
    CHECK(launch_part(d, k).value == Approx(4e-6));
    CausalConvolution of_delta_net = k;
    of_delta_net.state_space = false;
    CHECK(gpu_time(d, of_delta_net) == delta_net_time(*d.gpu().delta_net, d, of_delta_net));
    CHECK(launch_part(d, of_delta_net) < launch_part(d, k));
    Device without = d;
    without.gpu().state_space.reset();
    CHECK(gpu_time(without, k) == gpu_time(d, of_delta_net));
  }
}

TEST_CASE("a fit of state spaces gives back the times of the device that made them") {
  const Device d = known_device("h100-sxm");
  std::vector<StateSpacePoint> points;
  for (const int columns : {1536, 6144, 10240, 18432})
    for (const int sequences : {1, 4, 16, 64, 256})
      for (const int rows : {1, 64, 512, 4096, 16384}) {
        StateSpacePoint p{{.sequences = sequences,
                           .rows = sequences * rows,
                           .columns = columns,
                           .kernel = 4,
                           .prompts = rows > 1,
                           .state_space = true}};
        p.time = predicted(true_fit_of_state_spaces(), d, p);
        points.push_back(p);
      }
  FitSpread spread;
  const StateSpaceFit fit = fit_state_space(points, d, &spread);
  double sum = 0;
  for (const StateSpacePoint& p : points) sum += std::abs(predicted(fit, d, p) / p.time - 1);
  CHECK(sum / static_cast<double>(points.size()) < 0.01);
  CHECK(fit.prompt_convolution.fixed.value == Approx(4e-6).epsilon(0.02));
  CHECK(fit.prompt_convolution.chunk.value == Approx(0.07e-6).epsilon(0.02));
  CHECK(spread.names.front() == "convolution.fixed");
  CHECK(spread.names.size() == 4 + 6);
}

TEST_CASE("a table of state spaces: convolved columns from heads and groups, and what is wrong with its line") {
  const FreshFolder folder;
  const auto read = [&](const std::string& rows) {
    const auto file = folder.path() / "mamba2.csv";
    write_text_file(file, "kernel_source,batch_size,seq_len,d_conv,nheads,head_dim,n_groups,d_state,latency\n" + rows);
    return read_state_space_table(Csv::from_file(file));
  };
  const StateSpaceTable table = read(
      "causal_conv1d_update,8,1,4,64,64,8,128,0.005\n"
      "causal_conv1d_fn,2,8,4,64,64,8,128,0.008\n"
      "causal_conv1d_fn,2,16,4,64,64,8,128,0.008\n");
  CHECK(table.short_prompts == 1);
  REQUIRE(table.points.size() == 2);
  CHECK(table.points[0].kernel.columns == 64 * 64 + 2 * 8 * 128);
  CHECK_FALSE(table.points[0].kernel.prompts);
  CHECK(table.points[0].time.value == Approx(5e-6));
  CHECK((table.points[1].kernel.prompts && table.points[1].kernel.rows == 32 && table.points[1].kernel.state_space));
  const auto mistake = [&](const std::string& row) { return mistake_of([&] { read(row); }); };
  CHECK(contains(mistake("selective_state_update,8,1,4,64,64,8,128,0.005\n"), "mamba2.csv:2: an unknown kernel"));
  CHECK(contains(mistake("causal_conv1d_fn,65536,65536,4,64,64,8,128,9\n"),
                 "mamba2.csv:2: counts whose product is out of range"));
}
