// SPDX-License-Identifier: Apache-2.0
// Writes an answer in a format: results of "run" and "simulate" one by one, other answers when they are complete.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/answer.h"
#include "reports/advise_report.h"
#include "reports/load_history.h"

namespace draftline {

class AnswerWriter {
 public:
  explicit AnswerWriter(Output, Reasons = Reasons::of_best);  // reasons that "advise" writes
  ~AnswerWriter();
  void begin(const Answer&);  // writes nothing yet
  void add(const Result&);
  void finish();                // throws OutputError (core/json_writer)
  ServingObserver* observer();  // which "simulate" needs for its first run with a single point; null: none
  // In place of observer(), if that run was observed before: before the first add(); other verbs ignore it.
  void show_load(const LoadHistory&);

  class Report;  // for one verb

 private:
  Report& report();
  Output to_;
  Reasons reasons_;
  std::shared_ptr<const Scenario> scenario_;
  std::unique_ptr<Report> report_;  // made when first needed, because making it starts the JSON output
};

// The recommendations of "plan" and "advise", one for each workload or setup, as sentences; none of other verbs.
std::vector<std::string> verdicts_of(const Answer&);

Asked asked_of(const Question&, const Data&);

}  // namespace draftline
