// SPDX-License-Identifier: Apache-2.0
// `draftline check`: recomputes pinned predictions and compares them with the approved ones; exit code 1 if any
// changed.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "api/answer.h"
#include "cli/command.h"
#include "cli/interruptible.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/rank_executor.h"
#include "core/json_in_order.h"
#include "core/json_parse.h"
#include "core/text_file.h"
#include "gate/change_table.h"
#include "gate/gate_page.h"
#include "gate/gate_report.h"
#include "gate/measured_change.h"

namespace draftline::cli {

namespace {

using namespace gate;
namespace fs = std::filesystem;

struct CheckOptions {
  std::vector<fs::path> pins, against, measured;
  fs::path scenarios, anchors, junit, markdown, html, reference;
  bool approve = false, exact = false, json = false;
  int jobs = 1;
  double tolerance = Tolerance{}.relative, within = 0.05;
  std::vector<std::string> given;  // names of options on the command line

  int asked() const {  // number of different kinds of questions
    return to_int(!pins.empty() || !scenarios.empty() || !anchors.empty()) + to_int(!against.empty()) +
           to_int(!measured.empty());
  }
};

// Options that the question has no use for: whoever gives one expects it to do something.
void refuse_idle_options(const CheckOptions& o) {
  const bool against = !o.against.empty(), measured = !o.measured.empty();
  const std::map<std::string, std::pair<bool, const char*>> uses{
      {"--approve", {!against && !measured, "--approve excludes --against and --measured"}},
      {"--tolerance", {against, "--tolerance requires --against; pin files contain their tolerance"}},
      {"--within", {measured, "--within requires --measured"}},
      {"--exact", {!measured, "--exact applies to predictions, not to --measured"}},
      {"--junit", {!measured, "--junit applies to predictions; use --json with --measured"}},
      {"--html", {!measured, "--html applies to predictions; use --json with --measured"}},
      {"--markdown", {!measured, "--markdown applies to predictions; use --json with --measured"}},
      {"--reference-data", {!o.anchors.empty(), "--reference-data requires --anchors"}}};
  std::vector<std::string> idle;
  for (const std::string& option : o.given)
    if (const auto use = uses.find(option); use != uses.end() && !use->second.first) idle.push_back(use->second.second);
  if (o.exact && std::ranges::find(o.given, "--tolerance") != o.given.end())
    idle.push_back("--exact and --tolerance exclude each other");
  if (!idle.empty()) throw InputErrors(std::move(idle));
}

int finish(const CheckOptions& o, const GateReport& report) {
  if (!o.html.empty()) {
    std::ostringstream page;
    write_gate_page({page, Format::html, {.verb = "check", .data = {}}}, report);
    write_text_file(o.html, page.str());
  }
  if (!o.junit.empty()) write_text_file(o.junit, gate_junit(report));
  if (!o.markdown.empty()) write_text_file(o.markdown, gate_markdown(report));
  if (o.json) write_gate_json(std::cout, report);
  else std::cout << gate_text(report, at(text_width()));
  if (report.wrong_input()) return kInput;
  return report.fine() ? kFine : kMissed;
}

// A scenario and other files that no verb printed have nothing to be compared by.
Json read_output(const fs::path& file) {
  const std::string text = read_text_file(file);
  const ParsedJson strict = parse_json(text);
  if (!strict.error.empty()) throw InputErrors(file.string() + "#" + strict.error_pointer + ": " + strict.error);
  Json results = json_in_order(text);
  if (results.is_object() && !results.contains("schema_version"))
    throw InputErrors(file.string() + "#: is not an output of a verb: missing key \"schema_version\"");
  if (count_figures(figures_of(results)) == 0) throw InputErrors(file.string() + "#: contains no figures");
  return results;
}

int check_against(const CheckOptions& o, const Common& common) {
  const fs::path& old_file = o.against.front();
  const auto asked = o.against.size() == 1 ? std::optional(question_of(Document::from_file(old_file))) : std::nullopt;
  Answer now;
  if (asked) now = answer(*asked, common.data);
  for (const std::string& note : now.notes) print_note(note);
  const Json was = read_output(old_file), is = asked ? Json::parse(now.document) : read_output(o.against.back());
  const std::string name = old_file.generic_string() + " -> " + (asked ? "now" : o.against.back().generic_string());
  return finish(o, {{compare_documents(was, is, name, o.exact ? 0 : o.tolerance)}, {}});
}

int check_measured(const CheckOptions& o) {
  const auto comparison = compare_measured(o.measured.front(), o.measured.back(), o.within);
  if (o.json) write_measured_json(std::cout, comparison);
  else std::cout << measured_text(comparison, at(text_width()));
  return comparison.fine() ? kFine : kMissed;
}

struct AllPins {
  std::vector<PinFile> files;
  std::vector<NotPinned> others;  // of the folder of --scenarios
};

// The named pin files, each once, and that of --scenarios with a pin for each scenario of the folder.
AllPins read_all_pins(const CheckOptions& o) {
  AllPins all;
  const fs::path file = o.scenarios.empty() ? fs::path() : o.scenarios / "pins.json";
  std::set<fs::path> known;
  std::error_code error;
  if (!file.empty()) known.insert(fs::weakly_canonical(file, error));
  for (const fs::path& named : o.pins)
    if (known.insert(fs::weakly_canonical(named, error)).second) all.files.push_back(read_pins(named));
  if (o.scenarios.empty()) return all;
  PinFile of_folder;
  if (fs::exists(file, error)) of_folder = read_pins(file, Missing::gone);
  of_folder.path = file;
  all.others = pin_folder(o.scenarios, of_folder);
  if (of_folder.pins.empty()) throw InputErrors(o.scenarios.string() + ": contains no scenarios");
  all.files.push_back(std::move(of_folder));
  return all;
}

InputFiles contents(const std::vector<PinFile>& files) {
  InputFiles contents;
  for (const PinFile& file : files)
    for (const Pin& pin : file.pins) {
      add_file(contents, file.path);
      if (!pin.question.file.empty()) add_file(contents, pin.question.file);
    }
  return contents;
}

// The files of the folder that neither have a pin nor are read by one.
void say_not_pinned(const AllPins& all, const std::vector<Recomputed>& now) {
  for (const NotPinned& other : all.others) {
    const std::string name = other.file.filename().generic_string();  // inputs are named relative to the folder
    if (std::ranges::none_of(now, [&](const Recomputed& r) { return r.inputs.contains(name); }))
      std::cerr << "not pinned: " << printable(other.file.generic_string(), 1000) << ": " << printable_lines(other.why)
                << "\n";
  }
}

using PinsOfFiles = std::vector<std::pair<const PinFile*, const Pin*>>;

// A pin of a figure that no output has would pin nothing.
void refuse_unknown_figures(const PinsOfFiles& pins, const std::vector<Recomputed>& now) {
  std::vector<std::string> mistakes;
  for (std::size_t i = 0; i < pins.size(); ++i)
    for (std::string& mistake : unknown_figures(*pins[i].second, now[i])) mistakes.push_back(std::move(mistake));
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

int check_pins(const CheckOptions& o, const Common& common) {
  const AllPins read = read_all_pins(o);
  const std::vector<PinFile>& files = read.files;
  const InputFiles inputs = contents(files);
  std::vector<fs::path> kept;
  for (const auto& [file, fingerprint] : inputs) kept.push_back(file);
  for (const NotPinned& other : read.others) kept.push_back(other.file);
  check_outputs({{"--junit", o.junit}, {"--markdown", o.markdown}, {"--html", o.html}}, kept);
  PinsOfFiles all;
  for (const PinFile& file : files)
    for (const Pin& pin : file.pins) all.emplace_back(&file, &pin);
  Progress progress("checking", all.size());
  const Interruptible interruptible;
  std::vector<Recomputed> now;
  std::set<std::string> noted;
  const auto print_new = [&](const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
      if (noted.insert(note).second) print_note(note);
  };
  const auto worker = [&](std::size_t i) { return recompute(*all[i].second, all[i].first->path, common.data); };
  RankExecutor(common.ranks, o.jobs)
      .run(ordered_work(
          all.size(), work_id(inputs, 0), [&] { return worker; },
          [&](Recomputed& r) {
            print_new(r.notes);
            now.push_back(std::move(r));
            progress.at(now.size());
          }));
  if (!common.ranks.first()) return kFine;
  if (now.size() < all.size()) {
    std::cerr << "interrupted after " << now.size() << " of " << all.size() << " pins\n";
    return Interruptible::exit_code();
  }
  say_not_pinned(read, now);
  refuse_unknown_figures(all, now);
  GateReport report;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!o.approve || !all[i].second->points.empty())  // a pin without approved figures has no changes
      report.pins.push_back(compare(*all[i].first, *all[i].second, now[i], o.exact));
  AnchorFile anchors;
  if (!o.anchors.empty()) anchors = read_anchors(o.anchors, o.reference);
  for (const Anchor& a : anchors.anchors) {
    report.anchors.push_back(predict(a, common.data));
    print_new(report.anchors.back().notes);
  }
  const int code = finish(o, report);
  if (!o.approve) {
    const bool can_be_approved = std::ranges::all_of(now, [](const Recomputed& r) { return r.lacking.empty(); });
    if (code == kMissed && can_be_approved)
      std::cerr << "If these changes are intended, repeat the command with --approve.\n";
    return code;
  }
  std::vector<PinFile> approved_files;  // written only if none throws
  auto begin = now.begin();
  for (const PinFile& file : files) {
    const auto end = begin + std::ssize(file.pins);
    approved_files.push_back(approved(file, {begin, end}));
    begin = end;
  }
  for (const PinFile& file : approved_files) {
    write_pins(file);
    std::size_t figures = 0;
    for (const Pin& pin : file.pins) figures += count_figures(pin.points);
    std::cerr << "approved " << file.path.string() << ": " << counted(file.pins.size(), "pin") << ", "
              << counted(figures, "figure") << "\n";
  }
  if (!o.anchors.empty()) {
    approve_anchors(anchors, report.anchors);
    std::cerr << "approved " << o.anchors.string() << ": " << counted(report.anchors.size(), "anchor") << "\n";
  }
  return kFine;
}

int check_all(CheckOptions o, const Common& common) {
  if (o.asked() > 1)
    throw InputErrors("give pin files (or --scenarios DIR or --anchors FILE), or --against, or --measured");
  std::vector<fs::path> inputs(o.pins.begin(), o.pins.end());
  inputs.insert(inputs.end(), o.against.begin(), o.against.end());
  inputs.insert(inputs.end(), o.measured.begin(), o.measured.end());
  inputs.push_back(o.anchors);
  check_outputs({{"--junit", o.junit}, {"--markdown", o.markdown}, {"--html", o.html}}, inputs);
  refuse_idle_options(o);
  if (const char* folder = std::getenv("DRAFTLINE_REFERENCE_DATA"); o.reference.empty() && folder != nullptr)
    o.reference = folder;
  if (!common.ranks.first() && (!o.against.empty() || !o.measured.empty())) return kFine;  // one comparison
  if (!o.against.empty()) return check_against(o, common);
  return o.measured.empty() ? check_pins(o, common) : check_measured(o);
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("check", "recompute pinned predictions; exit 1 if a figure changed");
  auto o = std::make_shared<CheckOptions>();
  verb->add_option("pins", o->pins, "files of pinned predictions (docs/recipes/ci.md)")->check(CLI::ExistingFile);
  verb->add_option("--scenarios", o->scenarios, "check every scenario of this folder, pinned in its pins.json")
      ->check(CLI::ExistingDirectory);
  verb->add_flag("--approve", o->approve, "print the changes, then write the current figures to the pin files");
  verb->add_flag("--exact", o->exact, "no tolerance: figures must be equal bit for bit");
  verb->add_option("--against", o->against,
                   "OLD.json [NEW.json]: compare two outputs of one verb, point by point; without NEW.json the answer\n"
                   "to OLD.json's question is recomputed")
      ->expected(1, 2)
      ->check(CLI::ExistingFile);
  verb->add_option("--tolerance", o->tolerance, "with --against: relative tolerance")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  verb->add_option("--anchors", o->anchors, "a file of measured references: compare current errors with pinned errors")
      ->check(CLI::ExistingFile);
  verb->add_option("--reference-data", o->reference,
                   "the folder of the anchors' measurements; default: DRAFTLINE_REFERENCE_DATA");
  verb->add_option("--measured", o->measured,
                   "OLD.json NEW.json: compare two files of probe or of validate's steps, with tests of significance")
      ->expected(2)
      ->check(CLI::ExistingFile);
  verb->add_option("--within", o->within, "with --measured: ratios within this distance of 1 are the same")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  verb->add_option("--junit", o->junit, "write a JUnit XML file, a test case for each pin");
  verb->add_option("--markdown", o->markdown, "write a Markdown file, for a job's summary");
  verb->add_option("--html", o->html, "write a page with a chart of what moved");
  verb->add_flag("--json", o->json, "one JSON document on standard output");
  verb->add_option("--jobs", o->jobs, "threads (1); the output does not depend on it")->check(CLI::Range(1, 1024));
  verb->footer(
      "Example: draftline check --scenarios my-scenarios --approve   (pins them)\n"
      "         draftline check --scenarios my-scenarios             (in CI: exit 1 and a table if a figure changed)");
  verb->callback([o, verb, &chosen] {
    chosen = {AcrossRanks::shares, [o, verb](const Common& c) {
                for (const CLI::Option* option : verb->parse_order()) o->given.push_back(option->get_name());
                if (o->asked() > 0) return check_all(*o, c);
                std::cerr << verb->help();  // an error, as a pattern that matches no file must not pass
                return to_int(kInput);
              }};
  });
}

}  // namespace draftline::cli
