// SPDX-License-Identifier: Apache-2.0
#include "inputs/catalogue.h"

#include <algorithm>
#include <type_traits>

#include "core/json_parse.h"
#include "decoder/checkpoint/gguf_weights.h"
#include "decoder/checkpoint/huggingface.h"
#include "inputs/expert_routing.h"
#include "inputs/kindred_names.h"
#include "inputs/served_acceptance.h"
#include "inputs/shipped_traces.h"
#include "inputs/workload_trace.h"
#include "model/transformers/described_transformer.h"
#include "model/transformers/gguf_network.h"
#include "model/transformers/parameter_check.h"
#include "trace/trace.h"

namespace draftline {

namespace fs = std::filesystem;

std::vector<std::string> Catalogue::names(const std::string& kind) const {
  std::vector<std::string> names;
  for (const fs::path& file : data_.files->list(data_ / kind))
    if (file.extension() == ".json") names.push_back(file.stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

static bool is_version(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

// The newest version of a name: "vllm" -> "vllm-0.10" of "vllm-0.9", "vllm-0.10"; "" if there is none.
static std::string newest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  for (const std::string& k : known) {
    if (!k.starts_with(name + "-")) continue;
    const std::string version = k.substr(name.size() + 1);
    if (!is_version(version)) continue;
    if (best.empty() || version_less(best.substr(name.size() + 1), version)) best = k;
  }
  return best;
}

static std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers{0};
  for (const char c : version)
    if (c == '.') numbers.push_back(0);
    else numbers.back() = std::min(numbers.back(), 10'000'000) * 10 + (c - '0');
  return numbers;
}

// The profile whose version is nearest to the one asked for; of two, the older: "vllm-0.12" -> "vllm-0.10" of
// "vllm-0.10" and "vllm-0.19". "" if the name holds no version, or no profile has that name.
static std::string nearest_version(const std::string& name, const std::vector<std::string>& known) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return "";
  const std::string stem = name.substr(0, dash + 1), asked = name.substr(dash + 1);
  if (!is_version(asked)) return "";
  std::string older, newer;
  for (const std::string& k : known) {
    const std::string version = k.starts_with(stem) ? k.substr(stem.size()) : "";
    if (!is_version(version)) continue;
    if (version_less(version, asked)) {
      if (older.empty() || version_less(older, version)) older = version;
    } else if (newer.empty() || version_less(version, newer)) {
      newer = version;
    }
  }
  if (older.empty() && newer.empty()) return "";
  if (older.empty() || newer.empty()) return stem + (older.empty() ? newer : older);
  auto below = numbers_of(older), at = numbers_of(asked), above = numbers_of(newer);
  const std::size_t most = std::max({below.size(), at.size(), above.size()});
  for (auto* all : {&below, &at, &above}) all->resize(most);
  std::size_t i = 0;
  while (i + 1 < most && below[i] == above[i]) ++i;
  return stem + (above[i] - at[i] < at[i] - below[i] ? newer : older);
}

// What a user should know of a name that stands for another version; "" if it does not.
static std::string version_note(const std::string& name, const fs::path& file, const std::string& kind) {
  const std::string used = file.stem().string();
  const std::size_t dash = name.rfind('-');
  if (kind == "engines" && used != name && dash != std::string::npos && is_version(name.substr(dash + 1)) &&
      name.find('/') == std::string::npos && !name.ends_with(".json"))
    return "there is no profile " + name + "; the nearest version, " + used + ", is used";
  return "";
}

// The known names that a user probably meant by "h100", "H100-SXM" or "meta-llama/Llama-3.1-8B-Instruct".
static std::vector<std::string> meant(std::string name, const std::vector<std::string>& known) {
  name = name.substr(name.rfind('/') + 1);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (!newest(name, known).empty()) return {name};  // "vLLM"
  std::string best;
  for (const std::string& k : known)
    if (name.find(k) != std::string::npos && k.size() > best.size()) best = k;
  if (!best.empty()) return {best};
  std::vector<std::string> longer;
  std::copy_if(known.begin(), known.end(), std::back_inserter(longer),
               [&](const std::string& k) { return k.starts_with(name + "-"); });
  if (!longer.empty()) return longer;
  const auto near = nearest_word(name, known);
  return near ? std::vector{*near} : std::vector<std::string>();
}

// "; did you mean ..?", with the file or folder of that name if it `is_there`, or with similar known names.
static std::string hint(const std::string& name, bool is_there, const std::string& kind,
                        const std::vector<std::string>& known) {
  const bool bare = name.find('/') == std::string::npos;
  const auto said = [](const std::string& instead) { return "; did you mean \"" + instead + "\"?"; };
  if (bare && is_there) return said("./" + name);
  if (has_kindred(name, kind)) return "; " + way_to_own_file(name, kind);
  constexpr std::size_t kMost = 4;
  std::vector<std::string> near = meant(name, known);
  if (!near.empty() && near.size() <= kMost) {
    const std::string last = near.back();
    near.pop_back();
    std::string before;
    for (const std::string& n : near) before += n + (&n == &near.back() ? "\" or \"" : "\", \"");
    return said(before + last);
  }
  return "; " + way_to_own_file(name, kind);
}

// For a name of the hub that is none of a network that ships.
static std::string hub_hint(const std::string& name) {
  const std::string own = "./" + name.substr(name.rfind('/') + 1) + "/config.json";
  return "; as a name of the hub it is of no network that ships: download its config.json and give the path, \"" + own +
         "\" (docs/recipes/your_network.md)";
}

std::variant<fs::path, std::string> Catalogue::find(const std::string& name, const fs::path& folder,
                                                    const std::string& kind) const {
  if (name.empty()) return "must be a name of one of the " + kind + " or a file";
  const Files& files = *data_.files;
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    fs::path file = folder / name;
    if (!files.exists(file)) {
      if (const auto alias = hub_alias(name, folder, kind)) return data_ / kind / (alias->network + ".json");
      const bool hub = kind == "transformers" && is_hub_name(name) && meant(name, names(kind)).empty();
      return "no such file: \"" + name + "\"" +
             (hub                       ? hub_hint(name)
              : name.ends_with(".json") ? ""
                                        : hint(name, false, kind, names(kind)));
    }
    if (!files.is_folder(file)) return file;
    const bool network = kind == "transformers";
    file /= "config.json";
    if (network && files.exists(file)) return file;
    return network ? "the folder \"" + name + "\" has no config.json" : "is a folder, not a file: \"" + name + "\"";
  }
  const auto all = names(kind);
  std::string match = std::binary_search(all.begin(), all.end(), name) ? name : newest(name, all);
  if (match.empty() && kind == "engines") match = nearest_version(name, all);
  if (match.empty()) return "unknown name \"" + name + "\"" + hint(name, files.exists(folder / name), kind, all);
  return data_ / kind / (match + ".json");
}

