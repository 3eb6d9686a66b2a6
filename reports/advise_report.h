// SPDX-License-Identifier: Apache-2.0
// What `draftline advise` prints: for each method and setup a few sentences, then the table behind them.
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
  AdviseReport(Output, const Scenario&);  // a table or JSON
  void add(const Advice&);
  void finish();

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
