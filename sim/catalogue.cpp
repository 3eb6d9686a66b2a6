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

// The known name that was meant: "h100", "H100-SXM", "meta-llama/Llama-3.1-8B-Instruct".
static std::optional<std::string> meant(std::string name, const std::vector<std::string>& known) {
  name = name.substr(name.rfind('/') + 1);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string best;
  for (const std::string& k : known)
    if (name.find(k) != std::string::npos && k.size() > best.size()) best = k;
  if (!best.empty()) return best;
  const auto longer =
      std::find_if(known.begin(), known.end(), [&](const std::string& k) { return k.starts_with(name + "-"); });
  if (longer != known.end()) return *longer;
  return nearest_word(name, known);
}

// "; did you mean ..?", where a file or folder of that name stands beside `in`, or a known one is like it.
static std::string hint(const std::string& name, const Reader& in, const std::string& kind,
                        const std::vector<std::string>& known) {
  std::error_code none;
  const bool bare = name.find('/') == std::string::npos;
  const auto said = [](const std::string& instead) { return "; did you mean \"" + instead + "\"?"; };
  if (bare && fs::exists(in.file().parent_path() / name, none)) return said("./" + name);
  if (const auto near = meant(name, known)) return said(*near);
  return "; see `draftline list " + kind + "`";
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
    if (!fs::exists(file, none)) {
      in.fail("no such file: \"" + name + "\"" + (name.ends_with(".json") ? "" : hint(name, in, kind, names(kind))));
      return nullptr;
    }
    if (fs::is_directory(file, none)) {
      const bool network = kind == "transformers";
      file /= "config.json";
      if (!network || !fs::exists(file, none)) {
        in.fail(network ? "the folder \"" + name + "\" has no config.json"
                        : "is a folder, not a file: \"" + name + "\"");
        return nullptr;
      }
    }
  } else {
    const auto all = names(kind);
    std::string match = std::binary_search(all.begin(), all.end(), name) ? name : newest(name, all);
    if (match.empty()) {
      in.fail("unknown name \"" + name + "\"" + hint(name, in, kind, all));
      return nullptr;
    }
    file = data_ / kind / (match + ".json");
  }
  auto& entry = known[file];
  if (entry) return entry;
  try {
    entry = std::make_shared<T>(read_file_below(in, file, read));
    input_files_.insert(in.input_files().begin(), in.input_files().end());
    return entry;
  } catch (const InputErrors& mistakes) {
    in.pass_on(mistakes);
    return nullptr;
  }
}

std::shared_ptr<const Device> Catalogue::device(const Reader& in) {
  return load(devices_, in, "devices", [this](const Reader& root) { return read_device(root, data_ / "devices"); });
}

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
                                         InputFiles& input_files, Read read) {
  const std::string name = in.text();
  if (name.empty()) {
    if (in.is_string()) in.fail("must be the name of a file");
    return nullptr;
  }
  const fs::path file = in.file().parent_path() / name;
  std::error_code none;
  if (!fs::exists(file, none)) {
    in.fail("no such file: \"" + name + "\"");
    return nullptr;
  }
  if (!fs::is_regular_file(file, none)) {
    in.fail((fs::is_directory(file, none) ? "is a folder, not a file: \"" : "is no regular file: \"") + name + "\"");
    return nullptr;
  }
  auto& entry = known[file];
  if (!entry) try {
      entry = std::make_shared<T>(read(file));
      input_files[file] = fingerprint_of_bytes(file);
      in.note_input(file, input_files[file]);
    } catch (const InputErrors& mistakes) { in.pass_on(mistakes); }
  return entry;
}

std::shared_ptr<const WorkloadTrace> Catalogue::workload(const Reader& in) {
  return recorded(workloads_, in, input_files_, read_workload_trace);
}

std::shared_ptr<const Trace> Catalogue::trace(const Reader& in) {
  return recorded(traces_, in, input_files_, Trace::read);
}

}  // namespace draftline
