// SPDX-License-Identifier: Apache-2.0
// Records of a serving run as files: a row per request or per step (CSV, or JSON lines by the name's ending), and a
// timeline that the trace viewers of Chrome and Perfetto open. Written as the run goes; complete or not there at all.
#pragma once
#include <filesystem>
#include <memory>

#include "sim/serving_figures.h"

namespace draftline {

class ServingRecords : public ServingObserver {
 public:
  struct Files {
    std::filesystem::path requests, steps, timeline;  // empty: not wanted
    bool any() const { return !requests.empty() || !steps.empty() || !timeline.empty(); }
  };
  explicit ServingRecords(const Files&);
  ~ServingRecords() override;
  void on_request(const ServedRequest&) override;
  void on_step(const StepRun&) override;
  void commit();

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace draftline
