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

TEST_CASE("another file's fingerprint is of its bytes; one that can't be read has none") {
  const FreshFolder folder;
  const auto file = folder.path() / "log.csv";
  std::ofstream(file) << "a,b\n";
  InputFiles all, later;
  add_file(all, file);
  std::ofstream(file) << "a,b \n";
  add_file(later, file);
  CHECK(all.size() == 1);
  CHECK(later.at(file) != all.at(file));
  add_file(all, folder.path() / "none");
  CHECK(all.size() == 1);
}

TEST_CASE("names of files do not depend on where the data folder lies") {
  CHECK(input_name("/x/data/devices/a.json", "/x/data") == "data/devices/a.json");
  CHECK(input_name("/y/share/devices/../devices/a.json", "/y/share/") == "data/devices/a.json");
  CHECK(input_name("/x/scenarios/s.json", "/x/data", "/x/pins") == "../scenarios/s.json");
  CHECK(input_name("/x/database/a.json", "/x/data", "/x") == "database/a.json");
  CHECK(input_name("s.json", "/x/data") == "s.json");
}
