// SPDX-License-Identifier: Apache-2.0
#include "measure/probing.h"
#include "probes/host_probe.h"
#include "probes/machine.h"

namespace draftline::measure {

namespace {

class ProbedCpu : public ProbedDevice {
 public:
  ProbedCpu(GridSize size, CpuReferences& references) : machine_(this_machine()), references_(references) {
    std::vector<MeasuredPoint> grid = cpu_grid(machine_.last_level_cache, size);
    for (const MeasuredPoint& p : host_grid()) grid.push_back(p);
    order_ = spread(grid);
  }

  std::string title() const override { return machine_.cpu; }
  std::map<std::string, double> machine() const override {
    return {{"l1_cache", machine_.l1_cache},
            {"l2_cache", machine_.l2_cache},
            {"last_level_cache", machine_.last_level_cache},
            {"memory", machine_.memory},
            {"cores", to_double(machine_.cores)}};
  }
  ProbeOrder order() const override { return order_; }
  ClockReference* clock() override { return &references_.clock; }

  MeasuredPoint measure(const MeasuredPoint& p, Seconds time_budget) override {
    const MemoryTimes memory = references_.memory.read();
    MeasuredPoint measured = p.op.ends_with("_host") ? probe_host(p, time_budget, references_.clock)
                                                     : probe_cpu(p, time_budget, references_.clock);
    if (measured.skipped.empty()) measured.memory = memory;
    return measured;
  }
  std::vector<MeasuredPoint> readings() override {
    references_.memory.read();  // a run that goes on may have taken none
    std::vector<MeasuredPoint> all = references_.memory.points();
    all.push_back(probe_cpu({.op = "clock_reference", .shape = {}}, {}, references_.clock));
    return all;
  }

 private:
  Machine machine_;
  CpuReferences& references_;
  ProbeOrder order_;
};

}  // namespace

std::unique_ptr<ProbedDevice> probed_cpu(GridSize size, CpuReferences& references) {
  return std::make_unique<ProbedCpu>(size, references);
}

}  // namespace draftline::measure
