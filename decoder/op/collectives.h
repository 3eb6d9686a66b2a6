// SPDX-License-Identifier: Apache-2.0
// Communication among devices that share a network. It is only priced: a decoder runs on one device.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

struct SumOverRanks {  // tensor parallelism: the sum of y over the ranks, in place
  static constexpr std::string_view key = "all_reduce";
  Out y;
  int ranks;
  FIELDS(y, ranks)
  Kernel work(const Tape&) const;
};
struct GatherOverRanks {  // tensor parallelism: concatenates the columns of all ranks: [n, c] -> [n, c * ranks]
  static constexpr std::string_view key = "all_gather";
  Tensor x;
  int ranks;
  Out y;
  FIELDS(x, ranks, y)
  Kernel work(const Tape&) const;
};
// Communication of data-parallel attention before and after a layer of experts, on each of `ranks` devices. Dispatch
// collects the rows of all devices: [n, c] -> [n * ranks, c], by all_gather, or by all_to_all, which sends `copies` of
// each row to the devices of its experts; the shape is then the largest possible. Combine returns the experts' results:
// [n * ranks, c] -> [n, c], by reduce_scatter or all_to_all.
struct ExchangeRows {
  static constexpr std::string_view key = "expert_dispatch";  // or "expert_combine"
  Tensor x;
  Collective collective;
  int ranks;
  double copies;
  bool combines;
  Out y;
  FIELDS(x, collective, ranks, copies, combines, y)
  std::string_view key_in(const Tape&) const;
  Kernel work(const Tape&) const;
};

}  // namespace draftline
