// SPDX-License-Identifier: Apache-2.0
// Lines that SGLang's scheduler logs of decode batches, one for a fixed number of steps: "accept len" counts the bonus
// token. "accept rate" is not read, because versions divide by different numbers of tokens.
#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/pooled_steps.h"

namespace draftline {

std::optional<ServedAcceptance> acceptance_in_sglang_log(const AcceptanceFile& file) {
  PooledSteps pooled;
  std::string_view text = file.text;
  while (const auto line = next_line(text)) {
    const auto length = number_after(*line, "accept len:"), sequences = number_after(*line, "#running-req:");
    if (length && *length >= 1 && sequences && *sequences > 0) pooled.add(*sequences, *sequences * (*length - 1));
  }
  return pooled.acceptance();
}

}  // namespace draftline
