// SPDX-License-Identifier: Apache-2.0
// The output of `draftline advise`: for each method and setup a few sentences and a table of batch sizes.
#pragma once
#include <memory>
#include <ostream>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/point.h"
#include "sim/advice.h"

namespace draftline {

class AdviseReport {
 public:
  AdviseReport(Output, const Scenario&);  // Format::table or json; the scenario must outlive the report
  void add(const Advice&);                // writes it at once
  void finish();                          // must be called last; throws OutputError (core/json_writer)

 private:
  void add_json(const Advice&);
  void add_text(const Advice&);
  Output to_;
  const Scenario& scenario_;
  PointInputs inputs_;
  std::unique_ptr<JsonWriter> json_;
  bool first_ = true;
};

}  // namespace draftline
