// SPDX-License-Identifier: Apache-2.0
#include "gate/gate.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "api/answer.h"
#include "core/build_info.h"
#include "core/errors.h"
#include "reports/figure_lists.h"

namespace draftline::gate {

namespace {

std::string short_commit(std::string commit) {
  constexpr std::size_t kDigits = 10;
  const bool dirty = commit.ends_with("-dirty");
  if (commit.size() > kDigits && commit != "unknown") commit = commit.substr(0, kDigits) + (dirty ? "-dirty" : "");
  return commit.empty() ? "unknown" : commit;
}

// The cause of changes where no input differs. Rounding moves figures; points and figures come and go only by an edit.
std::string program_change(const std::string& commit, const std::string& model, const std::vector<Change>& changes) {
  if (model == build_model()) {
    const bool moved = std::ranges::any_of(changes, [](const Change& c) { return c.kind == Change::Kind::moved; });
    return std::string("neither the inputs nor the program's model changed: ") +
           (moved ? "a different compiler, C library or CPU computed it" : "the pin was edited after its approval");
  }
  return "the program changed: commit " + short_commit(commit) + " -> " + short_commit(std::string(build_commit()));
}

std::vector<PointKey> keys_of(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is) {
  std::vector<PointKey> keys;
  std::set<std::string> known;
  for (const auto* points : {&was, &is})
    for (const PointFigures& p : *points)
      if (known.insert(identity_of(p.key)).second) keys.push_back(p.key);
  return keys;
}

// The name of a pin, with path and seed if another pin of the file has the same name, and its place if these are the
// same, too.
std::string name_of(const PinFile& file, const Pin& pin) {
  const auto longer = [&](const Pin& p) {
    const std::string seed = p.question.seed == 0 ? "" : ", seed " + std::to_string(p.question.seed);
    if (p.question.file.empty()) return p.question.name() + seed;
    return p.question.verb + " " + input_name(p.question.file, "/nowhere", file.path.parent_path()) + seed;
  };
  const auto shared = [&](const auto& name_by) {
    return std::ranges::count_if(file.pins, [&](const Pin& other) { return name_by(other) == name_by(pin); }) > 1;
  };
  const auto shorter = [](const Pin& p) { return p.question.name(); };
  if (!shared(shorter)) return shorter(pin);
  if (!shared(longer)) return longer(pin);
  return longer(pin) + ", " + pin.place.substr(pin.place.rfind('#') + 1);
}

// Figures that the pin names. Warnings and skipped points may be missing, beside others, as they mostly are.
std::vector<std::pair<std::string, std::string>> lacking_figures(const Pin& pin,
                                                                 const std::vector<PointFigures>& points) {
  std::vector<std::pair<std::string, std::string>> lacking;
  if (pin.figures == pinned_figures(pin.question.verb)) return lacking;
  const bool others =
      std::ranges::any_of(pin.figures, [&](const std::string& name) { return has_figure(points, name); });
  for (std::size_t i = 0; i < pin.figures.size(); ++i) {
    const std::string& name = pin.figures[i];
    if (has_figure(points, name) || (others && (name == "warnings" || name == "skipped"))) continue;
    lacking.emplace_back(
        name, pin.place + "/figures/" + std::to_string(i) + ": " + no_figure(name, "in this output", points));
  }
  return lacking;
}

}  // namespace

Recomputed recompute(const Pin& pin, const std::filesystem::path& pin_file, const std::filesystem::path& data) {
  Recomputed r;
  if (pin.gone) {
    r.failure = "its scenario no longer exists: the same command with --approve removes the pin";
    return r;
  }
  try {
    const Answer a = answer(pin.question, data);
    std::vector<PointFigures> all = figures_of(Json::parse(a.document));
    r.lacking = lacking_figures(pin, all);
    r.notes = a.notes;
    r.points = selected(std::move(all), pin.figures);
    r.inputs = contents_of(a.input_files, data, pin_file.parent_path());
  } catch (const InputErrors& e) { r.failure = e.what(); }
  return r;
}

std::vector<std::string> unknown_figures(const Pin& pin, const Recomputed& now) {
  std::vector<std::string> mistakes;
  for (const auto& [name, mistake] : now.lacking)
    if (!has_figure(pin.points, name)) mistakes.push_back(mistake);
  return mistakes;
}

Checked compare(const PinFile& file, const Pin& pin, const Recomputed& now, bool exact) {
  Checked c;
  c.file = file.path.generic_string();
  c.question = name_of(file, pin);
  c.points = pin.points.size();
  c.figures = count_figures(pin.points);
  c.failure = now.failure;
  c.wrong_input = now.failure && !pin.gone;
  if (!c.failure && pin.points.empty())
    c.failure = "has no approved figures yet: the same command with --approve writes them to " + c.file;
  if (c.failure) return c;
  c.changes = changes_between(pin.points, now.points, exact ? 0 : pin.tolerance.relative);
  if (c.changes.empty()) return c;
  c.keys = keys_of(pin.points, now.points);
  std::set<std::string> names(pin.inputs.begin(), pin.inputs.end());
  for (const auto& [name, content] : now.inputs) names.insert(name);
  Inputs before;
  for (const std::string& name : pin.inputs)
    if (const auto found = file.inputs.find(name); found != file.inputs.end()) before.insert(*found);
  c.causes = differences(before, now.inputs, {names.begin(), names.end()});
  if (c.causes.empty() || file.model != build_model())
    c.causes.push_back(program_change(file.commit, file.model, c.changes));
  return c;
}

PinFile approved(PinFile file, const std::vector<Recomputed>& now) {
  std::vector<std::string> mistakes;
  std::vector<Pin> pins;
  file.commit = build_commit();
  file.model = build_model();
  file.inputs.clear();
  for (std::size_t i = 0; i < file.pins.size(); ++i) {
    Pin& pin = file.pins[i];
    if (pin.gone) continue;
    std::istringstream failures(now[i].failure.value_or(""));
    for (std::string line; std::getline(failures, line);) mistakes.push_back(pin.question.name() + ": " + line);
    for (const auto& [name, mistake] : now[i].lacking) mistakes.push_back(mistake);
    pin.points = now[i].points;
    pin.inputs.clear();
    for (const auto& [name, content] : now[i].inputs) {
      pin.inputs.push_back(name);
      file.inputs.insert_or_assign(name, content);
    }
    pins.push_back(std::move(pin));
  }
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
  file.pins = std::move(pins);
  return file;
}

Checked compare_documents(const Json& was, const Json& is, const std::string& name, double tolerance) {
  const auto before = figures_of(was), now = figures_of(is);
  Checked c;
  c.question = name;
  c.points = before.size();
  c.figures = count_figures(before);
  c.changes = changes_between(before, now, tolerance);
  if (c.changes.empty()) return c;
  c.keys = keys_of(before, now);
  const auto of = [](const Json& document, const char* key) {
    return document.is_object() ? document.value(key, Json()) : Json();
  };
  const auto files = [&](const Json& document) {
    const Json j = of(document, "input_files");
    return j.is_object() ? j : Json::object();
  };
  const Json a = files(was), b = files(is);
  for (const auto& [file, fingerprint] : a.items()) {
    if (!b.contains(file)) c.causes.push_back(file + ": is no longer read");
    else if (b.at(file) != fingerprint) c.causes.push_back(file + ": its content differs");
  }
  for (const auto& [file, fingerprint] : b.items())
    if (!a.contains(file)) c.causes.push_back(file + ": is newly read");
  const auto text = [&](const Json& document, const char* key) {
    const Json j = of(document, key);
    return j.is_string() ? j.get<std::string>() : "unknown";
  };
  if (text(was, "model") != text(is, "model") || text(was, "commit") != text(is, "commit"))
    c.causes.push_back("the program changed: commit " + short_commit(text(was, "commit")) + " -> " +
                       short_commit(text(is, "commit")));
  return c;
}

}  // namespace draftline::gate
