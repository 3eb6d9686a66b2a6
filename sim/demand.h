// SPDX-License-Identifier: Apache-2.0
// The resources that servers requested under their limits. A run whose requests were all granted is the same under any
// limits that grant them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "inputs/serving_limits.h"

namespace draftline {

class Demand {
 public:
  // Whether the limit grants `wanted` sequences. The request is recorded.
  bool ask_sequences(int wanted, int limit) { return ask(sequences_, wanted, limit); }
  bool ask_blocks(std::int64_t wanted, std::int64_t limit) { return ask(blocks_, wanted, limit); }
  void depend_on_limits() { denied_ = true; }  // the run differs under any other limits

  void add(const Demand& other) {
    sequences_ = std::max(sequences_, other.sequences_);
    blocks_ = std::max(blocks_, other.blocks_);
    denied_ = denied_ || other.denied_;
  }
  // Whether a server with these limits grants all recorded requests, as the original server did.
  bool granted_by(const SchedulerLimits& l) const {
    return !denied_ && sequences_ <= l.max_num_seqs && blocks_ <= l.kv_blocks;
  }

  static auto members(auto& self) {
    auto& [sequences, blocks, denied] = self;
    return std::tie(sequences, blocks, denied);
  }

 private:
  template <class Count>
  bool ask(Count& most, Count wanted, Count limit) {
    most = std::max(most, wanted);
    if (wanted > limit) denied_ = true;
    return wanted <= limit;
  }
  int sequences_ = 0;        // in the batch and with prompts that are being computed
  std::int64_t blocks_ = 0;  // KV blocks
  bool denied_ = false;
};

}  // namespace draftline
