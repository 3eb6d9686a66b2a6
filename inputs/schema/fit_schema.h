// SPDX-License-Identifier: Apache-2.0
// The keys of the coefficients of a device's fits, from the tables of model/devices/fit_fields.h.
#pragma once
#include "inputs/schema/schema_parts.h"
#include "model/devices/fit_fields.h"

namespace draftline::schema {

std::string meaning_of_coefficient(std::string_view name);  // Bug if it has none

template <class Fit>
Keys keys_of_fit() {
  Keys keys;
  for (const FitField<Fit>& field : fields_of(Fit{})) {
    Json value = field.unit == FitUnit::ratio ? number(field.least, field.most) : quantity<Seconds>(Zero::yes);
    keys.push_back({field.name,
                    std::move(value),
                    meaning_of_coefficient(field.name),
                    !field.optional,
                    {},
                    field.old_name == nullptr ? "" : field.old_name});
  }
  return keys;
}

}  // namespace draftline::schema
