// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine_scheduler.h"

#include <algorithm>

#include "model/devices/device.h"
#include "model/devices/origin.h"
#include "model/engines/engine_fields.h"

namespace draftline {

CardLimits EngineScheduler::on(const Device& d) const {
  const auto card = std::find_if(cards.begin(), cards.end(), [&](const CardLimits& c) {
    return d.memory >= c.memory && has_capability(c.compute_capability, d.links.compute_capability);
  });
  return card == cards.end() ? CardLimits{} : *card;
}

EngineScheduler read_engine_scheduler(const Reader& in, std::vector<std::string>& guesses) {
  EngineScheduler s;
  if (const auto prompts = in.find("prompts")) s.prompts_apart = prompts->word(kPromptSteps) == "apart";
  if (const auto cards = in.find("cards"))
    for (const Reader& row : cards->items()) {
      CardLimits c;
      read_row(card_fields(), row, c);
      row.done();
      s.cards.push_back(std::move(c));
    }
  if (read_profile_origin(in)) guesses.emplace_back("scheduler");
  in.done();
  return s;
}

}  // namespace draftline
