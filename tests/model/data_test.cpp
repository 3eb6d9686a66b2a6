// SPDX-License-Identifier: Apache-2.0
// Every number in data/ has a birth certificate: an object that names a source names one that data/sources.json knows,
// and the place in it; every file names at least one; and no source is listed in vain.
#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/reader.h"
#include "tests/catch.h"

using namespace draftline;
using nlohmann::json;

namespace {

const std::filesystem::path kData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";

struct Audit {
  std::set<std::string> known, used;
  std::vector<std::string> mistakes;
  int sourced = 0;

  void walk(const json& value, const std::string& place) {
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], place + "/" + std::to_string(i));
    if (!value.is_object()) return;
    if (value.contains("source")) {
      ++sourced;
      const auto& source = value.at("source");
      if (!source.is_string()) mistakes.push_back(place + ": source must be a key of sources.json");
      else if (!known.contains(source.get<std::string>()))
        mistakes.push_back(place + ": unknown source " + source.dump());
      else used.insert(source.get<std::string>());
      if (!value.contains("locator") || !value.at("locator").is_string() ||
          value.at("locator").get<std::string>().empty())
        mistakes.push_back(place + ": a source without locator");
    }
    for (const auto& [key, inner] : value.items()) walk(inner, place + "/" + key);
  }
};

// Whether a text has this key, and not a longer one that it is a part of.
bool names_key(std::string_view text, std::string_view key) {
  const auto part_of_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if ((at == 0 || !part_of_key(text[at - 1])) && (end == text.size() || !part_of_key(text[end]))) return true;
  }
  return false;
}

json sources() { return Document::from_file(kData / "sources.json").root().json(); }

}  // namespace

TEST_CASE("every file of data names its sources, and each source is known") {
  Audit audit;
  const auto listed = sources();
  for (const auto& [key, entry] : listed.items()) audit.known.insert(key);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kData)) {
    if (entry.path().extension() != ".json" || entry.path().filename() == "sources.json") continue;
    ++files;
    audit.sourced = 0;
    const auto name = std::filesystem::relative(entry.path(), kData).string();
    audit.walk(Document::from_file(entry.path()).root().json(), name + "#");
    if (audit.sourced == 0) audit.mistakes.push_back(name + ": no source at all");
  }
  CHECK(files >= 24);  // 21 transformers, 3 files of papers
  std::string all;
  for (const auto& m : audit.mistakes) all += m + "\n";
  INFO(all);
  CHECK(audit.mistakes.empty());
}

// A source is used if data, the code or a document names its key: a method's, say, or a reason's.
TEST_CASE("every source is used") {
  std::string texts;
  for (const char* folder : {"data", "methods", "cli", "docs"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kData.parent_path() / folder))
      if (entry.is_regular_file() && entry.path().filename() != "sources.json") {
        std::ifstream file(entry.path(), std::ios::binary);
        texts.append(std::istreambuf_iterator<char>(file), {});
        texts += '\n';
      }
  const auto listed = sources();
  std::string unused;
  for (const auto& [key, entry] : listed.items())
    if (!names_key(texts, key)) unused += key + "\n";
  CHECK(unused == "");
}

TEST_CASE("a source's key is not part of a longer one") {
  CHECK(names_key("see `li2024`.", "li2024"));
  CHECK(names_key("li2024", "li2024"));
  CHECK_FALSE(names_key("li2024eagle, x-li2024", "li2024"));
}

TEST_CASE("every source has authors, title, year, link and the version that was read") {
  const auto listed = sources();
  for (const auto& [key, entry] : listed.items()) {
    INFO(key);
    for (const char* field : {"authors", "title", "link", "version"}) {
      REQUIRE(entry.contains(field));
      CHECK_FALSE(entry.at(field).get<std::string>().empty());
    }
    REQUIRE(entry.contains("year"));
    CHECK(entry.at("year").get<int>() > 1990);
    const std::string link = entry.at("link");  // of the web, or a file of this repository for our own estimates
    CHECK((link.starts_with("https://") || std::filesystem::exists(kData.parent_path() / link)));
  }
}

TEST_CASE("the audit finds a datum without source or locator") {
  Audit audit;
  audit.known = {"paper"};
  audit.walk(
      json::parse(R"({"a": {"source": "paper", "locator": "Table 1"}, "b": [{"source": "papper", "locator": "x"}],
                             "c": {"source": "paper"}, "d": {"source": 7, "locator": ""}})"),
      "#");
  CHECK(audit.sourced == 4);
  REQUIRE(audit.mistakes.size() == 4);
  CHECK(audit.mistakes[0] == "#/b/0: unknown source \"papper\"");
  CHECK(audit.mistakes[1] == "#/c: a source without locator");
}

TEST_CASE("a guessed transformer says what is stated and what is assumed") {
  for (const auto& entry : std::filesystem::directory_iterator(kData / "transformers")) {
    const auto document = Document::from_file(entry.path());
    const auto& source = document.root().json().at("draftline_source");
    INFO(entry.path().filename().string());
    const std::string kind = source.at("kind");
    CHECK((kind == "quoted" || kind == "guess"));
    CHECK((kind == "guess") == (entry.path().stem().string().find("guess") != std::string::npos));
    if (kind == "guess") {
      CHECK_FALSE(source.at("stated").empty());
      CHECK_FALSE(source.at("assumed").empty());
    }
  }
}
