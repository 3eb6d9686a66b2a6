// SPDX-License-Identifier: Apache-2.0
// The output of a verb with one result per point, as a table, a page of HTML, CSV or a JSON document. A verb adds what
// it notes of the points, its charts and the sentences of its page.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json_writer.h"
#include "reports/figure.h"
#include "reports/output.h"
#include "reports/page/page.h"
#include "reports/point.h"
#include "reports/table.h"

namespace draftline {

template <class T, class Charts>  // T: Outcome or ServingOutcome, which were skipped if their result is a string
class PointReport {
 public:
  virtual ~PointReport() = default;
  void add(const T&);  // in order of the points; JSON is written as it comes, CSV many rows at a time
  void finish();       // must be called last; throws OutputError (core/json_writer)

 protected:
  // `flat`: in JSON the figures of the only point are members of the document. The scenario must outlive the report.
  PointReport(Output, const Scenario&, Figures<T>, bool flat);
  virtual void note(const T&) = 0;  // a point that was not skipped, in formats for people
  virtual void write_sentences(Page&) const = 0;
  virtual void write_more(JsonWriter&, const T&) const {}  // further members of a point

  const Scenario& scenario() const { return scenario_; }
  const Output& to() const { return to_; }
  std::size_t rows() const { return table_.rows(); }
  std::string skipped() const { return skipped_.sentence(); }
  Charts& charts() { return charts_; }
  const Charts& charts() const { return charts_; }
  std::string name_of(const Point& p) const { return inputs_.text(p); }
  void warn(const std::vector<std::string>&);
  void write_warnings(Page&) const;

 private:
  Table new_table() const;
  void write_point(const T&);

  Output to_;
  const Scenario& scenario_;
  bool flat_, header_written_ = false;
  PointInputs inputs_;
  Figures<T> figures_, columns_;
  std::unique_ptr<JsonWriter> json_;
  Table table_;
  Charts charts_;
  SkippedPoints skipped_;
  std::vector<std::string> warnings_;  // of the points, each once
};

template <class T, class Charts>
PointReport<T, Charts>::PointReport(Output to, const Scenario& scenario, Figures<T> figures, bool flat)
    : to_(std::move(to)),
      scenario_(scenario),
      flat_(flat),
      inputs_(scenario, to_.format),
      figures_(std::move(figures)),
      columns_(columns_of(figures_, scenario, to_.format)),
      table_(new_table()),
      charts_(scenario) {
  if (to_.format != Format::json) return;
  constexpr int kSchema = 1;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, kSchema, to_.asked, scenario);
  if (flat_) return;
  json_->key("results");
  json_->begin_array();
}

template <class T, class Charts>
Table PointReport<T, Charts>::new_table() const {
  std::vector<Table::Column> titles = inputs_.titles();
  add_titles(titles, columns_);
  return Table(std::move(titles));
}

template <class T, class Charts>
void PointReport<T, Charts>::add(const T& one) {
  constexpr std::size_t kRowsAtOnce = 4096;  // after which CSV is written
  const auto* why = std::get_if<std::string>(&one.result);
  if (why) skipped_.add(inputs_.text(one.point), *why);
  if (to_.format == Format::json) return write_point(one);
  if (for_people(to_.format)) {
    if (why) return;
    note(one);
  }
  if (to_.format == Format::html || to_.plot) charts_.add(one);
  std::vector<Cell> row = inputs_.cells(one.point);
  add_cells(row, columns_, one);
  table_.add(std::move(row));
  if (to_.format != Format::csv || table_.rows() < kRowsAtOnce) return;
  to_.stream << table_.to_csv(!header_written_);
  header_written_ = true;
  table_ = new_table();
}

template <class T, class Charts>
void PointReport<T, Charts>::write_point(const T& one) {
  if (!flat_) json_->begin_object();
  inputs_.write(*json_, one.point);
  write_members(*json_, figures_, one);
  write_more(*json_, one);
  if (!flat_) json_->end_object();
}

template <class T, class Charts>
void PointReport<T, Charts>::finish() {
  if (to_.format == Format::json) {
    if (!flat_) json_->end_array();
    json_->end_object();
    return json_->finish();
  }
  if (to_.format == Format::csv) {
    to_.stream << table_.to_csv(!header_written_);
    return finish_stream(to_.stream);
  }
  const auto page = page_of(to_, scenario_);
  if (to_.format == Format::html) charts_.show_on(*page);
  page->show(table_);
  write_sentences(*page);
  page->finish();
}

template <class T, class Charts>
void PointReport<T, Charts>::warn(const std::vector<std::string>& all) {
  for (const std::string& warning : all)
    if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(warning);
}

template <class T, class Charts>
void PointReport<T, Charts>::write_warnings(Page& page) const {
  for (const std::string& warning : warnings_) page.say("warning: " + warning);
}

}  // namespace draftline
