// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine_scheduler.h"

#include <algorithm>
#include <array>

#include "model/devices/origin.h"

namespace draftline {

CardLimits EngineScheduler::on(Bytes device_memory, const std::string& device_name) const {
  const auto card = std::find_if(cards.begin(), cards.end(),
                                 [&](const CardLimits& c) { return c.holds(device_memory, device_name); });
  return card == cards.end() ? CardLimits{} : *card;
}

EngineScheduler read_engine_scheduler(const Reader& in, std::vector<std::string>& guesses) {
  static constexpr std::array<std::string_view, 2> kPrompts{"mixed", "apart"};
  EngineScheduler s;
  if (const auto prompts = in.find("prompts")) s.prompts_apart = prompts->word(kPrompts) == "apart";
  if (const auto cards = in.find("cards"))
    for (const Reader& row : cards->items()) {
      CardLimits c;
      if (const auto memory = row.find("memory")) c.memory = memory->quantity<Bytes>();
      if (const auto except = row.find("except")) c.except = except->text();
      if (const auto n = row.find("max_num_seqs")) c.max_num_seqs = n->positive_int(1 << 16);
      if (const auto n = row.find("max_num_seqs_speculating")) c.max_num_seqs_speculating = n->positive_int(1 << 16);
      if (const auto n = row.find("max_num_batched_tokens")) c.max_num_batched_tokens = n->positive_int(1 << 20);
      row.done();
      s.cards.push_back(std::move(c));
    }
  if (read_profile_origin(in)) guesses.emplace_back("scheduler");
  in.done();
  return s;
}

}  // namespace draftline
