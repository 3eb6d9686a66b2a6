// SPDX-License-Identifier: Apache-2.0
// Blocks of the JSON that `calibrate` writes: fitted values as text, with their birth certificate.
#pragma once
#include <algorithm>
#include <string>

#include "core/quantity_text.h"
#include "model/calibration/calibrated_files.h"
#include "model/devices/fit_fields.h"

namespace draftline {

inline std::string in_us(Seconds t) { return significant(t.value * 1e6, 4) + " us"; }
inline double rounded(double x) { return std::stod(significant(x, 4)); }

// The birth certificate of a fitted block, with how sure it is.
inline OrderedJson certificate(const CalibrationInput& o, const FitQuality& q, bool with_spread = true) {
  OrderedJson j{{"kind", "calibrated"}, {"source", o.source}, {"locator", o.locator}};
  if (q.known) j["interval"] = {{"low", std::min(rounded(q.low), 1.0)}, {"high", std::max(rounded(q.high), 1.0)}};
  if (!with_spread) return j;
  for (std::size_t i = 0; i < q.spread.names.size(); ++i) {
    OrderedJson row = OrderedJson::array();
    for (const double x : q.spread.covariance[i]) row.push_back(std::stod(significant(x, 3)));
    j["covariance"][q.spread.names[i]] = row;
  }
  return j;
}

// Every coefficient of a fit, by its list of them; `time` writes those with a unit.
template <class Fit>
void add_fields(OrderedJson& to, const Fit& fit, std::string (*time)(Seconds)) {
  for (const FitField<Fit>& field : fields_of(fit))
    if (field.unit == FitUnit::ratio) to[field.name] = rounded(field.value(fit));
    else to[field.name] = time(Seconds{field.value(fit)});
}

}  // namespace draftline
