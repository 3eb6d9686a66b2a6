// SPDX-License-Identifier: Apache-2.0
// Runs of a server and their setups, ready to be priced.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "predict/served_fit.h"
#include "predict/sweep.h"

namespace draftline {

// The server's configuration. A run may override transformer, precision and number of devices.
struct ServerSetup {
  std::string device = {}, engine = {}, transformer = {}, precision = "auto";  // names, or files
  int tensor_parallel = 1;
  // The method of speculative runs: a name, or a scenario's object: {"name": "eagle3", "draft_length": 3}.
  std::string method = {};
};

class ServedPoints {
 public:
  // Throws InputErrors with all mistakes: unknown names, a speculative run without a method or without a draft length,
  // or no remaining run.
  ServedPoints(std::vector<ServedRun>, const ServerSetup&, const std::filesystem::path& data);
  const std::vector<ServedPoint>& points() const { return points_; }
  // Notes on runs whose time contains steps with prompts: on speculative runs with few such steps, and on excluded
  // runs, in which most steps are of this kind. And on runs whose method makes fewer drafts in some steps, if their
  // number is unknown.
  const std::vector<std::string>& notes() const { return notes_; }
  const Engine& engine() const { return *points_.front().setup.engine; }
  InputFiles input_files() const;  // of the device, the engine and the transformers

 private:
  std::vector<std::unique_ptr<Sweep>> sweeps_;  // one for each kind of run
  std::vector<ServedPoint> points_;
  std::vector<std::string> notes_;
};

}  // namespace draftline
