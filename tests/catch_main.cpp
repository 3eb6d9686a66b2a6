// SPDX-License-Identifier: Apache-2.0
// The main of every test program. Exit code 1: something failed (Catch2's is the number of failed assertions, and four
// would read as skipped); 4: nothing failed and something was skipped (CTest's SKIP_RETURN_CODE).
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/catch.h"

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  if (failed != 0) return 1;
  return draftline::skipped_a_test() ? 4 : 0;
}
