// SPDX-License-Identifier: Apache-2.0
// The report of `draftline check`: changes with sizes and causes, for a terminal, a job's summary (Markdown), a test
// viewer (JUnit XML) and programs (JSON).
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "gate/anchors.h"
#include "gate/change_table.h"
#include "gate/gate.h"

namespace draftline::gate {

struct GateReport {
  std::vector<Checked> pins;
  std::vector<Anchored> anchors;
  bool fine() const;         // no pin changed or failed; alerts of anchors do not count
  bool wrong_input() const;  // a pin's question has a mistake
};

std::string headline_of(const GateReport&);  // how many pins were checked and changed
Table anchors_table(const std::vector<Anchored>&, const Safe& safe);
std::string gate_text(const GateReport&, std::size_t width);  // `width`: of the terminal in columns; 0: 120
std::string gate_markdown(const GateReport&);
std::string gate_junit(const GateReport&);
void write_gate_json(std::ostream&, const GateReport&);

}  // namespace draftline::gate
