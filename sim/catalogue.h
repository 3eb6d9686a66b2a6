// SPDX-License-Identifier: Apache-2.0
// The devices, transformers and engines of data/, by name; a file given in a scenario serves as well. Each is read once.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "model/device.h"
#include "model/host_time.h"
#include "model/transformer_shape.h"

namespace draftline {

class Trace;
struct WorkloadTrace;

class Catalogue {
 public:
  explicit Catalogue(std::filesystem::path data) : data_(std::move(data)) {}

  // A name, or a file relative to the scenario that names it. Mistakes are noted at `in`; the result is then null.
  std::shared_ptr<const Device> device(const Reader& in);
  std::shared_ptr<const TransformerShape> transformer(const Reader& in);  // a config.json, or a folder that holds one
  // Name of the weights beside a config.json that was read, as traces hold it; none: there are no readable ones.
  std::optional<std::string> weights(const TransformerShape*) const;
  const InputFiles& input_files() const { return input_files_; }  // that were read so far, and who asked for them
  std::shared_ptr<const Engine> engine(const Reader& in);         // without a version: the newest profile

  std::shared_ptr<const WorkloadTrace> workload(const Reader& in);  // a file (sim/workload)

  std::shared_ptr<const Trace> trace(const Reader& in);  // of acceptance

  std::vector<std::string> names(const std::string& kind) const;  // "devices", "transformers", "engines"; sorted
  const std::filesystem::path& data() const { return data_; }

 private:
  template <class T, class Read>
  std::shared_ptr<const T> load(std::map<std::filesystem::path, std::shared_ptr<const T>>&, const Reader& in,
                                const std::string& kind, Read);
  std::filesystem::path data_;
  InputFiles input_files_;
  std::map<std::filesystem::path, std::shared_ptr<const Device>> devices_;
  std::map<std::filesystem::path, std::shared_ptr<const TransformerShape>> transformers_;
  std::map<std::filesystem::path, std::shared_ptr<const Engine>> engines_;
  std::map<std::filesystem::path, std::shared_ptr<const WorkloadTrace>> workloads_;
  std::map<std::filesystem::path, std::shared_ptr<const Trace>> traces_;
};

}  // namespace draftline