std::optional<HubNetwork> Catalogue::hub_alias(const std::string& name, const fs::path& folder,
                                               const std::string& kind) const {
  if (kind != "transformers" || !is_hub_name(name) || data_.files->exists(folder / name)) return std::nullopt;
  return hub_network(name, names(kind));
}

std::shared_ptr<const TransformerShape> Catalogue::in_format_of_name(std::shared_ptr<const TransformerShape> shape,
                                                                     const std::string& name, const fs::path& folder) {
  const auto alias = shape ? hub_alias(name, folder, transformers_.kind) : std::nullopt;
  if (!alias || !alias->format) return shape;
  auto& entry = in_formats_[name];
  if (!entry) {
    auto own = std::make_shared<TransformerShape>(*shape);
    own->checkpoint = format_named(*alias->format)->precision();
    entry = std::move(own);
  }
  return entry;
}

// What a user should know of a name of the hub.
static std::string alias_note(const std::string& name, const HubNetwork& alias) {
  return name + " is read as " + alias.network + (alias.format ? " in " + *alias.format : "");
}

std::shared_ptr<TransformerShape> Catalogue::gguf(const fs::path& file, const Reader* asking) {
  const GgufHeader header = GgufHeader::read(file, *data_.files);
  auto s = std::make_shared<TransformerShape>(read_gguf_network(header, *data_.files));
  if (s->experts() != nullptr) s->set_expert_routing(usual_routing().many_topics);
  input_files_[file] = header.fingerprint;
  if (asking != nullptr) asking->note_input(file, header.fingerprint);
  for (const std::string& note : s->notes) {
    const std::string text = printable(file.string(), 1000) + ": " + note;
    if (asking != nullptr) asking->note(text);
    else notes_.push_back(text);
  }
  return s;
}

template <class T>
std::shared_ptr<const T> Catalogue::load(Known<T>& known, const fs::path& file, const Reader* asking) {
  auto& entry = known.read[file];
  if constexpr (std::is_same_v<T, TransformerShape>)
    if (!entry && file.extension() == ".gguf") entry = gguf(file, asking);
  if (!entry) {
    const Document document =
        asking ? Document::below(*asking, file, known.dialect) : Document::from_file(file, *data_.files, known.dialect);
    entry = std::make_shared<T>(read_whole(document, known.reader));
    input_files_.insert(document.root().input_files().begin(), document.root().input_files().end());
    if (!asking) notes_.insert(notes_.end(), document.notes().begin(), document.notes().end());
  }
  return entry;
}

