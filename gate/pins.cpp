// SPDX-License-Identifier: Apache-2.0
#include "gate/pins.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "core/errors.h"
#include "core/json_writer.h"
#include "core/text_file.h"
#include "gate/renamed.h"
#include "reports/figure_lists.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;
constexpr int kPinsSchema = 1;
constexpr std::array<std::string_view, 6> kPinnedVerbs{"run", "simulate", "plan", "advise", "papers", "calibrate"};

// A difference is relative to the larger value, so a tolerance of 1 would let any rise pass; 0.5 allows twice or half.
constexpr double kLargestTolerance = 0.5;

Tolerance read_tolerance(const Reader& in) {
  Tolerance t{in.at("relative").number(0, kLargestTolerance), in.at("because").text()};
  in.done();
  return t;
}

PointKey read_key(const Reader& in) {
  PointKey key;
  for (const auto& [name, value] : in.entries())
    key.emplace_back(current_name(name), value.is_string() ? value.text() : value.json().dump());
  return key;
}

PointFigures read_point(const Reader& in, const PointKey& shared) {
  PointFigures p;
  p.key = shared;
  for (const auto& [name, value] : in.entries()) {
    if (name == "at") {
      const PointKey own = read_key(value);
      p.key.insert(p.key.end(), own.begin(), own.end());
    } else {
      if (value.is_array() || value.is_object()) value.fail("must be a number, a text, true, false or null");
      p.figures.emplace_back(current_name(name), Json(value.json()));
    }
  }
  return p;
}

std::vector<std::string> texts(const Reader& in) {
  std::vector<std::string> all;
  for (const Reader& one : in.items()) all.push_back(one.text());
  return all;
}

// Notes a mistake if the list is empty, as a pin would then pin nothing.
void expect_some(const Reader& list, const std::string& one) {
  if (list.is_array() && list.size() == 0) list.fail("at least one " + one + " is required");
}

std::vector<std::string> figure_names(const Reader& in) {
  expect_some(in, "figure");
  std::vector<std::string> names = texts(in);
  for (std::string& name : names) name = dotted(std::move(name));
  return names;
}

Pin read_pin(const Reader& in, const Tolerance& usual, Missing missing) {
  Pin p;
  p.place = in.place();
  Question& q = p.question;
  q.verb = in.at("verb").word(kPinnedVerbs);
  q.verb_place = in.at("verb").place();
  const fs::path folder = in.file().parent_path();
  if (q.verb == "papers") {
    expect_some(in.at("papers"), "paper");
    q.papers = texts(in.at("papers"));
  } else {
    const Reader file = in.at(q.verb == "calibrate" ? "measured" : "scenario");
    q.file = (folder / file.text()).lexically_normal();
    std::error_code error;
    p.gone = !fs::is_regular_file(q.file, error);
    if (p.gone && missing == Missing::mistake) file.fail("no such file: \"" + q.file.generic_string() + "\"");
  }
  if (const auto seed = in.find("seed")) q.seed = read_seed(*seed);
  p.tolerance = usual;
  if (const auto own = in.find("tolerance")) p.tolerance = read_tolerance(*own), p.own_tolerance = true;
  p.figures = in.has("figures") ? figure_names(in.at("figures")) : pinned_figures(q.verb);
  if (const auto inputs = in.find("inputs")) p.inputs = texts(*inputs);
  const auto where = in.find("where");
  const PointKey shared = where ? read_key(*where) : PointKey{};
  if (const auto points = in.find("points"))
    for (const Reader& point : points->items()) p.points.push_back(read_point(point, shared));
  in.done();
  return p;
}

PinFile read(const Reader& in, Missing missing) {
  PinFile f;
  f.path = in.file();
  if (in.at("schema_version").integer() != kPinsSchema) in.at("schema_version").fail("this draftline reads schema 1");
  if (const auto approved = in.find("approved")) {
    f.commit = approved->at("commit").text();
    f.model = approved->at("model").text();
    approved->done();
  }
  if (const auto t = in.find("tolerance")) f.tolerance = read_tolerance(*t);
  if (missing == Missing::mistake) expect_some(in.at("pins"), "pin");  // a folder has pins without a file, too
  for (const Reader& pin : in.at("pins").items()) f.pins.push_back(read_pin(pin, f.tolerance, missing));
  if (const auto inputs = in.find("inputs"))
    for (const auto& [name, content] : inputs->entries()) {
      InputContent& c = f.inputs[name];
      c.fingerprint = content.at("fingerprint").text();
      if (const auto values = content.find("values"))
        for (const auto& [place, value] : values->entries()) c.values[place] = value.text();
      content.done();
    }
  in.done();
  return f;
}

void write_key(JsonWriter& w, const char* name, const PointKey& key) {
  w.object(name, [&] {
    for (const auto& [part, value] : key) w.member(part, value);
  });
}

