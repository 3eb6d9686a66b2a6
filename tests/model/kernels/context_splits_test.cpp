// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/context_splits.h"

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("a context is split into the parts that take the fewest stages in waves, three of them counted besides") {
  // One unit, one CTA at once: each part is a wave of its own, so that nothing is gained.
  CHECK(splits_for(1, 1, 4096) == 1);
  // 8 units, 8 at once, 512 keys (8 stages): 1 part takes 8 + 3; 2 parts 2 x (4 + 3), 4 parts 4 x (2 + 3).
  CHECK(splits_for(8, 8, 512) == 1);
  // 16 at once: 2 parts are one wave of 4 + 3. 4 parts are two of 2 + 3.
  CHECK(splits_for(8, 16, 512) == 2);
  // 32 at once: 4 parts are one wave of 2 + 3. A part has 128 keys at least.
  CHECK(splits_for(8, 32, 512) == 4);
  CHECK(splits_for(8, 1000, 512) == 4);
  CHECK(splits_for(1, 100000, 1 << 24) > 0.97 * kMostSplits);  // one less is as good
  // 12 units, 16 at once: 1 part is one wave of 8 + 3; 2 parts two of 4 + 3; 4 parts three of 2 + 3.
  CHECK(splits_for(12, 16, 512) == 1);
  // 100 stages: 4 parts are three waves of 25 + 3, 5 parts four of 20 + 3.
  CHECK(splits_for(12, 16, 6400) == 4);
  // Two waves and more are not split.
  CHECK(splits_for(31, 16, 1 << 20) > 1);
  CHECK(splits_for(32, 16, 1 << 20) == 1);
  // Nothing to split.
  CHECK(splits_for(0, 16, 512) == 1);
  CHECK(splits_for(8, 16, 0) == 1);
}
