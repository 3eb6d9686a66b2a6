// SPDX-License-Identifier: Apache-2.0
// `draftline papers [NAME]`: the tables of papers with our predictions, and the peak share of each printed figure.
#include <iostream>

#include "cli/command.h"
#include "papers/table.h"
#include "reports/paper_report.h"
#include "reports/point.h"

namespace draftline::cli {

namespace {

struct PapersOptions {
  std::vector<std::string> names = paper_names();
  bool json = false, csv = false, markdown = false;
};

int papers(const PapersOptions& o, const Common& common) {
  constexpr int kSchemaVersion = 1;
  std::vector<Paper> all;
  for (const std::string& name : o.names) all.push_back(predict_paper(common.data, name));
  if (o.csv) {
    std::cout << to_csv(all);
    return 0;
  }
  if (!o.json) {
    for (const Paper& p : all)
      std::cout << to_text(p, o.markdown ? PaperStyle::markdown : PaperStyle::terminal,
                           static_cast<std::size_t>(text_width()));
    return 0;
  }
  JsonWriter w(std::cout, 4);
  w.begin_object();
  write_program(w, kSchemaVersion);
  InputFiles files;
  for (const Paper& p : all) files.insert(p.input_files.begin(), p.input_files.end());
  write_input_files(w, files, common.data);
  w.object("question", [&] {
    w.member("verb", "papers");
    w.list("names", o.names);
  });
  w.key("papers");
  w.begin_array();
  for (const Paper& p : all) write_json(w, p);
  w.end_array();
  w.end_object();
  w.finish();
  return 0;
}

}  // namespace

void add_papers(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("papers", "regenerate the papers' tables: paper, ours, error, and what each cell needs");
  auto o = std::make_shared<PapersOptions>();
  verb->add_option("names", o->names, "which papers; all that are known if none is named")
      ->check(CLI::IsMember(paper_names()));
  auto* json = verb->add_flag("--json", o->json, "every cell with its kind, as one JSON document");
  auto* csv = verb->add_flag("--csv", o->csv, "a row per cell, CSV on standard output")->excludes(json);
  verb->add_flag("--markdown", o->markdown, "tables for a page instead of a terminal")->excludes(json)->excludes(csv);
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return papers(*o, c); }}; });
}

}  // namespace draftline::cli
