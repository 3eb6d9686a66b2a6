// SPDX-License-Identifier: Apache-2.0
// What was measured of a method's acceptance and holds where a scenario says nothing: data/acceptance.json. Mistakes
// are noted at their places.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "core/interval.h"
#include "core/reader.h"

namespace draftline {

// How often a look-up drafter finds no draft, where that is not given. The shipped traces of a method have about the
// same product of the share of steps without a draft and the tokens per step, whatever the text and the temperature.
struct LookUpMisses {
  double product = 0;
  Interval range = {};  // of single traces
  // The share of steps with a draft, at a mean of `tokens` per step, with at most `drafts`.
  static double hit_share(double product, double tokens, int drafts);
  // The mean of all steps, if steps with a draft emit a mean of `tokens`.
  static double of_all(double product, double tokens);
};

struct UsualAcceptance {
  // The intraclass correlation of accepted drafts within a request (model/acceptance/request_acceptance).
  std::map<std::string, double, std::less<>> correlations;
  double other_correlation = 0;  // of methods that were not measured
  std::map<std::string, LookUpMisses, std::less<>> misses;

  double correlation_of(std::string_view method) const;
  std::optional<LookUpMisses> misses_of(std::string_view method) const;  // none: it was not measured
};
UsualAcceptance read_usual_acceptance(const Reader&);

}  // namespace draftline
