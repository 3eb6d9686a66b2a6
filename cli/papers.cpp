// SPDX-License-Identifier: Apache-2.0
// `draftline papers [NAME]`: the tables of papers with our predictions, and the peak share of each printed figure.
#include "cli/command.h"
#include "cli/options.h"
#include "papers/all_papers.h"
#include "reports/paper_report.h"

namespace draftline::cli {

namespace {

struct PapersOptions {
  std::vector<std::string> names = paper_names();
  Format format = Format::table;
};

int papers(const PapersOptions& o, const Common& common) {
  std::vector<Paper> all;
  for (const std::string& name : o.names) all.push_back(predict_paper(common.data, name));
  write_papers(to_standard_output(o.format, {"papers", common.data, 0}), all);
  return kFine;
}

}  // namespace

void add_papers(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("papers", "regenerate the papers' tables: paper, ours, error, and what each cell needs");
  auto o = std::make_shared<PapersOptions>();
  verb->add_option("names", o->names, "which papers; all that are known if none is named")
      ->check(CLI::IsMember(paper_names()));
  add_formats(*verb, o->format, "every cell with its kind, as one JSON document");
  verb->add_flag_callback(
          "--markdown", [o] { o->format = Format::markdown; }, "Markdown on standard output")
      ->excludes("--json")
      ->excludes("--csv")
      ->excludes("--html");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return papers(*o, c); }}; });
}

}  // namespace draftline::cli
