// SPDX-License-Identifier: Apache-2.0
// What `draftline advise` prints: for each method and setup a few sentences, then the table behind them.
#pragma once
#include <memory>
#include <ostream>

#include "core/json_writer.h"
#include "sim/advice.h"

namespace draftline {

class AdviseReport {
 public:
  AdviseReport(std::ostream&, bool json, const Scenario&, std::size_t width);
  void add(const Advice&);
  void finish();

 private:
  void add_json(const Advice&);
  void add_text(const Advice&);
  std::ostream& out_;
  const Scenario& scenario_;
  std::size_t width_;
  std::unique_ptr<JsonWriter> json_;
  bool first_ = true;
};

}  // namespace draftline
