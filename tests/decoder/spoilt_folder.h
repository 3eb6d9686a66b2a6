// SPDX-License-Identifier: Apache-2.0
// A copy of a folder of tests/fixtures, to spoil.
#pragma once
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/decoder/safetensors_bytes.h"
#include "tests/source_folder.h"

namespace draftline {

struct Spoilt {
  FreshFolder fresh;
  std::filesystem::path folder;
  explicit Spoilt(const std::string& fixture) : folder(fresh.path() / std::filesystem::path(fixture).filename()) {
    std::filesystem::copy(test::kFixtures / fixture, folder);
  }
  nlohmann::json json(const std::string& file) const { return nlohmann::json::parse(bytes_of_file(folder / file)); }
  void set(const std::string& file, const std::string& pointer, const nlohmann::json& value) const {
    auto document = json(file);
    document[nlohmann::json::json_pointer(pointer)] = value;
    write_bytes(folder / file, document.dump());
  }
  void config(const std::string& key, const nlohmann::json& value) const { set("config.json", "/" + key, value); }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string bytes = bytes_of_file(folder / file);
    const auto at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    REQUIRE(from.size() == to.size());  // so that the header's length stays right
    write_bytes(folder / file, bytes.replace(at, from.size(), to));
  }
};

}  // namespace draftline
