// SPDX-License-Identifier: Apache-2.0
#include "predict/emitted_tokens.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "model/acceptance/first_passage.h"

namespace draftline {

MeanContexts EmittedTokens::contexts(const Output& o, std::span<const Window> windows) const {
  MeanContexts contexts = mean_contexts(o.prompt_tokens, o.output_tokens, windows);
  if (!choice_.acceptance.by_context()) return contexts;
  double steps = 0;
  for (auto& [context, share] : contexts) {
    const auto length = choice_.acceptance.mean_length(built(o), context);
    if (const auto* tokens = std::get_if<double>(&length)) share /= *tokens;
    steps += share;
  }
  for (auto& [context, share] : contexts) share /= steps;
  return contexts;
}

std::variant<double, Mistake> EmittedTokens::at_context(const Output& o, double context) const {
  const auto length = choice_.acceptance.mean_length(built(o), context);
  if (const auto* tokens = std::get_if<double>(&length)) return *tokens;
  return Mistake{"/acceptance", std::get<std::string>(length)};
}

std::variant<double, Mistake> EmittedTokens::mean_length(const Output& o) const {
  const Acceptance& acceptance = choice_.acceptance;
  if (method_.usual_depth() == 0) {
    if (acceptance.given()) return Mistake{"", "the method drafts nothing: remove \"acceptance\""};
    return 1.0;
  }
  if (auto wrong = acceptance.wrong_drafts(built(o)))
    return Mistake{"/acceptance" + wrong->pointer, std::move(wrong->text)};
  if (acceptance.table() == nullptr || method_.window() > 0) return at_context(o, 0);
  double mean = 0;
  for (const auto& [context, share] : contexts(o, {})) {
    const auto length = at_context(o, context);
    if (std::holds_alternative<Mistake>(length)) return length;
    mean += share * std::get<double>(length);
  }
  if (const auto note = extrapolated(o); note && choice_.in) choice_.in->at("acceptance").note(*note);
  return mean;
}

std::optional<std::string> EmittedTokens::extrapolated(const Output& o) const {
  const AcceptanceTable* table = choice_.acceptance.table();
  if (table == nullptr || method_.window() > 0 || method_.usual_depth() == 0) return std::nullopt;
  return table->extrapolated(o.prompt_tokens, o.prompt_tokens + o.output_tokens, method_.usual_depth());
}

// Over the contexts of the output, where acceptance depends on them.
LengthDistribution EmittedTokens::lengths(const Output& o) const {
  if (!choice_.acceptance.by_context()) return choice_.acceptance.lengths(built(o));
  std::vector<double> survival(at(method_.usual_depth()));
  for (const auto& [context, share] : contexts(o, {})) {
    double left = 1;
    const LengthDistribution lengths = choice_.acceptance.lengths(built(o), context);
    for (int n = 0; n < method_.usual_depth(); ++n)
      survival[at(n)] += share * std::max(0.0, left -= lengths.probability(n + 1));
  }
  return LengthDistribution(survival);
}

double EmittedTokens::decode_steps(const Output& o, double mean_length) {
  const int tokens = o.output_tokens - 1;  // the prefill emits the first
  if (mean_length <= 1) return tokens;
  if (choice_.acceptance.by_context()) return expected_steps(tokens, lengths(o));
  if (const auto known = steps_.find({o.rows, tokens}); known != steps_.end()) return known->second;
  auto known = distributions_.find(o.rows);
  if (known == distributions_.end()) known = distributions_.emplace(o.rows, lengths(o)).first;
  return steps_[{o.rows, tokens}] = expected_steps(tokens, known->second);
}

}  // namespace draftline
