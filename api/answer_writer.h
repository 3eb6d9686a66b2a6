// SPDX-License-Identifier: Apache-2.0
// Writes an answer in a format: results of "run" and "simulate" one by one, other answers when they are complete.
#pragma once
#include <memory>

#include "api/answer.h"
#include "reports/advise_report.h"

namespace draftline {

class AnswerWriter {
 public:
  explicit AnswerWriter(Output, Reasons = Reasons::of_best);  // reasons that "advise" writes
  ~AnswerWriter();
  void begin(const Answer&);  // writes nothing yet
  void add(const Result&);
  void finish();                // throws OutputError (core/json_writer)
  ServingObserver* observer();  // which "simulate" needs for its first run with a single point; null: none

  class Report;  // for one verb

 private:
  Report& report();
  Output to_;
  Reasons reasons_;
  std::shared_ptr<const Scenario> scenario_;
  std::unique_ptr<Report> report_;  // made when first needed, because making it starts the JSON output
};

Asked asked_of(const Question&, const Data&);

}  // namespace draftline
