// SPDX-License-Identifier: Apache-2.0
#include "gate/gate.h"

#include <algorithm>
#include <set>

#include "core/build_info.h"
#include "core/errors.h"

namespace draftline::gate {

namespace {

std::string short_commit(std::string commit) {
  constexpr std::size_t kDigits = 10;
  const bool dirty = commit.ends_with("-dirty");
  if (commit.size() > kDigits && commit != "unknown") commit = commit.substr(0, kDigits) + (dirty ? "-dirty" : "");
  return commit.empty() ? "unknown" : commit;
}

std::string program_change(const std::string& commit, const std::string& model) {
  if (model == build_model())
    return "neither an input nor the program's model differs: another compiler, C library or CPU computed it";
  return "the program changed: commit " + short_commit(commit) + " -> " + short_commit(std::string(build_commit()));
}

}  // namespace

Recomputed recompute(const Pin& pin, const std::filesystem::path& pin_file, const std::filesystem::path& data) {
  Recomputed r;
  try {
    const Answer a = answer(pin.question, data);
    r.points = selected(figures_of(a.document), pin.figures);
    r.inputs = contents_of(a.input_files, data, pin_file.parent_path());
  } catch (const InputErrors& e) { r.failure = e.what(); }
  return r;
}

Checked compare(const PinFile& file, const Pin& pin, const Recomputed& now, bool exact) {
  Checked c{file.path.generic_string(), pin.question.name(), pin.points.size(), count_figures(pin.points), {}, {}, {}};
  c.failure = now.failure;
  if (c.failure.empty() && pin.points.empty()) c.failure = "has no approved figures yet: run check --approve";
  if (!c.failure.empty()) return c;
  c.changes = changes_between(pin.points, now.points, exact ? 0 : pin.tolerance.relative);
  if (c.changes.empty()) return c;
  std::set<std::string> names(pin.inputs.begin(), pin.inputs.end());
  for (const auto& [name, content] : now.inputs) names.insert(name);
  Inputs before;
  for (const std::string& name : pin.inputs)
    if (const auto found = file.inputs.find(name); found != file.inputs.end()) before.insert(*found);
  c.causes = differences(before, now.inputs, {names.begin(), names.end()});
  if (c.causes.empty() || file.model != build_model()) c.causes.push_back(program_change(file.commit, file.model));
  return c;
}

PinFile approved(PinFile file, const std::vector<Recomputed>& now) {
  std::vector<std::string> mistakes;
  file.commit = build_commit();
  file.model = build_model();
  file.inputs.clear();
  for (std::size_t i = 0; i < file.pins.size(); ++i) {
    Pin& pin = file.pins[i];
    if (!now[i].failure.empty()) mistakes.push_back(pin.question.name() + ": " + now[i].failure);
    pin.points = now[i].points;
    pin.inputs.clear();
    for (const auto& [name, content] : now[i].inputs) {
      pin.inputs.push_back(name);
      file.inputs.insert_or_assign(name, content);
    }
  }
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
  return file;
}

Checked compare_documents(const Json& was, const Json& is, const std::string& name, double tolerance) {
  const auto before = figures_of(was), now = figures_of(is);
  Checked c{"", name, before.size(), count_figures(before), changes_between(before, now, tolerance), {}, {}};
  const auto of = [](const Json& document, const char* key) {
    return document.is_object() ? document.value(key, Json()) : Json();
  };
  const Json a = of(was, "input_files"), b = of(is, "input_files");
  const auto files = [](const Json& j) { return j.is_object() ? j : Json::object(); };
  for (const auto& [file, fingerprint] : files(a).items()) {
    if (!files(b).contains(file)) c.causes.push_back(file + ": is not read any more");
    else if (b.at(file) != fingerprint) c.causes.push_back(file + ": its content differs");
  }
  for (const auto& [file, fingerprint] : files(b).items())
    if (!files(a).contains(file)) c.causes.push_back(file + ": is read now");
  const auto text = [&](const Json& document, const char* key) {
    const Json j = of(document, key);
    return j.is_string() ? j.get<std::string>() : "unknown";
  };
  if (text(was, "model") != text(is, "model") || text(was, "commit") != text(is, "commit"))
    c.causes.push_back("the program changed: commit " + short_commit(text(was, "commit")) + " -> " +
                       short_commit(text(is, "commit")));
  if (c.changes.empty()) c.causes.clear();
  return c;
}

}  // namespace draftline::gate
