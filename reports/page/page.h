// SPDX-License-Identifier: Apache-2.0
// A report for people: sentences, tables and charts. It is text for a terminal or Markdown, which leave charts out, or
// one HTML file that needs no other. Scripts add to it what needs them (page.js, explorer.js).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "reports/output.h"
#include "reports/page/bars.h"
#include "reports/page/chart.h"
#include "reports/page/heat_map.h"
#include "reports/table.h"

namespace draftline {

class Page {
 public:
  Page() = default;
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  virtual ~Page() = default;
  virtual void heading(const std::string& text) = 0;     // the title of what follows
  virtual void subheading(const std::string& text) = 0;  // the title of a part of that
  virtual void say(const std::string& text) = 0;         // a paragraph; nothing if it is empty
  virtual void show(const Table&) = 0;
  virtual void show(const Chart&) = 0;
  // The answer to the question of the report, sentences that explain it, and those that limit it.
  virtual void verdict(const std::string& answer, const std::vector<std::string>& more,
                       const std::vector<std::string>& doubts);
  virtual void command(const std::string& title, const std::string& line);  // one to copy
  virtual void plot(const Chart&) {}                                        // a chart as text, in a terminal
  virtual void show(const Bars&) {}
  virtual void show(const HeatMap&) {}
  virtual void explorer(const std::string& /*grid*/) {}  // JSON for explorer.js; only on pages with scripts
  virtual void is_replaced_by_explorer(bool) {}          // whether the figures that follow are
  virtual void finish() = 0;                             // must be called last; throws OutputError (core/errors)
};

void finish_stream(std::ostream&);  // throws OutputError unless all of it is written

// A page in a format for people. Markdown and HTML begin with the title; HTML ends with the command, the commit and the
// input files.
std::unique_ptr<Page> new_page(const Output&, const std::string& title, const InputFiles&);

}  // namespace draftline
