// SPDX-License-Identifier: Apache-2.0
#include "predict/placed_step.h"

#include "core/int_indexed.h"

namespace draftline {

Seconds PlacedStep::operator()(double length, const PromptsBetween& between) const {
  const Seconds verify = target_(length, between);
  if (!drafter_) return verify;
  const Seconds draft = drafter_->price(length);
  return (drafter_->ahead ? std::max(draft, verify) : draft + verify) + drafter_->messages;
}

StepTiming PlacedStep::timing(double length) const {
  StepBreakdown verify = target_.breakdown(length);
  const Seconds host_idle = std::max(Seconds{}, verify.time - target_.host_alone());
  if (!drafter_) return {verify, host_idle};
  StepBreakdown draft = drafter_->price.breakdown(length);
  draft.drafting = draft.host();  // all that its device waits for is a wait of the drafter
  StepBreakdown step = !drafter_->ahead ? verify.add(draft, 1) : draft.time > verify.time ? draft : verify;
  step.time += drafter_->messages;
  step.of(Phase::commit, KernelKind::communication) += drafter_->messages;
  step.waited[at(KernelKind::communication)] += drafter_->messages;
  return {step, host_idle};
}

Seconds PlacedStep::drafting(double length) const { return drafter_ ? drafter_->price(length) : Seconds{}; }

std::vector<Window> PlacedStep::windows() const {
  std::vector<Window> all = target_.windows();
  if (drafter_)
    for (const Window& w : drafter_->price.windows())
      if (std::find(all.begin(), all.end(), w) == all.end()) all.push_back(w);
  return all;
}

}  // namespace draftline
