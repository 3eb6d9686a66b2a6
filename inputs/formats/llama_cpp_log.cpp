// SPDX-License-Identifier: Apache-2.0
// Lines that llama-server logs at the end of each request (tools/server/server-context.cpp): the tokens that it
// generated, drafted and accepted. Later builds print the mean length and shares by position too.
#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/pooled_steps.h"

namespace draftline {

namespace {

// The steps of a request: those that verified drafts where the line says their mean, else all that decoded. The first
// of the generated tokens comes from the prompt.
std::optional<double> steps_of(std::string_view line, double accepted, std::optional<double> generated) {
  auto mean = number_after(line, "mean acceptance length =");
  if (!mean) mean = number_after(line, "mean len =");
  if (mean && *mean > 1) return accepted / (*mean - 1);
  if (generated && *generated - 1 > accepted) return *generated - 1 - accepted;
  return std::nullopt;
}

}  // namespace

std::optional<ServedAcceptance> acceptance_in_llama_cpp_log(const AcceptanceFile& file) {
  PooledSteps pooled;
  std::optional<double> generated;  // tokens of the request that the lines before were of
  std::string_view text = file.text;
  while (const auto line = next_line(text)) {
    if (const std::size_t at = line->find("eval time ="); at != line->npos && line->find("prompt eval") == line->npos)
      generated = number_after(line->substr(at), " ms /");
    const std::size_t at = line->find("draft acceptance");
    if (at == line->npos) continue;
    const std::string_view counted = line->substr(at);
    const auto accepted = number_after(counted, "("), drafted = number_after(counted, "accepted /");
    if (!accepted || !drafted) continue;
    const auto steps = steps_of(counted, *accepted, generated);
    if (!steps) continue;
    pooled.add(*steps, *accepted, *drafted);
    if (const auto shares = numbers_after(counted, "acceptance rate per position ="); !shares.empty())
      pooled.add_positions(*steps, shares);
  }
  return pooled.acceptance();
}

}  // namespace draftline
