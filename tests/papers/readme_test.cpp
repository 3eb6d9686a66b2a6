// SPDX-License-Identifier: Apache-2.0
// The errors that README.md prints are those that the papers' tables have today.
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

std::string percent(double share, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << 100 * share;
  return text.str();
}

const PaperTable& table_of(const Paper& paper, const std::string& name) {
  const auto t = std::find_if(paper.tables.begin(), paper.tables.end(), [&](const auto& x) { return x.table == name; });
  REQUIRE(t != paper.tables.end());
  return *t;
}

std::string digits(double share) { return percent(share, 100 * share < 9.95 ? 1 : 0); }

struct Errors {
  Errors(const Paper& paper, const std::string& table, const Which& which) {
    const PaperTable& t = table_of(paper, table);
    credible = t.summary(true, which);
    cells = std::to_string(credible.cells) + " of " + std::to_string(t.summary(false, which).cells);
  }
  std::string two_digits() const {
    return digits(*credible.median) + " / " + digits(*credible.p90) + " / " + digits(*credible.largest);
  }
  ErrorSummary credible;
  std::string cells;
};

}  // namespace

TEST_CASE("README prints the errors of the papers' tables that today's predictions have") {
  const std::string data = DRAFTLINE_SOURCE_DIR "/data", readme = read_text_file(DRAFTLINE_SOURCE_DIR "/README.md");
  const Paper specformer = predict_inferred_paper(data, "specformer"), s3d = predict_inferred_paper(data, "s3d"),
              space = predict_inferred_paper(data, "space"), clover = predict_inferred_paper(data, "clover");
  struct Row {
    std::string name;
    Errors errors;
  };
  for (const Row& row : {
           Row{"| SpecFormer | 1, its own rows", {specformer, "table1", speedup_of({"specformer"})}},
           Row{"| | 1, HASS and EAGLE-3", {specformer, "table1", speedup_of({"hass", "eagle3"})}},
           Row{"| | 3", {specformer, "table3", speedup_of({"specformer"})}},
           Row{"| S3D | 2", {s3d, "table2", in_column("throughput")}},
           Row{"| | 3", {s3d, "table3", in_column("throughput")}},
           Row{"| SPACE | 1", {space, "table1", every}},
           Row{"| | 3, with requests/s", {space, "table3", every}},
           Row{"| | 7", {space, "table7", every}},
           Row{"| Clover | 1, with tokens/s", {clover, "table1", every}},
           Row{"| | 2, tokens/s", {clover, "table2", every}},
       }) {
    const std::string line = row.name + " | " + row.errors.cells + " | " + row.errors.two_digits() + " % |\n";
    INFO(line);
    CHECK(readme.find(line) != std::string::npos);
  }
}

TEST_CASE("README prints the errors that are left with one cost fitted") {
  const std::string data = DRAFTLINE_SOURCE_DIR "/data";
  std::string readme = read_text_file(DRAFTLINE_SOURCE_DIR "/README.md");
  std::replace(readme.begin(), readme.end(), '\n', ' ');  // a sentence
  const Paper space = predict_inferred_paper(data, "space"), clover = predict_inferred_paper(data, "clover");
  const auto fitted = [&](const Paper& paper, const std::string& table) {
    const ErrorSummary e = table_of(paper, table).summary(true, every, TableReading::fitted);
    return digits(*e.median) + " / " + digits(*e.p90);
  };
  const std::string of_space =
                        fitted(space, "table1") + " and " + fitted(space, "table7") + " % (SPACE's tables 1 and 7)",
                    of_clover = fitted(clover, "table1") + " and " + fitted(clover, "table2") + " % (Clover's 1 and 2)";
  INFO(of_space << ", " << of_clover);
  CHECK(readme.find(of_space + ", " + of_clover) != std::string::npos);
}
