// SPDX-License-Identifier: Apache-2.0
// The ranges of errors that README.md prints of the papers' tables are today's. targets_test.cpp has each table.
#include <algorithm>
#include <functional>
#include <iomanip>
#include <sstream>

#include "core/text_file.h"
#include "papers/inferred_paper.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

using Which = std::function<bool(const PaperCell&)>;

bool every(const PaperCell&) { return true; }
Which in_column(const std::string& name) {
  return [name](const PaperCell& c) { return c.column == name; };
}
Which speedup_of(const std::vector<std::string>& methods) {
  return [methods](const PaperCell& c) {
    return c.column == "speedup" && std::find(methods.begin(), methods.end(), c.text("method")) != methods.end();
  };
}

// 0.0052 -> "0.5", 0.132 -> "13"
std::string percent(double share) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(100 * share < 9.95 ? 1 : 0) << 100 * share;
  return text.str();
}

struct Range {
  double least = 1, most = 0;
  void add(double share) { least = std::min(least, share), most = std::max(most, share); }
  std::string text() const { return percent(least) + " to " + percent(most) + " %"; }
};

struct ErrorRanges {
  Range median, p90;
  void add(const Paper& paper, const std::string& table, const Which& which,
           TableReading reading = TableReading::baseline_only) {
    const auto t =
        std::find_if(paper.tables.begin(), paper.tables.end(), [&](const auto& x) { return x.table == table; });
    REQUIRE(t != paper.tables.end());
    const ErrorSummary credible = t->summary(true, which, reading);
    median.add(*credible.median), p90.add(*credible.p90);
  }
  std::string text() const { return "medians of " + median.text() + ", P90 of " + p90.text(); }
};

}  // namespace

TEST_CASE("README prints the ranges of errors in the papers' tables") {
  const std::string data = DRAFTLINE_SOURCE_DIR "/data", readme = read_text_file(DRAFTLINE_SOURCE_DIR "/README.md");
  const Paper specformer = predict_paper(data, "specformer"), s3d = predict_paper(data, "s3d"),
              space = predict_paper(data, "space"), clover = predict_paper(data, "clover");
  ErrorRanges all, fitted;
  all.add(specformer, "table1", speedup_of({"specformer"}));
  all.add(specformer, "table1", speedup_of({"hass", "eagle3"}));
  all.add(specformer, "table3", speedup_of({"specformer"}));
  for (const std::string table : {"table2", "table3"}) all.add(s3d, table, in_column("throughput"));
  for (const std::string table : {"table1", "table3", "table7"}) all.add(space, table, every);
  for (const std::string table : {"table1", "table2"}) all.add(clover, table, every);
  for (const std::string table : {"table1", "table7"}) fitted.add(space, table, every, TableReading::fitted);
  for (const std::string table : {"table1", "table2"}) fitted.add(clover, table, every, TableReading::fitted);
  INFO(all.text() << "; " << fitted.text());
  CHECK(readme.find("| credible cells of four papers | " + all.text() + " |") != std::string::npos);
  CHECK(readme.find("| the same of SPACE and Clover with one cost fitted | " + fitted.text() + " |") !=
        std::string::npos);
}
