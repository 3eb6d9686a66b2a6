// SPDX-License-Identifier: Apache-2.0
// Runs of a server and what they ran on, ready to be priced.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "predict/served_fit.h"
#include "predict/sweep.h"

namespace draftline {

// What the server runs; a run may say another transformer, precision or number of devices.
struct ServerSetup {
  std::string device = {}, engine = {}, transformer = {}, precision = "auto";  // names, or files
  int tensor_parallel = 1;
  // The method of speculative runs: a name, or a scenario's object: {"name": "eagle3", "draft_length": 3}.
  std::string method = {};
};

class ServedPoints {
 public:
  // Throws InputErrors with all mistakes: unknown names, a speculative run without a method, one that doesn't say how
  // long it drafts, or that no run is left.
  ServedPoints(std::vector<ServedRun>, const ServerSetup&, const std::filesystem::path& data);
  const std::vector<ServedPoint>& points() const { return points_; }
  // Notes on runs whose time holds steps that read prompts: on speculative runs where few steps do, and on runs that
  // are left out, as most do.
  const std::vector<std::string>& notes() const { return notes_; }
  const Engine& engine() const { return *points_.front().setup.engine; }
  InputFiles input_files() const;  // of the device, the engine and the transformers

 private:
  std::vector<std::unique_ptr<Sweep>> sweeps_;  // one for each kind of run
  std::vector<ServedPoint> points_;
  std::vector<std::string> notes_;
};

}  // namespace draftline
