// SPDX-License-Identifier: Apache-2.0
// Prices of what runs where, if the drafter has a device of its own.
#include <algorithm>

#include "model/kernels/kernel_time.h"
#include "predict/recorded_plan.h"

namespace draftline {

std::optional<std::string> Predictor::refuses_drafter_device(const Setup& s, const MethodChoice& m) {
  if (!m.drafter_device) return std::nullopt;
  const Device& own = *m.drafter_device->device;
  Setup there = s;
  there.device = &own;
  if (s.parallel.attention_replicas > 1)
    return "a drafter on a device of its own beside data-parallel attention is not modelled";
  if (precision(there, m).draft != precision(s, m).draft)
    return own.name + " computes the draft network's format otherwise than " + s.device->name +
           ": say \"draft\" in \"precision\" so that both do alike";
  return std::nullopt;
}

// Token ids alone: the drafts of all sequences, and what the target emits. Where both sides work at the same time they
// meet once, and both messages are under way together.
static Seconds messages(const DrafterDevice& d, int sequences, int drafts, bool ahead) {
  const auto ids = [&](int each) { return bytes_of(DType::int32, 1.0 * sequences * each); };
  const Seconds to_target = d.message(ids(drafts)), to_drafter = d.message(ids(ahead ? drafts : drafts + 1));
  return ahead ? std::max(to_target, to_drafter) : to_target + to_drafter;
}

PlacedStep Predictor::placed(const Plan& p, const Setup& s, int sequences, const StepOutline& outline) {
  const Method& method = *p.decoder.method;
  if (!p.drafter_device) return StepPrice(outline, as_served(s), *s.engine, method.speculation());
  const DrafterDevice& own = *p.drafter_device;
  const Engine& engine = p.drafters_engine(s);
  const bool ahead = method.drafts_ahead() > 0;
  const int drafts = ahead ? method.drafts_ahead() : outline.verified_rows - 1;
  return {
      StepPrice(outline.part(StepOutline::Part::target), as_served(s), *s.engine, method.speculation()),
      {StepPrice(outline.part(StepOutline::Part::drafter), as_served(*own.device, engine), engine, Speculation::off),
       messages(own, sequences, drafts, ahead), ahead}};
}

StepPrice Predictor::prompt_price(Plan& p, const Setup& s, int tokens, int rows) {
  const StepOutline& outline = recorded(p, Recording::prefill, tokens).outline;
  const Engine engine = for_prompt(*s.engine, rows);
  if (!p.drafter_device) return {outline, as_served(s), engine, Speculation::off};
  return {outline.part(StepOutline::Part::target), as_served(s), engine, Speculation::off};
}

Seconds Predictor::prefill(Plan& plan, const Setup& s) {
  const int tokens = s.computed_prompt_tokens();
  auto [it, fresh] = prefills_.try_emplace({&plan, s.device, s.engine, s.prompt_tokens, s.cached_prompt_tokens});
  if (!fresh) return it->second;
  it->second = prompt_price(plan, s, tokens, tokens)(s.cached_prompt_tokens);
  if (plan.drafter_device) {  // which reads the prompt at the same time
    const Engine& engine = plan.drafters_engine(s);
    const StepPrice drafters(recorded(plan, Recording::prefill, tokens).outline.part(StepOutline::Part::drafter),
                             as_served(*plan.drafter_device->device, engine), for_prompt(engine, tokens),
                             Speculation::off);
    it->second = std::max(it->second, drafters(s.cached_prompt_tokens));
  }
  return it->second;
}

}  // namespace draftline
