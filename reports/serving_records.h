// SPDX-License-Identifier: Apache-2.0
// Records of a serving run as files: a row per request or per run of steps (JSON lines if the name ends so, otherwise
// CSV), and a timeline for the trace viewers of Chrome and Perfetto (Trace Event Format). See
// docs/explanation/simulator.md. They are written during the run and appear complete or not at all.
#pragma once
#include <filesystem>
#include <memory>

#include "sim/serving_figures.h"

namespace draftline {

class ServingRecords : public ServingObserver {
 public:
  struct Files {
    std::filesystem::path requests, steps, timeline;  // empty: no such file
    bool any() const { return !requests.empty() || !steps.empty() || !timeline.empty(); }
  };
  explicit ServingRecords(const Files&);  // throws InputErrors if a file can't be created
  ~ServingRecords() override;             // discards the files unless commit() was called
  void on_start(const FleetShape&, const SchedulerLimits&) override;
  void on_request(const ServedRequest&) override;
  void on_step(const StepRun&) override;
  void commit();  // completes the files; throws OutputError if they can't be written in full

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace draftline
