// SPDX-License-Identifier: Apache-2.0
// Where this tree lies: where it lay when the tests were compiled, or where the environment's DRAFTLINE_SOURCE_DIR
// says, for tests that run on another machine (tools/gpu_all).
#pragma once
#include <cstdlib>
#include <filesystem>

namespace draftline::test {

inline std::filesystem::path source_folder() {
  const char* there = std::getenv("DRAFTLINE_SOURCE_DIR");
  return there == nullptr ? DRAFTLINE_SOURCE_DIR : there;
}

inline const std::filesystem::path kFixtures = source_folder() / "tests/fixtures";

}  // namespace draftline::test
