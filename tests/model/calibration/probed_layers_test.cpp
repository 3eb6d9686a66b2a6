// SPDX-License-Identifier: Apache-2.0
// Layers of experts and attention over latents in a probe's file.
#include <sstream>

#include "model/calibration/gpu_calibration.h"
#include "model/kernels/kernel_time.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

MeasuredPoint point_of(const char* op, std::map<std::string, int> shape) {
  return {op, std::move(shape), Seconds{1}, Seconds{1}, Seconds{1}, 9, 0, {}};
}
MeasuredPoint experts_point(int rows, int hidden, int intermediate, int experts, int per_token) {
  return point_of("experts", {{"rows", rows},
                              {"hidden", hidden},
                              {"intermediate", intermediate},
                              {"experts", experts},
                              {"per_token", per_token},
                              {"copies", 4}});
}
MeasuredPoint latent_point(int heads, int sequences, int rows, int context) {
  return point_of("latent_attention", {{"sequences", sequences},
                                       {"rows", rows},
                                       {"context", context},
                                       {"heads", heads},
                                       {"rank", 512},
                                       {"rope", 64},
                                       {"copies", 200}});
}

// Our own kernels, whose experts read at a bandwidth of their own, and whose latents have a fit.
Device truth() {
  Device d = known_device("draftline-h100-sxm");
  ExpertFit f;
  f.fixed = Seconds{24e-6};
  f.peak_share = 0.4;
  f.bandwidth_share = 0.62;
  d.gpu().experts = f;
  AttentionFit latent = d.gpu().attention.fits.front();
  latent.form = AttentionForm::absorbed;
  latent.decode.fixed = Seconds{5e-6};
  d.gpu().attention.fits.push_back(latent);
  return d;
}

Measured probed(const Device& d) {
  Measured m;
  m.device = "cuda";
  m.file = "m.json";
  for (const int rows : {1, 4, 16, 64, 256})
    for (const auto& [hidden, inner, experts, per_token] :
         {std::tuple(2048, 768, 128, 8), {2048, 1408, 64, 6}, {2880, 2880, 32, 4}})
      m.points.push_back(experts_point(rows, hidden, inner, experts, per_token));
  for (const int heads : {16, 128})
    for (const int sequences : {1, 16, 64})
      for (const int rows : {1, 4})
        for (const int context : {512, 4096}) m.points.push_back(latent_point(heads, sequences, rows, context));
  const KernelTimes k = kernel_times(m, d);
  REQUIRE(k.experts.size() + k.attention.size() == m.points.size());
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    const std::size_t n = k.experts.size();
    m.points[i].median = i < n ? predicted(d, k.experts[i]) : predicted(d, k.attention[i - n]);
  }
  return m;
}

}  // namespace

TEST_CASE("layers of experts and attention over latents that were probed have fits of their own") {
  const Device made = truth(), before = known_device("draftline-h100-sxm");
  const Measured m = probed(made);
  const KernelTimes times = kernel_times(m, before);
  const GpuCalibration c = calibrate_gpu(times, before, "m.json");
  REQUIRE(c.experts);
  CHECK(c.experts->bandwidth_share == Approx(0.62).epsilon(0.03));
  CHECK(c.experts->fixed.value == Approx(24e-6).epsilon(0.1));
  REQUIRE(c.attention.size() == 1);
  CHECK(c.attention[0].fit.form == AttentionForm::absorbed);
  CHECK(c.attention[0].fit.library.empty());
  Device after = before;
  after.gpu().experts = c.experts;
  after.gpu().attention.fits.push_back(c.attention[0].fit);
  for (const ExpertPoint& p : times.experts) CHECK(predicted(after, p) / p.time == Approx(1).epsilon(0.1));
  for (const AttentionPoint& p : times.attention) {
    INFO(p.heads << " heads, " << p.sequences << " x " << p.rows << " rows over " << p.context);
    CHECK(predicted(after, p) / p.time == Approx(1).epsilon(0.1));
  }
}

TEST_CASE("a probed layer of experts has the router's product, and finds no weights in L2") {
  const Device d = truth();
  Measured m = probed(d);
  ExpertPoint p = kernel_times(m, d).experts.front();
  const Seconds whole = predicted(d, p);
  p.routed = false;
  const Gemm router{.rows = 1, .in = 2048, .out = 128};
  CHECK((whole - predicted(d, p)).value == Approx(kernel_time(d, router).value).epsilon(0.01));
  const Seconds cold = predicted(d, p);
  p.state = CacheState::repeated;
  CHECK(predicted(d, p) < cold);
}

TEST_CASE("a few layers are no fit, and weights that L2 keeps are not cold") {
  const Device d = truth();
  Measured m = probed(d);
  m.points.erase(m.points.begin() + 3, m.points.begin() + 15);
  m.points.resize(8);
  CHECK(kernel_times(m, d).experts.empty());
  CHECK(kernel_times(m, d).attention.empty());
  m.points.clear();
  for (int i = 0; i < 8; ++i) m.points.push_back(experts_point(1 + i, 2048, 768, 128, 8));
  m.points[0].shape["copies"] = 1;
  m.points[1].shape = experts_point(2, 64, 64, 8, 2).shape;
  const auto experts = kernel_times(m, d).experts;
  REQUIRE(experts.size() == 8);
  CHECK(experts[0].state == CacheState::repeated);
  CHECK(experts[1].state == CacheState::repeated);
  CHECK(experts[2].state == CacheState::in_memory);
}

TEST_CASE("a probe's file with sizes that no layer has is refused with their place") {
  struct Wrong {
    MeasuredPoint point;
    const char* message;
  };
  const Wrong wrong = GENERATE(
      Wrong{experts_point(1, 64, 64, 4, 5), "m.json#/points/0/shape/per_token: must not be more than the layer's"},
      Wrong{latent_point(1 << 20, 1 << 10, 1 << 10, 64), "m.json#/points/0/shape: has too many rows"},
      Wrong{latent_point(1, 1 << 24, 1 << 24, 64), "m.json#/points/0/shape: has too many rows"});
  Measured m;
  m.device = "cuda";
  m.title = "a GPU";
  m.commit = m.source = m.locator = "here";
  m.points = {wrong.point};
  std::ostringstream text;
  write_measured(text, m);
  CHECK(contains(mistake_of([&] {
                   const Document d = Document::from_text(text.str(), "m.json");
                   (void)read_measured(d.root());
                   d.finish();
                 }),
                 wrong.message));
}
