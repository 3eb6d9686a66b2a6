// SPDX-License-Identifier: Apache-2.0
#include "tests/catch.h"

namespace draftline {
namespace {
bool skipped = false;
}

void note_skipped_test() { skipped = true; }
bool skipped_a_test() { return skipped; }

}  // namespace draftline
