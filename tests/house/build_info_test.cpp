// SPDX-License-Identifier: Apache-2.0
#include "core/build_info.h"

#include <algorithm>
#include <filesystem>

#include "tests/catch.h"

namespace draftline {
namespace {

TEST_CASE("the build knows its commit, or says that it does not") {
  std::string_view commit = build_commit();
  if (commit == "unknown") {
    CHECK_FALSE(std::filesystem::exists(DRAFTLINE_SOURCE_DIR "/.git/HEAD"));
    return;
  }
  constexpr std::string_view kDirty = "-dirty";
  if (commit.ends_with(kDirty)) commit.remove_suffix(kDirty.size());
  CHECK(commit.size() == 40);
  CHECK(std::ranges::all_of(commit, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); }));
}

TEST_CASE("the data folder that is compiled in holds the devices' and transformers' folders") {
  CHECK(std::filesystem::is_directory(DRAFTLINE_DATA_DIR "/transformers"));
  CHECK(std::filesystem::path(DRAFTLINE_INSTALLED_DATA_DIR).is_relative());
}

}  // namespace
}  // namespace draftline