template <class T>
std::shared_ptr<const T> Catalogue::asked(Known<T>& known, const Reader& in) {
  const std::string name = in.text();
  if (!in.is_string()) return nullptr;
  const auto found = find(name, in.file().parent_path(), known.kind);
  if (const auto* why = std::get_if<std::string>(&found)) {
    in.fail(*why);
    return nullptr;
  }
  if (const std::string note = version_note(name, std::get<fs::path>(found), known.kind); !note.empty()) in.note(note);
  try {
    return load(known, std::get<fs::path>(found), &in);
  } catch (const InputErrors& mistakes) {
    in.pass_on(mistakes);
    return nullptr;
  }
}

template <class T>
std::shared_ptr<const T> Catalogue::named(Known<T>& known, const std::string& name, const fs::path& asked_by) {
  const auto found = find(name, asked_by.parent_path(), known.kind);
  const std::string place = asked_by.empty() ? "" : printable(asked_by.string(), 1000) + "#: ";
  if (const auto* why = std::get_if<std::string>(&found)) throw InputErrors(place + *why);
  if (const std::string note = version_note(name, std::get<fs::path>(found), known.kind); !note.empty())
    notes_.push_back(place + note);
  return load(known, std::get<fs::path>(found), nullptr);
}

static TransformerShape read_named_transformer(const Reader& root, const Data& data) {
  TransformerShape s = read_transformer(root);
  if (s.experts() != nullptr)
    s.set_expert_routing(read_file_below(root, data / "routing.json", read_usual_routing).many_topics);
  const std::string stem = root.file().stem().string();
  s.name = stem == "config" ? root.file().parent_path().filename().string() : stem;
  check_parameters(root, s);
  return s;
}

Catalogue::Catalogue(Data data)
    : data_(std::move(data)),
      devices_{"devices", [this](const Reader& root) { return read_device(root, data_ / "devices"); }, {}, {}},
      transformers_{"transformers",
                    [this](const Reader& root) { return read_named_transformer(root, data_); },
                    JsonDialect::python,
                    {}},
      engines_{"engines", read_engine, {}, {}} {}

fs::path Catalogue::file(const std::string& kind, const std::string& name) const {
  const auto found = find(name, {}, kind);
  if (const auto* why = std::get_if<std::string>(&found)) throw InputErrors(*why);
  return std::get<fs::path>(found);
}

std::shared_ptr<const Device> Catalogue::device(const Reader& in) { return asked(devices_, in); }
std::shared_ptr<const TransformerShape> Catalogue::transformer(const Reader& in) {
  if (!in.is_object()) {
    const fs::path folder = in.file().parent_path();
    const auto shape = asked(transformers_, in);
    if (!shape) return shape;
    if (const auto alias = hub_alias(in.text(), folder, transformers_.kind)) in.note(alias_note(in.text(), *alias));
    return in_format_of_name(shape, in.text(), folder);
  }
  TransformerShape s = read_described_transformer(in);
  if (in.failed()) return nullptr;
  if (s.experts() != nullptr) s.set_expert_routing(usual_routing(in).many_topics);
  return std::make_shared<const TransformerShape>(std::move(s));
}
UsualRouting Catalogue::usual_routing(const Reader& asking) const {
  return read_file_below(asking, data_ / "routing.json", read_usual_routing);
}
UsualAcceptance Catalogue::usual_acceptance(const Reader& asking) const {
  const std::filesystem::path file = data_ / "acceptance.json";
  return asking.files().exists(file) ? read_file_below(asking, file, read_usual_acceptance) : UsualAcceptance{};
}
UsualRouting Catalogue::usual_routing() const {
  return read_whole(Document::from_file(data_ / "routing.json", *data_.files), read_usual_routing);
}
std::shared_ptr<const TransformerShape> Catalogue::transformer(const NamedNetwork& n) {
  if (n.described) {
    if (n.described->experts() == nullptr) return n.described;
    TransformerShape s = *n.described;
    s.set_expert_routing(usual_routing().many_topics);
    return std::make_shared<const TransformerShape>(std::move(s));
  }
  const auto found = find(n.name, n.beside.parent_path(), transformers_.kind);
  if (const auto* why = std::get_if<std::string>(&found)) throw InputErrors(n.place + ": " + *why);
  return in_format_of_name(load(transformers_, std::get<fs::path>(found), nullptr), n.name, n.beside.parent_path());
}
std::shared_ptr<const Engine> Catalogue::engine(const Reader& in) { return asked(engines_, in); }
std::shared_ptr<const Device> Catalogue::device(const std::string& name, const fs::path& asked_by) {
  return named(devices_, name, asked_by);
}
std::shared_ptr<const TransformerShape> Catalogue::transformer(const std::string& name, const fs::path& asked_by) {
  return in_format_of_name(named(transformers_, name, asked_by), name, asked_by.parent_path());
}
std::shared_ptr<const Engine> Catalogue::engine(const std::string& name, const fs::path& asked_by) {
  return named(engines_, name, asked_by);
}

