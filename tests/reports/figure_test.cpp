// SPDX-License-Identifier: Apache-2.0
// One list of figures makes tables, CSV, JSON and docs/reference/output.md.
#include "reports/figure.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "reports/figure_lists.h"
#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

struct Trip {
  double hours = 2, at_sea = 0.5;
  std::optional<int> stops = 3;
};
struct Season {
  bool stormy = false;
};
using F = Figure<Trip, Season>;

Figures<Trip, Season> trip_figures() {
  // clang-format off
  return {F{"time", "time_s", "time", "s", FigureKind::measured,
            [](const Trip& t) { return Reading(3600 * t.hours, Interval{1, 2}); }, "how long"},
          F{"legs/sea", "sea_h", "sea", "h", FigureKind::predicted, [](const Trip& t) { return t.at_sea; }, "at sea",
            {.whole = [](const Trip& t) { return t.hours; }, .show_if = [](const Season& s) { return !s.stormy; }}},
          F{"legs/stops", "stops", "", "", {}, [](const Trip& t) { return t.stops; }, "ports"},
          F{"", "late", "late", "", {}, [](const Trip&) { return false; }, "never"},
          F{"captain", "captain", "", "", {}, [](const Trip&) { return nullptr; }, "unknown"}};
  // clang-format on
}

std::string json_of(const Trip& trip) {
  std::ostringstream out;
  JsonWriter w(out, 0);
  w.begin_object();
  write_members(w, trip_figures(), trip);
  w.end_object();
  w.finish();
  return nlohmann::json::parse(out.str()).dump();
}
std::string table_of(const Trip& trip, const Season& season, Format format) {
  const auto columns = columns_of(trip_figures(), season, format);
  std::vector<Table::Column> titles;
  add_titles(titles, columns);
  Table table(titles);
  std::vector<Cell> row;
  add_cells(row, columns, trip);
  table.add(row);
  return format == Format::csv ? table.to_csv() : table.to_text();
}

}  // namespace

TEST_CASE("a list of figures is columns of a table, columns of CSV and members of JSON") {
  CHECK(table_of({}, {}, Format::table) ==
        "  time   sea  late\n"
        "------  ----  ----\n"
        "2.00 h  25 %  no\n");
  CHECK(table_of({}, {}, Format::csv) == "time_s,sea_h,stops,late,captain\n7200,0.5,3,no,\n");
  CHECK(json_of({}) == R"({"captain":null,"legs":{"sea":{"kind":"predicted","unit":"h","value":0.5},"stops":3},)"
                       R"("time":{"high":2,"kind":"measured","low":1,"unit":"s","value":7200}})");
}

TEST_CASE("what a result does not know is an empty cell and no member; columns go where they say nothing") {
  CHECK(table_of({.stops = {}}, {}, Format::csv) == "time_s,sea_h,stops,late,captain\n7200,0.5,,no,\n");
  CHECK(!contains(json_of({.stops = {}}), "stops"));
  CHECK(!contains(table_of({}, {.stormy = true}, Format::table), "sea"));
  CHECK(contains(table_of({}, {.stormy = true}, Format::csv), "sea"));
}

TEST_CASE("no two figures of a kind of result share a name, each is documented, and its unit ends its CSV name") {
  for (const FigureList& list : documented_figures()) {
    const auto object_of = [](const std::string& path) { return path.substr(0, path.rfind('/') + 1); };
    const std::string result = object_of(list.rows.front().json);
    std::string object = result;
    std::set<std::string> json, csv, begun;
    for (const auto& r : list.rows) {
      INFO(list.name << ": " << r.json << " " << r.csv);
      CHECK(!(r.json.empty() && r.csv.empty() && r.title.empty()));
      CHECK(!r.meaning.empty());
      CHECK((r.json.empty() || json.insert(r.json).second));
      CHECK((r.csv.empty() || csv.insert(r.csv).second));
      if (!r.csv.empty()) CHECK(r.csv.ends_with("_s") == (r.unit == "s" || r.unit.ends_with("/s")));
      if (r.json.empty()) continue;
      const std::string now = object_of(r.json);  // figures of one object stand together
      if (now != object && now != result) CHECK(begun.insert(now).second);
      object = now;
    }
  }
}

TEST_CASE("a figure of a table is pinned unless its row says otherwise, and others where it says so") {
  F shown{"a", "", "a", "", {}, [](const Trip&) { return 1; }, "shown"};
  F hidden{"b", "", "", "", {}, [](const Trip&) { return 1; }, "hidden"};
  CHECK(shown.pinned());
  CHECK_FALSE(hidden.pinned());
  shown.check = kNotPinned, hidden.check = kPinned;
  CHECK_FALSE(shown.pinned());
  CHECK(hidden.pinned());
  CHECK(pinned_figures("advise") == std::vector<std::string>{"all"});
  CHECK(pinned_figures("no verb") == std::vector<std::string>{"all"});
  const auto run = pinned_figures("run");
  CHECK(std::find(run.begin(), run.end(), "breakdown.commit") != run.end());
  CHECK(std::find(run.begin(), run.end(), "arithmetic_intensity") == run.end());
}

TEST_CASE("rows say which members identify the elements of a list, and what older versions called a figure") {
  using Members = std::vector<std::string>;
  const auto lists = identifying_members();
  const auto of = [&](const std::string& name) {
    return std::find_if(lists.begin(), lists.end(), [&](const auto& l) { return l.first == name; })->second;
  };
  CHECK(of("kernels") == Members{"phase", "op", "shape"});
  CHECK(of("batches") == Members{"batch_size"});
  CHECK(of("best_draft_lengths") == Members{"prompt_tokens", "batch_size"});
  CHECK(of("schedule") == Members{"prompt_tokens", "draft_length"});
  const auto renamed = renamed_figures();
  for (const auto& names : {std::pair<std::string, std::string>("busy_share", "utilization"),
                            {"breakdown.host", "breakdown.cpu"},
                            {"losses.products", "losses.gemm"}})
    CHECK(std::find(renamed.begin(), renamed.end(), names) != renamed.end());
}

TEST_CASE("docs/reference/output.md has the row of every figure as the lists have it") {
  std::ifstream file(std::string(DRAFTLINE_SOURCE_DIR) + "/docs/reference/output.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const FigureList& list : documented_figures()) {
    const std::string section = "## " + list.name + "\n";
    const std::size_t begin = page.find(section);
    INFO(section);
    REQUIRE(begin != std::string::npos);
    const std::size_t end = std::min(page.find("\n## ", begin), page.size());
    const std::string written = page.substr(begin, end - begin), table = markdown(list);
    const bool holds = written.find(table) != std::string::npos;
    if (!holds) std::cout << section << "... should hold this table:\n" << table;
    CHECK(holds);
  }
}
