// SPDX-License-Identifier: Apache-2.0
// One cost of a paper's engine that decoding without speculation can't show. It is fitted to the cells of one target,
// task or method, which are no predictions then; all others are. This gives the paper's tables a second reading beside
// that of the baseline-only calibration. The "fitted_cost" of a file of data/papers names the cost and the cells.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

enum class CostOf {
  drafted_row,   // each row of a sequence that is verified beyond that of plain decoding
  added_launch,  // each launch of the host beyond those of plain decoding, in place of the engine's issue time
};

// What a step pays; none in the baseline-only reading.
struct PaidCost {
  CostOf of;
  Seconds each;
};

struct FittedCost {
  PaidCost paid;
  std::vector<std::string> tables;                        // which have the second reading
  std::vector<std::pair<std::string, std::string>> from;  // (key, value) of the rows whose cells calibrate
  std::string column;                                     // of the cells that it is fitted to
  std::string chosen, because;                            // why these cells; why there is such a cost
  std::size_t cells = 0;                                  // that it is fitted to

  std::string name() const;  // "drafted_row" or "added_launch"
};

// Reads "fitted_cost", without its value; mistakes are noted at the reader.
FittedCost read_fitted_cost(const Reader&);

}  // namespace draftline
