// SPDX-License-Identifier: Apache-2.0
// What `draftline check` says: what moved, by how much and why; for a terminal, a job's summary (Markdown), a test
// viewer (JUnit XML) and programs (JSON).
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "gate/anchors.h"
#include "gate/gate.h"

namespace draftline::gate {

struct GateReport {
  std::vector<Checked> pins;
  std::vector<Anchored> anchors;
  bool fine() const;
};

std::string gate_text(const GateReport&, std::size_t width);
std::string gate_markdown(const GateReport&);
std::string gate_junit(const GateReport&);
void write_gate_json(std::ostream&, const GateReport&);

}  // namespace draftline::gate
