// SPDX-License-Identifier: Apache-2.0
// Acceptance rates of a drafter's chains, measured at several contexts and draft lengths. Both matter: a drafter's
// rates fall with the distance from what it was trained on, and the first draft of a long chain is accepted less often
// than the only draft of a short one (docs/recipes/your_acceptance.md).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"

namespace draftline {

class AcceptanceTable {
 public:
  struct Row {
    double context = 0;               // committed tokens, at least 1; 0: the table does not distinguish contexts
    int draft_length = 0;             // 0: nor draft lengths, and the chain is as long as there are rates
    std::vector<double> conditional;  // of each draft, given that those before it were accepted; 0 to 1
  };
  AcceptanceTable() = default;
  explicit AcceptanceTable(
      const std::vector<Row>&);  // at least one row; either all have a context or none; no two alike

  bool by_context() const { return by_context_; }
  bool by_length() const { return by_length_; }
  int longest() const;  // drafts
  // The rates of a chain of `drafts` drafts, 1 to longest(). They are linear between measured draft lengths, and in the
  // logarithm of the context between measured contexts; beyond the measured they are those of the nearest.
  std::vector<double> rates(double context, int drafts) const;
  // Says what of the rates of such chains, at contexts from `from` to `to`, is beyond the measured; none if nothing is.
  std::optional<std::string> extrapolated(double from, double to, int drafts) const;

 private:
  struct OfContext {
    double context;
    std::vector<double> conditional;
  };
  struct OfLength {
    int draft_length;
    std::vector<OfContext> contexts;  // ascending
    std::vector<double> at(double context) const;
  };
  bool by_context_ = false, by_length_ = false;
  std::vector<OfLength> lengths_;  // ascending
};

// An array of objects, each with `context` and `draft_length` as far as the table tells them apart, and one of `rates`,
// `per_position`, `rate` and `mean_length` of such a chain. Mistakes are noted.
AcceptanceTable read_acceptance_table(const Reader&);

// Unconditional shares of accepted drafts by position, as vLLM logs them, to conditional rates. Mistakes are noted.
std::vector<double> read_per_position(const Reader&);

}  // namespace draftline
