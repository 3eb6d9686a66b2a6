// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/collectives.h"

#include <algorithm>

namespace draftline {

Kernel SumOverRanks::work(const Tape&) const {
  return CollectiveCall{Collective::all_reduce, y.bytes(), ranks, y.rows};
}

Kernel GatherOverRanks::work(const Tape&) const { return CollectiveCall{Collective::all_gather, y.bytes(), ranks}; }

std::string_view ExchangeRows::key_in(const Tape&) const { return combines ? "expert_combine" : "expert_dispatch"; }

Kernel ExchangeRows::work(const Tape&) const {
  const Bytes most = std::max(x.bytes(), y.bytes());
  return CollectiveCall{collective, collective == Collective::all_to_all ? copies / ranks * most : most, ranks};
}

}  // namespace draftline
