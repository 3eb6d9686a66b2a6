// SPDX-License-Identifier: Apache-2.0
#include "inputs/request_correlation.h"

#include <array>

#include "model/acceptance/request_acceptance.h"

namespace draftline {

// A value with its origin, which is for people.
static double read_correlation(const Reader& in) {
  for (const char* origin : {"kind", "source", "locator", "because"}) (void)in.find(origin);
  for (const char* end : {"low", "high"})
    if (const auto value = in.find(end)) value->number(-1, 1);
  const double value = in.at("value").number(0, kMostCorrelation);
  in.done();
  return value;
}

RequestCorrelations read_request_correlations(const Reader& root) {
  const Reader in = root.at("intraclass_correlation");
  RequestCorrelations all;
  for (const auto& [method, value] : in.at("methods").entries()) all.by_method[method] = read_correlation(value);
  all.otherwise = read_correlation(in.at("otherwise"));
  in.done();
  root.done();
  return all;
}

}  // namespace draftline
