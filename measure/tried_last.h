// SPDX-License-Identifier: Apache-2.0
// What a run that goes on does about points and cells at which the device failed before: it measures all others first,
// so that one at which the device always fails costs no other.
#pragma once
#include <string_view>

namespace draftline::measure {

// How the reason begins for which such a point or cell is skipped until then.
inline constexpr std::string_view kTriedLast = "the next run tries it last: ";

}  // namespace draftline::measure
