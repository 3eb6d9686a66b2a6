// SPDX-License-Identifier: Apache-2.0
// The report of `draftline check` as a page: what moved, by how much, and why.
#pragma once
#include "gate/gate_report.h"
#include "reports/output.h"

namespace draftline::gate {

void write_gate_page(const Output&, const GateReport&);  // throws OutputError

}  // namespace draftline::gate
