// SPDX-License-Identifier: Apache-2.0
// The intraclass correlation of accepted drafts within a request (model/acceptance/request_acceptance), as it was
// measured with a method: data/acceptance.json. Mistakes are noted at their places.
#pragma once
#include <map>
#include <string>

#include "core/reader.h"

namespace draftline {

struct RequestCorrelations {
  std::map<std::string, double, std::less<>> by_method;
  double otherwise = 0;  // of methods that were not measured
  double of(std::string_view method) const {
    const auto known = by_method.find(method);
    return known != by_method.end() ? known->second : otherwise;
  }
};
RequestCorrelations read_request_correlations(const Reader&);

}  // namespace draftline
