// SPDX-License-Identifier: Apache-2.0
// What an engine's scheduler does where nobody tells it otherwise: its limits, by card, and whether prompts have steps
// of their own. "scheduler" of a profile (docs/reference/engines.md).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

// Limits on cards with at least so much memory.
struct CardLimits {
  Bytes memory;        // the least
  std::string except;  // not on devices whose name contains this; empty: on all
  std::optional<int> max_num_seqs, max_num_batched_tokens;
  std::optional<int> max_num_seqs_speculating;  // in place of max_num_seqs

  bool holds(Bytes device_memory, const std::string& device_name) const {
    return device_memory >= memory && (except.empty() || device_name.find(except) == std::string::npos);
  }
};

struct EngineScheduler {
  std::vector<CardLimits> cards;           // the first that holds
  std::optional<bool> prompts_apart = {};  // prompts are computed in steps of their own; none: the profile doesn't say

  CardLimits on(Bytes device_memory, const std::string& device_name) const;  // no limits if none of the cards holds
};

// Reads "scheduler" of a profile. The name of the value is added to `guesses` if nobody measured or documented it.
EngineScheduler read_engine_scheduler(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
