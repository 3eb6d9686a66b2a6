// SPDX-License-Identifier: Apache-2.0
#include "model/devices/origin.h"

namespace draftline {

Origin read_origin(Reader in) {
  Origin o;
  o.kind = in.at("kind").word(kOrigins);
  o.source = in.at("source").text();
  o.locator = in.at("locator").text();
  if (const auto why = in.find("because")) o.because = why->text();
  if (const auto interval = in.find("interval")) {
    o.interval = RatioInterval{interval->at("low").number(1e-3, 1), interval->at("high").number(1, 1e3)};
    interval->done();
  }
  if (const auto covariance = in.find("covariance"))
    for (const auto& [name, row] : covariance->entries()) {
      o.spread.names.push_back(name);
      o.spread.covariance.push_back(row.numbers());
    }
  for (const auto& row : o.spread.covariance)
    if (row.size() != o.spread.names.size()) in.at("covariance").fail("must be square");
  return o;
}

bool read_profile_origin(const Reader& in) {
  const bool guess = in.at("kind").word(kOrigins) == "guess";
  if (guess) {
    in.at("because").text();
  } else {
    in.at("source").text();
    in.at("locator").text();
    if (const auto because = in.find("because")) because->text();
  }
  return guess;
}

}  // namespace draftline
