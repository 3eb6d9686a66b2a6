// SPDX-License-Identifier: Apache-2.0
#include "sim/catalogue.h"

#include <algorithm>

#include "decoder/huggingface.h"
#include "decoder/trace.h"
#include "sim/workload.h"

namespace draftline {

namespace fs = std::filesystem;

std::vector<std::string> Catalogue::names(const std::string& kind) const {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(data_ / kind, none))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// "vllm" -> the greatest of "vllm-0.9", "vllm-0.10"; "" if there is none.
static std::string newest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  for (const std::string& k : known) {
    if (!k.starts_with(name + "-")) continue;
    const std::string version = k.substr(name.size() + 1);
    if (version.find_first_not_of("0123456789.") != std::string::npos) continue;
    if (best.empty() || version_less(best.substr(name.size() + 1), version)) best = k;
  }
  return best;
}

template <class T, class Read>
std::shared_ptr<const T> Catalogue::load(std::map<fs::path, std::shared_ptr<const T>>& known, const Reader& in,
                                         const std::string& kind, Read read) {
  const std::string name = in.text();
  if (name.empty()) {
    if (in.is_string()) in.fail("must name one of " + kind + " or a file");
    return nullptr;
  }
  fs::path file;
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    file = in.file().parent_path() / name;
    std::error_code none;
    if (fs::is_directory(file, none)) file /= "config.json";
  } else {
    const auto all = names(kind);
    std::string match = std::binary_search(all.begin(), all.end(), name) ? name : newest(name, all);
    if (match.empty()) {
      auto near = nearest_word(name, all);
      const auto longer =
          std::find_if(all.begin(), all.end(), [&](const std::string& k) { return k.starts_with(name + "-"); });
      if (longer != all.end()) near = *longer;
      in.fail("unknown name \"" + name + "\"" +
              (near ? "; did you mean \"" + *near + "\"?" : "; see `draftline list " + kind + "`"));
      return nullptr;
    }
    file = data_ / kind / (match + ".json");
  }
  auto& entry = known[file];
  if (entry) return entry;
  try {
    return entry = std::make_shared<T>(read_file(file, read));
  } catch (const InputErrors& mistakes) {
    in.pass_on(mistakes);
    return nullptr;
  }
}

std::shared_ptr<const Device> Catalogue::device(const Reader& in) { return load(devices_, in, "devices", read_device); }

std::shared_ptr<const TransformerShape> Catalogue::transformer(const Reader& in) {
  return load(transformers_, in, "transformers", [](const Reader& root) {
    TransformerShape s = read_transformer(root);
    const std::string stem = root.file().stem().string();
    s.name = stem == "config" ? root.file().parent_path().filename().string() : stem;
    return s;
  });
}

std::optional<std::string> Catalogue::weights(const TransformerShape* shape) const {
  for (const auto& [file, known] : transformers_)
    if (known.get() == shape && file.filename() == "config.json") try {
        return weights_name(HuggingFaceFolder(file.parent_path()).fingerprint());
      } catch (const InputErrors&) { return std::nullopt; }
  return std::nullopt;
}

std::shared_ptr<const Engine> Catalogue::engine(const Reader& in) { return load(engines_, in, "engines", read_engine); }

// A file named beside the scenario, read once.
template <class T, class Read>
static std::shared_ptr<const T> recorded(std::map<fs::path, std::shared_ptr<const T>>& known, const Reader& in,
                                         Read read) {
  const std::string name = in.text();
  if (name.empty()) {
    if (in.is_string()) in.fail("must be the name of a file");
    return nullptr;
  }
  auto& entry = known[in.file().parent_path() / name];
  if (!entry) try {
      entry = std::make_shared<T>(read(in.file().parent_path() / name));
    } catch (const InputErrors& mistakes) { in.pass_on(mistakes); }
  return entry;
}

std::shared_ptr<const WorkloadTrace> Catalogue::workload(const Reader& in) {
  return recorded(workloads_, in, read_workload_trace);
}

std::shared_ptr<const Trace> Catalogue::trace(const Reader& in) { return recorded(traces_, in, Trace::read); }

}  // namespace draftline
