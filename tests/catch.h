// SPDX-License-Identifier: Apache-2.0
// Catch2, whichever of its two generations is installed.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Generators::from_range;
#else
#include <catch2/catch.hpp>
#endif

// Leaves the test case: what it needs is not here. CTest then reports the case as skipped, unless something failed.
#define SKIP_TEST(reason)           \
  do {                              \
    WARN("skipped: " << reason);    \
    draftline::note_skipped_test(); \
    return;                         \
  } while (false)

namespace draftline {
void note_skipped_test();
bool skipped_a_test();
}  // namespace draftline
