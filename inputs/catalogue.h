// SPDX-License-Identifier: Apache-2.0
// The devices, transformers and engines of data/, by name; a file given in a scenario serves as well. Each is read
// once.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
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
  explicit Catalogue(std::filesystem::path data);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  // A name, or a file relative to the scenario that names it. Mistakes are noted at `in`; the result is then null.
  std::shared_ptr<const Device> device(const Reader& in);
  std::shared_ptr<const TransformerShape> transformer(const Reader& in);  // a config.json, or a folder that holds one
  std::shared_ptr<const Engine> engine(const Reader& in);                 // without a version: the newest profile

  // The same for names that stand in no file: an option's, a row's. Files are relative to the folder of `asked_by`,
  // which the messages of the InputErrors name.
  std::shared_ptr<const Device> device(const std::string& name, const std::filesystem::path& asked_by = {});
  std::shared_ptr<const TransformerShape> transformer(const std::string& name,
                                                      const std::filesystem::path& asked_by = {});
  std::shared_ptr<const Engine> engine(const std::string& name, const std::filesystem::path& asked_by = {});

  std::shared_ptr<const WorkloadTrace> workload(const Reader& in);  // a file (sim/workload)
  std::shared_ptr<const Trace> trace(const Reader& in);             // of acceptance

  // Name of the weights beside a config.json that was read, as traces hold it; none: there are no readable ones.
  std::optional<std::string> weights(const TransformerShape*) const;
  const InputFiles& input_files() const { return input_files_; }  // that were read so far, and who asked for them

  std::vector<std::string> names(const std::string& kind) const;  // "devices", "transformers", "engines"; sorted
  const std::filesystem::path& data() const { return data_; }

 private:
  template <class T>
  struct Known {  // one folder of data/: what it holds is read when it is first asked for
    std::string kind;
    std::function<T(const Reader&)> reader;
    std::map<std::filesystem::path, std::shared_ptr<const T>> read;
  };
  // The file that `name` means in `folder`, or what is wrong with the name.
  std::variant<std::filesystem::path, std::string> find(const std::string& name, const std::filesystem::path& folder,
                                                        const std::string& kind) const;
  template <class T, class Open>
  std::shared_ptr<const T> load(Known<T>&, const std::filesystem::path& file, Open);
  template <class T>
  std::shared_ptr<const T> asked(Known<T>&, const Reader& in);
  template <class T>
  std::shared_ptr<const T> named(Known<T>&, const std::string& name, const std::filesystem::path& asked_by);

  std::filesystem::path data_;
  InputFiles input_files_;
  Known<Device> devices_;
  Known<TransformerShape> transformers_;
  Known<Engine> engines_;
  std::map<std::filesystem::path, std::shared_ptr<const WorkloadTrace>> workloads_;
  std::map<std::filesystem::path, std::shared_ptr<const Trace>> traces_;
};

}  // namespace draftline
