// SPDX-License-Identifier: Apache-2.0
#include "inputs/usual_acceptance.h"

#include <algorithm>
#include <cmath>

#include "model/acceptance/request_acceptance.h"

namespace draftline {

// Where a value comes from is for people.
static void skip_origin(const Reader& in) {
  for (const char* origin : {"kind", "source", "locator", "because"}) (void)in.find(origin);
}

static double read_correlation(const Reader& in) {
  skip_origin(in);
  for (const char* end : {"low", "high"})
    if (const auto value = in.find(end)) value->number(-1, 1);
  const double value = in.at("value").number(0, kMostCorrelation);
  in.done();
  return value;
}

static LookUpMisses read_misses(const Reader& in) {
  skip_origin(in);
  const LookUpMisses read{in.at("value").ratio(), {in.at("low").ratio(), in.at("high").ratio()}};
  if (read.range.low > read.product || read.product > read.range.high) in.fail("\"value\" must lie within the range");
  in.done();
  return read;
}

double LookUpMisses::hit_share(double product, double tokens, int drafts) {
  const double least = (tokens - 1) / drafts;  // with all drafts of a hit accepted
  return std::clamp(std::max(1 - product / tokens, least), 0.0, 1.0);
}

// L = 1 + (1 - product / L) (tokens - 1), the larger solution.
double LookUpMisses::of_all(double product, double tokens) {
  return (tokens + std::sqrt(tokens * tokens - 4 * product * (tokens - 1))) / 2;
}

double UsualAcceptance::correlation_of(std::string_view method) const {
  const auto known = correlations.find(method);
  return known != correlations.end() ? known->second : other_correlation;
}

std::optional<LookUpMisses> UsualAcceptance::misses_of(std::string_view method) const {
  const auto known = misses.find(method);
  return known != misses.end() ? std::optional(known->second) : std::nullopt;
}

UsualAcceptance read_usual_acceptance(const Reader& root) {
  UsualAcceptance all;
  const Reader correlations = root.at("intraclass_correlation"), misses = root.at("steps_without_draft");
  for (const auto& [method, value] : correlations.at("methods").entries())
    all.correlations[method] = read_correlation(value);
  all.other_correlation = read_correlation(correlations.at("otherwise"));
  correlations.done();
  for (const auto& [method, value] : misses.at("methods").entries()) all.misses[method] = read_misses(value);
  misses.done();
  root.done();
  return all;
}

}  // namespace draftline
