// SPDX-License-Identifier: Apache-2.0
#include "predict/engine_terms.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "predict/prediction_interval.h"

namespace draftline {

namespace {

using Shape = ServedPrior::Shape;

constexpr double kGuess = 3, kAbsent = 4, kKnown = 1.5;
constexpr double kNinety = 1.645;  // standard deviations to the end of a 90 % interval

double factor_of_bandwidth(const Device& d) {
  constexpr double kLeast = 1.02, kUnknown = 1.1;
  const auto known = known_errors(d).of[at(KernelKind::gemm)];
  if (!known) return kUnknown;
  return std::clamp(std::pow(known->high / known->low, 0.5 / kNinety), kLeast, kUnknown);
}

EngineTerm term_of(const EngineField& field, const Engine& e, const Device& d) {
  check(field.prior.has_value(), "a term without a prior can't be fitted");
  const double shipped = field.fitted_value(e);
  switch (field.prior->shape) {
    case Shape::normal: return {&field, shipped, field.prior->scale};
    case Shape::bandwidth: return {&field, shipped, factor_of_bandwidth(d)};
    case Shape::log_normal: break;
  }
  const bool guess = std::find(e.guesses.begin(), e.guesses.end(), field.key) != e.guesses.end();
  return {&field, std::max(shipped, field.prior->scale), shipped <= 0 ? kAbsent : guess ? kGuess : kKnown};
}

}  // namespace

double EngineTerm::at(double deviations) const {
  return field->prior->shape == Shape::normal ? typical + deviation * deviations
                                              : typical * std::pow(deviation, deviations);
}

EngineTerm engine_term(std::string_view key, const Engine& e, const Device& d) {
  return term_of(engine_field(key), e, d);
}

std::vector<EngineTerm> terms_of(const Engine& e, const Device& d, Speculation speculation) {
  std::vector<EngineTerm> all;
  for (const EngineField& field : engine_fields())
    if (field.prior && field.prior->fitted(e, speculation)) all.push_back(term_of(field, e, d));
  return all;
}

Interval interval_of(const EngineTerm& term, const Engine& e) {
  const double value = term.field->fitted_value(e);
  if (const auto fit = e.intervals.find(term.field->key); fit != e.intervals.end()) {
    const double below = term.field->value(e) - value;
    const Interval known{fit->second.low - below, fit->second.high - below};
    if (known.low <= value && value <= known.high) return known;
  }
  return {std::min(value, term.at(-kNinety)), std::max(value, term.at(kNinety))};
}

Engine with_term(const Engine& shipped, const EngineField& field, double value) {
  Engine e = shipped;
  field.set_fitted_value(e, value);
  for (const EngineField& other : engine_fields())
    if (other.adds_to(field)) other.set_fitted_value(e, other.fitted_value(shipped));
  return e;
}

Engine with_terms(const Engine& shipped, std::span<const EngineTerm> terms, std::span<const double> deviations) {
  Engine e = shipped;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const EngineField& field = *terms[i].field;
    field.set_fitted_value(e, terms[i].at(deviations[i]));
    for (const EngineField& other : engine_fields())
      if (other.adds_to(field)) other.set_fitted_value(e, other.fitted_value(shipped));
  }
  return e;
}

}  // namespace draftline
