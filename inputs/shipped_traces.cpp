// SPDX-License-Identifier: Apache-2.0
#include "inputs/shipped_traces.h"

#include <algorithm>

#include "core/errors.h"
#include "core/nearest_word.h"
#include "core/printable.h"
#include "core/reader.h"

namespace draftline {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kEnding = ".jsonl.gz";
constexpr int kDeepest = 4;  // folders of a name

void add_names(const Files& files, const fs::path& folder, const std::string& before, int deeper,
               std::vector<std::string>& to) {
  for (const fs::path& file : files.list(folder)) {
    const std::string name = file.filename().string();
    if (files.is_folder(file) && deeper > 0) add_names(files, file, before + name + "/", deeper - 1, to);
    else if (name.ends_with(kEnding)) to.push_back(before + name.substr(0, name.size() - kEnding.size()));
  }
}

// The name that is nearest, or the first of those with the same end: "code" -> "reference/eagle3/code".
std::string hint(const std::string& name, const std::vector<std::string>& known) {
  constexpr int kMostNamed = 3;
  std::string all;
  int named = 0;
  for (const std::string& k : known)
    if ((k.ends_with("/" + name) || k.find("/" + name + "/") != k.npos) && named++ < kMostNamed)
      all += (all.empty() ? "" : " or ") + in_quotes(k);
  if (all.empty())
    if (const auto near = nearest_word(name, known)) all = in_quotes(*near);
  return (all.empty() ? "" : "; did you mean " + all + "?") +
         std::string("; `draftline list traces` has all that ship");
}

}  // namespace

std::vector<std::string> shipped_traces(const Data& data) {
  std::vector<std::string> all;
  add_names(*data.files, data / "traces", "", kDeepest, all);
  std::ranges::sort(all);
  return all;
}

TraceOrigin origin_of_trace(const std::string& name, const Data& data) {
  fs::path folder = fs::path(name).parent_path();
  while (!folder.empty() && !data.files->exists(data / "traces" / folder / "origin.json"))
    folder = folder.parent_path();
  return read_whole(Document::from_file(data / "traces" / folder / "origin.json", *data.files), [](const Reader& in) {
    for (const char* for_people : {"target", "sampling", "prompts"}) (void)in.find(for_people);
    if (const auto prompts = in.find("prompts")) (void)prompts->entries();
    TraceOrigin origin{in.at("source").text(), in.at("locator").text()};
    in.done();
    return origin;
  });
}

std::variant<TraceFile, std::string> find_trace(const std::string& name, const fs::path& folder, const Files& files,
                                                const Data& data) {
  if (name.empty()) return "must be the name of a file or of a trace";
  const fs::path path = folder / name;
  if (files.exists(path)) {
    if (files.is_file(path)) return TraceFile{path};
    return (files.is_folder(path) ? "is a folder, not a file: " : "is not a regular file: ") + in_quotes(name);
  }
  const std::vector<std::string> known = shipped_traces(data);
  if (std::ranges::binary_search(known, name)) return TraceFile{data / "traces" / (name + std::string(kEnding)), true};
  return "no such file: " + in_quotes(name) + hint(name, known);
}

}  // namespace draftline
