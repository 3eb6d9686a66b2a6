// SPDX-License-Identifier: Apache-2.0
// Each program compiles this by itself, as it does measure/decode_device, since it chooses the CudaProbe.
#include "core/int_indexed.h"
#include "measure/probing.h"
#include "probes/cuda_grid.h"
#include "probes/cuda_probe.h"

namespace draftline::measure {

namespace {

class ProbedGpu : public ProbedDevice {
 public:
  explicit ProbedGpu(GridSize size) : size_(size) {}
  std::string title() const override { return probe_.title(); }
  std::map<std::string, double> machine() const override { return probe_.machine(); }
  ProbeOrder order() const override {
    const auto facts = probe_.machine();
    auto grid = cuda_grid(facts.at("l2_cache"), size_, to_int(facts.at("devices")));
    const int all = count(grid);
    return {std::move(grid), all};
  }
  MeasuredPoint measure(const MeasuredPoint& p, Seconds time_budget) override { return probe_.measure(p, time_budget); }
  std::optional<Seconds> overhead(const MeasuredPoint& p) const override { return expected_overhead(p); }
  std::vector<std::string> remarks() const override { return probe_.remarks(); }

 private:
  GridSize size_;
  CudaProbe probe_;
};

}  // namespace

std::unique_ptr<ProbedDevice> probed_gpu(GridSize size) { return std::make_unique<ProbedGpu>(size); }

}  // namespace draftline::measure
