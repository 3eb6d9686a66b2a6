// SPDX-License-Identifier: Apache-2.0
#include "core/input_files.h"

#include <fstream>

#include "core/reader.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

using namespace draftline;

namespace {

std::uint64_t fingerprint_of_json(const std::string& text) {
  const FreshFolder folder;
  const auto file = folder.path() / "a.json";
  std::ofstream(file) << text;
  return Document::from_file(file).root().input_files().at(file);
}

}  // namespace

TEST_CASE("a JSON file's fingerprint is of what it says") {
  const std::uint64_t one = fingerprint_of_json(R"({"a": 1, "b": [true, "x"]})");
  CHECK(fingerprint_of_json("{ \"b\":[true,\"x\"],\n \"a\":1 }") == one);
  CHECK(fingerprint_of_json(R"({"a": 1, "b": [true, "y"]})") != one);
  CHECK(fingerprint_of_json(R"({"a": 1, "b": ["x", true]})") != one);
  CHECK(fingerprint_of_json(R"({"a": 1, "c": [true, "x"]})") != one);
}

TEST_CASE("another file's fingerprint is of its bytes; 0 for one that can't be read") {
  const FreshFolder folder;
  const auto file = folder.path() / "log.csv";
  std::ofstream(file) << "a,b\n";
  const std::uint64_t one = fingerprint_of_bytes(file);
  CHECK(one != 0);
  std::ofstream(file) << "a,b \n";
  CHECK(fingerprint_of_bytes(file) != one);
  CHECK(fingerprint_of_bytes(folder.path() / "none") == 0);
}

TEST_CASE("names of files do not depend on where the data folder lies") {
  CHECK(input_name("/x/data/devices/a.json", "/x/data") == "data/devices/a.json");
  CHECK(input_name("/y/share/devices/../devices/a.json", "/y/share/") == "data/devices/a.json");
  CHECK(input_name("/x/scenarios/s.json", "/x/data", "/x/pins") == "../scenarios/s.json");
  CHECK(input_name("/x/database/a.json", "/x/data", "/x") == "database/a.json");
  CHECK(input_name("s.json", "/x/data") == "s.json");
}
