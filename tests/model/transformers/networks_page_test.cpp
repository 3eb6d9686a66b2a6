// SPDX-License-Identifier: Apache-2.0
// docs/reference/networks.md has a row for each shipped network: parameters from its shapes beside the published ones,
// and what it caches.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"

using namespace draftline;
using nlohmann::json;

namespace {

std::string digits(double x, int places) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", places, x);
  return text.data();
}

// In thousand millions, three digits or more.
std::string billions(double parameters) {
  const double x = parameters / 1e9;
  return digits(x, x < 10 ? 2 : x < 100 ? 1 : 0);
}

// What its publisher states; empty: nothing that the file quotes.
std::pair<std::string, std::string> stated_counts(const json& source) {
  const json stated = source.value("published_billions", json::array());
  const auto of = [&](std::size_t i) { return i < stated.size() ? billions(1e9 * stated.at(i).get<double>()) : ""; };
  if (source.contains("published_parameters")) return {billions(source.at("published_parameters")), of(1)};
  return {of(0), of(1)};
}

std::string row_of(const std::filesystem::path& file) {
  const auto document = Document::from_file(file);
  const TransformerShape s = read_transformer(document.root());
  const auto [all, active] = stated_counts(document.root().json().at("draftline_source"));
  document.finish();
  const double states = sequence_bytes(s).value / (1 << 20);
  const bool experts = s.experts() != nullptr;
  return "| `" + s.name + "` | " + billions(parameters(s)) + " | " + all + " | " +
         (experts ? billions(active_parameters(s)) : "") + " | " + active + " | " +
         digits(token_bytes(s, DType::bf16).value, 0) + " | " + (states > 0 ? digits(states, 1) : "") + " |";
}

std::vector<std::string> rows_of_networks() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kTransformers)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> all;
  for (const auto& file : files) all.push_back(row_of(file));
  return all;
}

std::vector<std::string> rows_of_page() {
  std::ifstream file(std::string(DRAFTLINE_SOURCE_DIR) + "/docs/reference/networks.md");
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("docs/reference/networks.md has the row of every shipped network") {
  const auto wanted = rows_of_networks(), found = rows_of_page();
  std::ostringstream text;
  for (const std::string& row : wanted) text << row << "\n";
  INFO("the page needs these rows:\n" << text.str());
  CHECK((wanted == found));
}

TEST_CASE("parameters from shapes are the published ones within 3 %, active ones within 10 %") {
  for (const auto& entry : std::filesystem::directory_iterator(kTransformers)) {
    const auto document = Document::from_file(entry.path());
    const TransformerShape s = read_transformer(document.root());
    document.finish();
    const json& source = document.root().json().at("draftline_source");
    if (!source.contains("published_billions")) continue;
    INFO(s.name);
    const json& stated = source.at("published_billions");
    CHECK(parameters(s) / 1e9 == Approx(stated.at(0).get<double>()).epsilon(0.03));
    if (stated.size() < 2) continue;
    // Authors count both tables of the vocabulary, the LM head alone, or neither, and print one or two digits: half a
    // unit of "3B".
    const double active = active_parameters(s) / 1e9, table = head_parameters(s) / 1e9;
    const double wanted = stated.at(1).get<double>();
    double least = std::abs(active - wanted);
    for (const double other : {active + table, active - table}) least = std::min(least, std::abs(other - wanted));
    CHECK(least < std::max(0.1 * wanted, 0.55));
  }
}