DrafterConfig Catalogue::drafter(const NamedFile& folder, DrafterKind kind) {
  const fs::path file = folder.path() / "config.json";
  if (!data_.files->is_file(file))
    throw InputErrors(folder.place + ": must be a drafter's folder; there is no \"" +
                      (fs::path(folder.name) / "config.json").string() + "\"");
  const Document document = Document::from_file(file, *data_.files, JsonDialect::python);
  DrafterConfig drafter = read_whole(document, [&](const Reader& root) { return read_drafter(root, kind); });
  input_files_.insert(document.root().input_files().begin(), document.root().input_files().end());
  notes_.insert(notes_.end(), document.notes().begin(), document.notes().end());
  return drafter;
}

DrafterConfig Catalogue::drafter(const Reader& in, DrafterKind kind) {
  const NamedFile folder = read_named_file(in);
  if (!in.is_string()) return {};
  try {
    DrafterConfig drafter = this->drafter(folder, kind);
    const fs::path file = folder.path() / "config.json";
    in.note_input(file, input_files_.at(file));
    return drafter;
  } catch (const InputErrors& mistakes) {
    in.pass_on(mistakes);
    return {};
  }
}

std::optional<std::string> Catalogue::weights(const TransformerShape* shape) const {
  for (const auto& [file, known] : transformers_.read)
    if (known.get() == shape) try {
        if (file.filename() == "config.json")
          return weights_name(HuggingFaceFolder(file.parent_path(), *data_.files).fingerprint());
        if (file.extension() == ".gguf") return weights_name(GgufWeights(file, *data_.files).fingerprint());
      } catch (const InputErrors&) { return std::nullopt; }
  return std::nullopt;
}

// A file that the scenario names, read once.
template <class T, class Read>
static std::shared_ptr<const T> read_once(std::map<fs::path, std::shared_ptr<const T>>& known, const fs::path& file,
                                          const Reader& in, InputFiles& input_files, Read read) {
  auto& entry = known[file];
  if (!entry) try {
      entry = std::make_shared<T>(read(file, in.files()));
      add_file(input_files, file, in.files());
      in.note_input(file, input_files[file]);
    } catch (const InputErrors& mistakes) { in.pass_on(mistakes); }
  return entry;
}

// A file named beside the scenario.
template <class T, class Read>
static std::shared_ptr<const T> recorded(std::map<fs::path, std::shared_ptr<const T>>& known, const Reader& in,
                                         InputFiles& input_files, Read read) {
  const std::string name = in.text();
  if (name.empty()) {
    if (in.is_string()) in.fail("must be the name of a file");
    return nullptr;
  }
  const fs::path file = in.file().parent_path() / name;
  const Files& files = in.files();
  if (!files.exists(file)) {
    in.fail("no such file: \"" + name + "\"");
    return nullptr;
  }
  if (!files.is_file(file)) {
    in.fail((files.is_folder(file) ? "is a folder, not a file: \"" : "is not a regular file: \"") + name + "\"");
    return nullptr;
  }
  return read_once(known, file, in, input_files, read);
}

std::shared_ptr<const WorkloadTrace> Catalogue::workload(const Reader& in) {
  const auto trace = recorded(workloads_, in, input_files_, read_workload_trace);
  if (trace)
    for (const std::string& note : trace->notes) in.note(note);
  return trace;
}

Catalogue::NamedTrace Catalogue::trace(const Reader& in) {
  const std::string name = in.text();
  if (!in.is_string()) return {};
  const auto found = find_trace(name, in.file().parent_path(), in.files(), data_);
  if (const auto* why = std::get_if<std::string>(&found)) {
    in.fail(*why);
    return {};
  }
  const TraceFile& file = std::get<TraceFile>(found);
  return {read_once(traces_, file.path, in, input_files_, Trace::read), file.ships};
}

std::shared_ptr<const ServedAcceptance> Catalogue::served_acceptance(const Reader& in) {
  return recorded(served_acceptances_, in, input_files_, ServedAcceptance::read);
}

}  // namespace draftline
