// SPDX-License-Identifier: Apache-2.0
// tests/golden/targets.json: each target that was set for an error, what was measured, and the cause where it is
// missed. docs/explanation/accuracy.md lists them. The errors of papers' tables are measured here again.
#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "papers/inferred_paper.h"
#include "tests/catch.h"

using namespace draftline;
using nlohmann::json;

namespace {

const json& target_list() {
  static const json read = [] {
    std::ifstream file(DRAFTLINE_SOURCE_DIR "/tests/golden/targets.json");
    return json::parse(file);
  }();
  return read;
}

bool is_missed(const json& result, std::size_t figure) {
  return figure < result["limits"].size() && result["measured"][figure] > result["limits"][figure];
}
bool is_missed(const json& result) {
  bool missed = false;
  for (std::size_t i = 0; i < result["measured"].size(); ++i) missed |= is_missed(result, i);
  return missed;
}

// 6.4 -> "6.4", 10.0 -> "10"
std::string short_number(const json& value) {
  std::string text = value.dump();
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

// "h100-sxm: **6.4** (5.4)"
std::string result_text(const json& result) {
  std::string measured, limits;
  for (std::size_t i = 0; i < result["measured"].size(); ++i) {
    const std::string bold = is_missed(result, i) ? "**" : "";
    measured += (i == 0 ? "" : " / ") + bold + short_number(result["measured"][i]) + bold;
  }
  for (const json& limit : result["limits"]) limits += (limits.empty() ? "" : " / ") + short_number(limit);
  return result["of"].get<std::string>() + ": " + measured + " (" + limits + ")";
}

// The part of docs/explanation/accuracy.md that lists the targets and the causes of those that are missed.
std::string targets_page() {
  std::string
      table = "| target | what | error | measured (target); missed in bold | by | since |\n|---|---|---|---|---|---|\n",
      causes = "| missed | cause |\n|---|---|\n";
  std::map<std::string, std::string> missed;
  for (const json& t : target_list()["targets"]) {
    const std::string id = t["id"];
    std::string results, figures;
    for (const json& figure : t["figures"]) figures += (figures.empty() ? "" : " / ") + figure.get<std::string>();
    for (const json& result : t["results"]) {
      results += (results.empty() ? "" : "; ") + result_text(result);
      if (!result.contains("cause")) continue;
      std::string& of = missed[result["cause"]];
      of += (of.empty() ? "" : "; ") + id + ", " + result["of"].get<std::string>();
    }
    const std::string unit = t["unit"];
    table += "| " + id + " | " + t["what"].get<std::string>() + " | " + figures + (unit.empty() ? "" : ", " + unit) +
             " | " + results + " | `" + t["command"].get<std::string>() + "` | " + t["since"].get<std::string>() +
             " |\n";
  }
  for (const auto& [name, cause] : target_list()["causes"].items())
    causes += "| " + missed[name] + " | " + cause.get<std::string>() + " |\n";
  return table + "\n" + causes;
}

const Paper& paper_of_targets(const std::string& name) {
  static std::map<std::string, Paper> known;
  auto it = known.find(name);
  if (it == known.end()) it = known.emplace(name, predict_paper(DRAFTLINE_SOURCE_DIR "/data", name)).first;
  return it->second;
}

bool row_is_among(const PaperCell& cell, const json& rows) {
  for (const auto& [key, values] : rows.items())
    if (std::find(values.begin(), values.end(), cell.text(key)) == values.end()) return false;
  return true;
}

// The errors of the credible cells that a result is about.
ErrorSummary errors_of_cells(const std::string& of, const json& cells) {
  const auto& tables = paper_of_targets(of).tables;
  const auto table =
      std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t.table == cells["table"]; });
  REQUIRE(table != tables.end());
  const auto is_meant = [&](const PaperCell& c) {
    return (!cells.contains("column") || c.column == cells["column"]) &&
           (!cells.contains("only") || row_is_among(c, cells["only"])) &&
           (!cells.contains("without") || !row_is_among(c, cells["without"]));
  };
  return table->summary(true, is_meant, cells.contains("reading") ? TableReading::fitted : TableReading::baseline_only);
}

}  // namespace

TEST_CASE("a target has a cause exactly where it is missed, and each cause is that of some target") {
  std::set<std::string> ids, named;
  for (const json& t : target_list()["targets"]) {
    const std::string id = t["id"];
    INFO(id);
    CHECK(ids.insert(id).second);
    for (const char* key : {"what", "command", "since"}) CHECK(!t[key].get<std::string>().empty());
    CHECK(!t["results"].empty());
    for (const json& result : t["results"]) {
      INFO(result.dump());
      CHECK(!result["limits"].empty());
      CHECK(result["limits"].size() <= result["measured"].size());
      CHECK(result["measured"].size() == t["figures"].size());
      CHECK(result.contains("cause") == is_missed(result));
      if (result.contains("cause")) named.insert(result["cause"]);
    }
  }
  std::set<std::string> causes;
  for (const auto& [name, cause] : target_list()["causes"].items()) causes.insert(name);
  CHECK(named == causes);
}

TEST_CASE("docs/explanation/accuracy.md has the targets and their causes as tests/golden/targets.json has them") {
  std::ifstream file(DRAFTLINE_SOURCE_DIR "/docs/explanation/accuracy.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const bool holds = page.find(targets_page()) != std::string::npos;
  if (!holds) std::cout << "docs/explanation/accuracy.md should hold:\n" << targets_page();
  CHECK(holds);
}

TEST_CASE(
    "the errors of papers' tables are those of tests/golden/targets.json, and miss the targets that it says are "
    "missed") {
  int results = 0;
  for (const json& t : target_list()["targets"]) {
    if (!t.contains("paper")) continue;
    for (const json& result : t["results"]) {
      INFO(t["id"] << ": " << result.dump());
      const json& cells = result["cells"];
      const ErrorSummary s = errors_of_cells(t["paper"], cells);
      CHECK(s.cells == cells["credible"]);
      const std::array figures{*s.median, *s.p90, *s.largest};
      for (std::size_t i = 0; i < figures.size(); ++i) {
        const double percent = 100 * figures[i];
        CHECK(percent == Approx(result["measured"][i].get<double>()).margin(0.051));  // one digit is written
        if (i < result["limits"].size()) CHECK((percent > result["limits"][i].get<double>()) == is_missed(result, i));
      }
      ++results;
    }
  }
  CHECK(results == 19);
}
