// SPDX-License-Identifier: Apache-2.0
#include "predict/engine_terms.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/prediction_interval.h"

namespace draftline {

namespace {

constexpr double kGuess = 3, kAbsent = 4, kKnown = 1.5;
constexpr double kNinety = 1.645;  // standard deviations to the end of a 90 % interval

using Get = double (*)(const Engine&);
using Set = void (*)(Engine&, double);

// A time of the profile; `least`: where the prior of a value that is none has its median.
EngineTerm time_of(const Engine& e, std::string_view key, std::string_view title, Seconds least, Get get, Set set) {
  const bool guess = std::find(e.guesses.begin(), e.guesses.end(), key) != e.guesses.end();
  const double shipped = get(e), factor = shipped <= 0 ? kAbsent : guess ? kGuess : kKnown;
  return {key, title, std::max(shipped, least.value), factor, EngineTerm::Prior::log_normal, EngineTerm::Unit::seconds,
          get, set};
}

double factor_of_bandwidth(const Device& d) {
  constexpr double kLeast = 1.02, kUnknown = 1.1;
  const auto known = known_errors(d).of[static_cast<std::size_t>(KernelKind::gemm)];
  if (!known) return kUnknown;
  return std::clamp(std::pow(known->high / known->low, 0.5 / kNinety), kLeast, kUnknown);
}

}  // namespace

double EngineTerm::at(double deviations) const {
  return prior == Prior::normal ? typical + deviation * deviations : typical * std::pow(deviation, deviations);
}

EngineTerm engine_term(std::string_view key, const Engine& e, const Device& d) {
  constexpr Seconds kStep{50e-6}, kPass{20e-6}, kSmall{0.5e-6};
  constexpr Seconds kLayer{10e-6};  // ten kernels, each a microsecond dearer or cheaper than timed alone
  const std::array all{
      time_of(
          e, "step", "host, each step", kStep, [](const Engine& of) { return of.step.value; },
          [](Engine& to, double v) { to.step = Seconds{v}; }),
      EngineTerm{"layer", "device, each layer beyond its kernels", e.layer.value, kLayer.value,
                 EngineTerm::Prior::normal, EngineTerm::Unit::seconds, [](const Engine& of) { return of.layer.value; },
                 [](Engine& to, double v) { to.layer = Seconds{v}; }},
      time_of(
          e, "issue", "host, each launch", kSmall, [](const Engine& of) { return of.issue.value; },
          [](Engine& to, double v) { to.issue = Seconds{v}; }),
      time_of(
          e, "token", "host, each token", kSmall, [](const Engine& of) { return of.token.value; },
          [](Engine& to, double v) { to.token = Seconds{v}; }),
      EngineTerm{"bandwidth_share", "of the memory bandwidth, share that is reached", e.bandwidth_share,
                 factor_of_bandwidth(d), EngineTerm::Prior::log_normal, EngineTerm::Unit::ratio,
                 [](const Engine& of) { return of.bandwidth_share; },
                 [](Engine& to, double v) { to.bandwidth_share = v; }},
      time_of(
          e, "step_speculating", "host, each speculating step, beyond a step", kStep,
          [](const Engine& of) { return (of.step_speculating - of.step).value; },
          [](Engine& to, double v) { to.step_speculating = to.step + Seconds{v}; }),
      time_of(
          e, "draft_pass", "host, each draft pass", kPass, [](const Engine& of) { return of.draft_pass.value; },
          [](Engine& to, double v) { to.draft_pass = Seconds{v}; }),
      time_of(
          e, "draft_pass_exposed", "device waits, each draft pass", kPass,
          [](const Engine& of) { return of.draft_pass_exposed.value; },
          [](Engine& to, double v) { to.draft_pass_exposed = Seconds{v}; }),
      time_of(
          e, "layer_tree", "device, each layer that verifies a tree", kLayer,
          [](const Engine& of) { return of.layer_tree.value; },
          [](Engine& to, double v) { to.layer_tree = Seconds{v}; })};
  const auto term = std::find_if(all.begin(), all.end(), [&](const EngineTerm& t) { return t.key == key; });
  check(term != all.end(), "no such term of an engine");
  return *term;
}

// A draft pass costs the host, which a busy device hides, or the device, or both: one benchmark can't tell them apart,
// so the one that the shipped profile has is fitted.
std::vector<EngineTerm> terms_of(const Engine& e, const Device& d, Speculation speculation) {
  std::vector<EngineTerm> all;
  for (const std::string_view key : {std::string_view("step"), std::string_view(e.graphs ? "layer" : "issue"),
                                     std::string_view("token"), std::string_view("bandwidth_share")})
    all.push_back(engine_term(key, e, d));
  if (speculation == Speculation::off) return all;
  all.push_back(engine_term("step_speculating", e, d));
  const bool on_host = e.draft_pass_exposed.value <= 0 && e.draft_pass.value > 0;
  all.push_back(engine_term(on_host ? "draft_pass" : "draft_pass_exposed", e, d));
  return all;
}

Engine with_terms(const Engine& shipped, std::span<const EngineTerm> terms, std::span<const double> deviations) {
  Engine e = shipped;
  const Seconds lost = shipped.step_speculating - shipped.step;  // what speculation costs beyond a step stays
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i].set(e, terms[i].at(deviations[i]));
    if (terms[i].key == "step") e.step_speculating = e.step + lost;
  }
  return e;
}

}  // namespace draftline
