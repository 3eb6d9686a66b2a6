// SPDX-License-Identifier: Apache-2.0
// Writes an answer in a format: "run" and "simulate" result by result, all else when it is finished.
#pragma once
#include <memory>

#include "api/answer.h"

namespace draftline {

class AnswerWriter {
 public:
  // `all_reasons`: "advise" writes the reasons of every method, not of the best alone.
  explicit AnswerWriter(Output, bool all_reasons = false);
  ~AnswerWriter();
  void begin(const Answer&);  // writes nothing yet
  void add(const Result&);
  void finish();  // throws OutputError (core/json_writer)

  class Report;  // of one verb

 private:
  Report& report();
  Output to_;
  bool all_reasons_;
  std::shared_ptr<const Scenario> scenario_;
  std::unique_ptr<Report> report_;  // made when it is first needed, as JSON begins to be written then
};

Asked asked_of(const Question&, const Data&);

}  // namespace draftline
