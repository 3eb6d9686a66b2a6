// SPDX-License-Identifier: Apache-2.0
// A draft schedule as serving engines take it: vLLM's --speculative-config, SGLang's flags. The drafter's weights are
// the user's own and not named. Names as in vLLM's vllm/config/speculative.py and SGLang's server arguments, 2026-11.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "inputs/scenario.h"
#include "sim/draft_schedule.h"

namespace draftline {

// {"method", "num_speculative_tokens", "num_speculative_tokens_per_batch_size"}: the last maps inclusive ranges of
// batch sizes to draft lengths. `schedule`: of one prompt length; empty: `method`'s own draft
// length at every batch, if it has one. None if vLLM has no such method, as with a drafter's own device, if there is
// nothing to draft, or of a tree, which vLLM does not draft.
std::optional<nlohmann::ordered_json> vllm_settings(const MethodSpec& method,
                                                    const std::vector<ScheduledLength>& schedule);

// The method's own chain or tree, whatever the batch. `running`: sequences at once, where its default is too low. None
// if SGLang has no such method.
std::optional<std::string> sglang_flags(const MethodSpec& method, std::optional<int> running = {});

}  // namespace draftline
