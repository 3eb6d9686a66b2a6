// SPDX-License-Identifier: Apache-2.0
// docs/reference/devices.md lists the devices that ship.
#include <filesystem>
#include <set>

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

TEST_CASE("the page of devices has a row for each, with the card whose fits it has") {
  const std::filesystem::path source = DRAFTLINE_SOURCE_DIR;
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(source / "data/devices"))
    names.insert(file.path().stem().string());
  std::string rows;
  for (const std::string& name : names) {
    const Device d = known_device(name);
    const std::string from = d.cpu() != nullptr ? "" : d.gpu().gemm.origin.borrowed_from;
    rows += "| `" + name + "` | " + d.title + " | " + (from.empty() ? "its own" : "`" + from + "`") + " |\n";
  }
  INFO(rows);
  CHECK(read_text_file(source / "docs/reference/devices.md").find(rows) != std::string::npos);
}
