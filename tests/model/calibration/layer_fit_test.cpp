// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/layer_fit.h"

#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

MeasuredPoint layer(int hidden, int sequences) {
  return {"layer",
          {{"hidden", hidden},
           {"heads", hidden / 128},
           {"kv_heads", 8},
           {"head_dim", 128},
           {"intermediate", 3 * hidden},
           {"sequences", sequences},
           {"context", 512}},
          Seconds{1e-4},
          Seconds{1e-4},
          Seconds{1e-4},
          9,
          0,
          {}};
}

}  // namespace

TEST_CASE("what a layer takes beyond its kernels is found, with one row and with several") {
  const Device d = known_device("h100-sxm");
  Measured m;
  for (const int hidden : {2048, 4096})
    for (const int sequences : {1, 4, 64}) {
      MeasuredPoint p = layer(hidden, sequences);
      p.median = kernels_of_layer(d, p) + Seconds{sequences == 1 ? 5e-6 : 8e-6};
      m.points.push_back(p);
    }
  MeasuredPoint failed = layer(8192, 1);
  failed.skipped = "its data need more memory";
  m.points.push_back(failed);
  const auto fit = fit_layer(m, d);
  REQUIRE(fit);
  CHECK(fit->points == 6);
  CHECK(fit->of_one_row->value == Approx(5e-6));
  CHECK(fit->of_rows->value == Approx(8e-6));
  CHECK(fit->worst_error < 1e-9);
}

TEST_CASE("a layer's kernels are those of its networks, and grow with its rows and its context") {
  const Device d = known_device("h100-sxm");
  // Four matrices of 16 bits at 3.35 TB/s are the most of it.
  const double weights = 2.0 * 4096 * (3 * 12288 + 2 * 4096 + 2 * 1024);
  const double least = weights / d.bandwidth.value, one = kernels_of_layer(d, layer(4096, 1)).value;
  CHECK(one > least);
  CHECK(one < 1.5 * least);
  CHECK(kernels_of_layer(d, layer(4096, 256)).value > one);
  MeasuredPoint longer = layer(4096, 1);
  longer.shape["context"] = 32768;
  CHECK(kernels_of_layer(d, longer).value > one);
}

TEST_CASE("layers that go faster than their kernels take nothing beyond them; without layers nothing is known") {
  const Device d = known_device("h100-sxm");
  Measured m;
  CHECK_FALSE(fit_layer(m, d));
  MeasuredPoint p = layer(4096, 1);
  p.median = 0.9 * kernels_of_layer(d, p);
  m.points.push_back(p);
  const auto fit = fit_layer(m, d);
  CHECK(fit->of_one_row->value == 0);
  CHECK_FALSE(fit->of_rows);
  CHECK(fit->worst_error == Approx(1 / 0.9 - 1));
}
