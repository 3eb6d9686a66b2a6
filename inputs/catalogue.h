// SPDX-License-Identifier: Apache-2.0
// The devices, transformers and engines of data/ by name, and files that scenarios name. Each file is read once.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/files.h"
#include "core/reader.h"
#include "inputs/expert_routing.h"
#include "inputs/hub_names.h"
#include "inputs/usual_acceptance.h"
#include "methods/named_file.h"
#include "model/devices/device.h"
#include "model/engines/engine.h"
#include "model/transformers/drafter_config.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

class Trace;
struct ServedAcceptance;
struct WorkloadTrace;

class Catalogue {
 public:
  explicit Catalogue(Data);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  // `in` contains a name, or the path of a file relative to its own file. After a mistake, which is noted at `in`,
  // these return null.
  std::shared_ptr<const Device> device(const Reader& in);
  // `in` may also name a config.json, a folder with one or a GGUF file, be a name of the hub (inputs/hub_names), or
  // contain a description (model/transformers/described_transformer).
  std::shared_ptr<const TransformerShape> transformer(const Reader& in);
  std::shared_ptr<const Engine> engine(const Reader& in);  // a name without version: the newest profile;
                                                           // an unknown version: the nearest, with a note

  // These three take a name or path from an option or a table. Paths are relative to the folder of `asked_by`.
  // InputErrors name `asked_by`.
  std::shared_ptr<const Device> device(const std::string& name, const std::filesystem::path& asked_by = {});
  std::shared_ptr<const TransformerShape> transformer(const std::string& name,
                                                      const std::filesystem::path& asked_by = {});
  std::shared_ptr<const Engine> engine(const std::string& name, const std::filesystem::path& asked_by = {});

  // Reads the config.json of a drafter's folder, given by its path. Mistakes are noted at `in`.
  DrafterConfig drafter(const Reader& in, DrafterKind);

  // A network that a method's parameters name. InputErrors contain the place of the name.
  std::shared_ptr<const TransformerShape> transformer(const NamedNetwork&);
  DrafterConfig drafter(const NamedFile&, DrafterKind);

  // A workload trace (inputs/workload) or a file that an engine wrote (inputs/served_acceptance), by its path; null
  // after a mistake.
  std::shared_ptr<const WorkloadTrace> workload(const Reader& in);
  std::shared_ptr<const ServedAcceptance> served_acceptance(const Reader& in);
  // An acceptance trace (trace/trace), by its path or the name of one that ships (inputs/shipped_traces).
  struct NamedTrace {
    std::shared_ptr<const Trace> trace = {};  // null after a mistake
    bool ships = false;
  };
  NamedTrace trace(const Reader& in);
  UsualAcceptance usual_acceptance(const Reader& asking) const;
  UsualRouting usual_routing(const Reader& asking) const;

  // The weights_name() (trace/trace) of the checkpoint in the folder of the network's config.json; none if there is no
  // checkpoint.
  std::optional<std::string> weights(const TransformerShape*) const;
  const InputFiles& input_files() const { return input_files_; }    // all files read so far
  const std::vector<std::string>& notes() const { return notes_; }  // about names that are not in a Reader

  std::vector<std::string> names(const std::string& kind) const;  // "devices", "transformers", "engines"; sorted
  std::filesystem::path file(const std::string& kind, const std::string& name) const;  // InputErrors if it is unknown
  const Data& data() const { return data_; }

 private:
  template <class T>
  struct Known {  // one folder of data/; each file is read at its first use
    std::string kind;
    std::function<T(const Reader&)> reader;
    JsonDialect dialect;
    std::map<std::filesystem::path, std::shared_ptr<const T>> read;
  };
  // The file to which `name` refers, with paths relative to `folder`, or an error message.
  std::variant<std::filesystem::path, std::string> find(const std::string& name, const std::filesystem::path& folder,
                                                        const std::string& kind) const;
  // The network of a name of the hub, unless a file has that name; and the network in the format that the name states.
  std::optional<HubNetwork> hub_alias(const std::string& name, const std::filesystem::path& folder,
                                      const std::string& kind) const;
  std::shared_ptr<const TransformerShape> in_format_of_name(std::shared_ptr<const TransformerShape>,
                                                            const std::string& name,
                                                            const std::filesystem::path& folder);
  template <class T>  // `asking`: the reader whose document names the file; null: none
  std::shared_ptr<const T> load(Known<T>&, const std::filesystem::path& file, const Reader* asking);
  std::shared_ptr<TransformerShape> gguf(const std::filesystem::path& file, const Reader* asking);
  UsualRouting usual_routing() const;  // for networks that no document names
  template <class T>
  std::shared_ptr<const T> asked(Known<T>&, const Reader& in);
  template <class T>
  std::shared_ptr<const T> named(Known<T>&, const std::string& name, const std::filesystem::path& asked_by);

  Data data_;
  InputFiles input_files_;
  std::vector<std::string> notes_;
  Known<Device> devices_;
  Known<TransformerShape> transformers_;
  Known<Engine> engines_;
  std::map<std::string, std::shared_ptr<const TransformerShape>> in_formats_;  // by names of the hub
  std::map<std::filesystem::path, std::shared_ptr<const WorkloadTrace>> workloads_;
  std::map<std::filesystem::path, std::shared_ptr<const Trace>> traces_;
  std::map<std::filesystem::path, std::shared_ptr<const ServedAcceptance>> served_acceptances_;
};

}  // namespace draftline
