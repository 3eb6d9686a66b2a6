// SPDX-License-Identifier: Apache-2.0
// What devices that share a network exchange. Only priced: a decoder runs on one device.
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
struct GatherOverRanks {  // tensor parallelism: the columns of all ranks side by side: [n, c] -> [n, c * ranks]
  static constexpr std::string_view key = "all_gather";
  Tensor x;
  int ranks;
  Out y;
  FIELDS(x, ranks, y)
  Kernel work(const Tape&) const;
};
// Data-parallel attention before and behind a layer of experts, on each of `ranks` devices. It dispatches the rows of
// all: [n, c] -> [n * ranks, c], by all_gather, or by all_to_all, where `copies` of each row are sent, to the devices
// of its experts, and the shape is the largest there can be. Or it combines what the experts made of them: [n * ranks,
// c] -> [n, c], by reduce_scatter or all_to_all.
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
