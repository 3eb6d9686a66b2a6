// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "core/named.h"

namespace draftline {

// Where a printed figure comes from: a value of the scenario, a fit, a prediction, a measurement or a publication.
enum class FigureKind { input, calibrated, predicted, measured, quoted };
inline constexpr NamedValues<FigureKind, 5> kFigureKinds{{{"input", FigureKind::input},
                                                          {"calibrated", FigureKind::calibrated},
                                                          {"predicted", FigureKind::predicted},
                                                          {"measured", FigureKind::measured},
                                                          {"quoted", FigureKind::quoted}}};
constexpr std::string_view name(FigureKind kind) { return name_of(kFigureKinds, kind); }

}  // namespace draftline
