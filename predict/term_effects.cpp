// SPDX-License-Identifier: Apache-2.0
#include "predict/term_effects.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "decoder/priced/engine_time.h"

namespace draftline {

namespace {

constexpr std::size_t kMostSteps = 1 << 14;
constexpr int kFirstNode = 3, kNodes = 8;  // contexts from 4^3 to 4^10 tokens

double context_of(int node) { return std::ldexp(1.0, 2 * (kFirstNode + node)); }

bool is(const EngineField& field, Seconds Engine::*member) { return field.member == EngineField::Member(member); }

}  // namespace

TermEffects::TermEffects(std::shared_ptr<const Device> device, std::shared_ptr<const Engine> engine,
                         Speculation speculation)
    : device_(std::move(device)), engine_(std::move(engine)), speculation_(speculation) {
  for (const EngineTerm& term : terms_of(*engine_, *device_, speculation_)) {
    const EngineField& field = *term.field;
    if (field.prior->shape == ServedPrior::Shape::bandwidth) continue;
    const Interval ends = interval_of(term, *engine_);
    const auto end = [&](double value) {
      Engine e = with_term(*engine_, field, value);
      const Seconds token = e.token - engine_->token;
      return End{std::move(e), token};
    };
    terms_.push_back({&field, end(ends.low), end(ends.high),
                      is(field, &Engine::step) || is(field, &Engine::step_speculating) || is(field, &Engine::token)});
  }
}

TermEffects::ByContext TermEffects::priced(const StepOutline& outline) const {
  const StepPrice own(outline, *device_, *engine_, speculation_);
  ByContext all(kNodes, std::vector<Changes>(terms_.size()));
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const auto change = [&](const End& end, Seconds Changes::*to) {
      if (terms_[t].by_host_base) {
        const Seconds more = host_base(end.engine, speculation_, outline) - host_base(*engine_, speculation_, outline);
        for (auto& node : all) node[t].*to = more;
        return;
      }
      const StepPrice other(outline, *device_, end.engine, speculation_);
      for (int node = 0; node < kNodes; ++node) all[at(node)][t].*to = other(context_of(node)) - own(context_of(node));
    };
    change(terms_[t].low, &Changes::at_low);
    change(terms_[t].high, &Changes::at_high);
  }
  return all;
}

std::span<const TermEffect> TermEffects::of(const StepOutline& outline, int sequences, double context, double tokens) {
  if (known_.size() > kMostSteps) known_.clear();
  auto known = known_.find(sequences);
  if (known == known_.end()) known = known_.emplace(sequences, priced(outline)).first;
  const int node = std::clamp(std::ilogb(std::max(1.0, context)) / 2 - kFirstNode, 0, kNodes - 2);
  const double from = context_of(node), share = std::clamp((context - from) / (context_of(node + 1) - from), 0.0, 1.0);
  const auto &lower = known->second[at(node)], &upper = known->second[at(node + 1)];
  last_.clear();
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const auto between = [&](Seconds Changes::*end, const End& of) {
      return lower[t].*end + share * (upper[t].*end - lower[t].*end) + sequences * tokens * of.token;
    };
    last_.push_back(
        {terms_[t].field, between(&Changes::at_low, terms_[t].low), between(&Changes::at_high, terms_[t].high)});
  }
  return last_;
}

}  // namespace draftline
