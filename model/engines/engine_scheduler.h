// SPDX-License-Identifier: Apache-2.0
// Defaults of an engine's scheduler: its limits, by card, and whether prompts have separate steps. "scheduler" of a
// profile (docs/reference/engines.md).
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

struct Device;

// Limits on some cards.
struct CardLimits {
  Bytes memory;                    // on devices with at least this memory
  std::string compute_capability;  // only on devices with this capability (has_capability, model/devices/link.h)
  std::optional<int> max_num_seqs, max_num_batched_tokens;
  std::optional<int> max_num_seqs_speculating;  // in place of max_num_seqs
};

// Prompts join decode steps, or are computed in separate steps.
inline constexpr std::array<std::string_view, 2> kPromptSteps{"mixed", "apart"};

struct EngineScheduler {
  std::vector<CardLimits> cards;           // the first that applies is used
  std::optional<bool> prompts_apart = {};  // prompts are computed in separate steps; none: not given

  CardLimits on(const Device&) const;  // no limits if no entry applies
};

// Reads "scheduler" of a profile. Names of values that were neither measured nor documented are added to `guesses`.
EngineScheduler read_engine_scheduler(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