void write_tolerance(JsonWriter& w, const Tolerance& t) {
  w.object("tolerance", [&] {
    w.member("relative", t.relative);
    w.member("because", t.because);
  });
}

void write_pin(JsonWriter& w, const Pin& p, const fs::path& folder) {
  const Question& q = p.question;
  w.member("verb", q.verb);
  if (q.verb == "papers") w.list("papers", q.papers);
  else w.member(q.verb == "calibrate" ? "measured" : "scenario", input_name(q.file, "/nowhere", folder));
  if (q.seed != 0) w.member("seed", q.seed);
  if (p.own_tolerance) write_tolerance(w, p.tolerance);
  if (p.figures != pinned_figures(q.verb)) w.list("figures", p.figures);
  w.list("inputs", p.inputs);
  const PointKey shared = shared_by(p.points);
  if (!shared.empty()) write_key(w, "where", shared);
  w.objects("points", p.points, [&](const PointFigures& point) {
    write_key(w, "at", without(point.key, shared));
    for (const auto& [name, value] : point.figures) w.member(name, nlohmann::json(value));
  });
}

bool names_json(const fs::path& file) {
  std::string end = file.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end == ".json";
}

bool holds_json(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (names_json(it->path())) return true;
  return false;
}

// Two keys tell a scenario, so that one that is misspelled is no way out of the gate. Outputs, measured files and files
// of pins have a version, and no other file has two of these keys.
bool is_scenario(const Reader& root) {
  constexpr std::array<std::string_view, 6> kKeys{"device", "method",   "transformer",
                                                  "engine", "workload", "batch_size"};
  return root.is_object() && !root.has("schema_version") &&
         std::ranges::count_if(kKeys, [&](std::string_view key) { return root.has(key); }) >= 2;
}

// The verb that answers a scenario; none if the file is no scenario, "" if it is broken and may be one.
std::optional<std::string> verb_for(const fs::path& file) try {
  const Document document = Document::from_file(file);
  const Reader root = document.root();
  if (!is_scenario(root)) return std::nullopt;
  return root.has("workload") ? "simulate" : "run";
} catch (const InputErrors&) { return ""; }

bool follows_scenario(const Pin& p) {
  const std::string& verb = p.question.verb;
  return (verb == "run" || verb == "simulate") && p.figures == pinned_figures(verb);
}

}  // namespace

PinFile read_pins(const fs::path& file, Missing missing) {
  return read_file(file, [&](const Reader& in) { return read(in, missing); });
}

void write_pins(const PinFile& f) {
  constexpr int kLines = 4;  // each point, and each value of an input, is on a line of its own
  std::ostringstream out;
  JsonWriter w(out, kLines);
  w.begin_object();
  w.member("schema_version", kPinsSchema);
  w.object("approved", [&] {
    w.member("commit", f.commit);
    w.member("model", f.model);
  });
  write_tolerance(w, f.tolerance);
  w.objects("pins", f.pins, [&](const Pin& p) { write_pin(w, p, f.path.parent_path()); });
  w.object("inputs", [&] {
    for (const auto& [name, content] : f.inputs)
      w.object(name, [&c = content, &w] {
        w.member("fingerprint", c.fingerprint);
        if (c.values.empty()) return;
        w.object("values", [&] {
          for (const auto& [place, value] : c.values) w.member(place, value);
        });
      });
  });
  w.end_object();
  w.finish();
  write_text_file(f.path, out.str());
}

std::vector<NotPinned> pin_folder(const fs::path& folder, PinFile& pinned) {
  std::vector<fs::path> files;
  std::vector<NotPinned> others;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path& file = entry.path();
    std::error_code unknown;
    if (entry.is_directory(unknown)) {
      if (holds_json(file)) others.push_back({file, "is a folder; only files directly in " + folder.string() + " are"});
    } else if (file.extension() == ".json") {
      files.push_back(file);
    } else if (names_json(file)) {
      others.push_back({file, "its name does not end in .json"});
    }
  }
  if (error) throw InputErrors(folder.string() + ": can't be read: " + error.message());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const auto verb = verb_for(file);
    bool known = file.lexically_normal() == pinned.path.lexically_normal();
    for (Pin& p : pinned.pins) {
      if (p.question.file.lexically_normal() != file.lexically_normal()) continue;
      known = true;
      if (!verb || verb->empty() || !follows_scenario(p)) continue;
      p.question.verb = *verb;
      p.figures = pinned_figures(*verb);
    }
    if (known) continue;
    if (!verb) {
      others.push_back({file, "is not a scenario"});
      continue;
    }
    Pin p;
    p.question.verb = verb->empty() ? "run" : *verb;
    p.question.file = file;
    p.figures = pinned_figures(p.question.verb);
    p.tolerance = pinned.tolerance;
    pinned.pins.push_back(std::move(p));
  }
  std::ranges::sort(others, [](const NotPinned& a, const NotPinned& b) { return a.file < b.file; });
  return others;
}

}  // namespace draftline::gate
