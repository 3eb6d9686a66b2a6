// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <cmath>
#include <sstream>

#include "core/errors.h"
#include "core/quantity_text.h"
#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

static std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("numbers stand right, texts left, under their titles") {
  Table t({"method", "batch", {"step time", "step_time_s"}});
  t.add({"eagle3", 8, Cell(0.00321, to_text(Seconds{0.00321}))});
  t.add_rule();
  t.add({"medusa", 128, Cell()});
  CHECK(t.rows() == 2);
  CHECK(t.to_text() ==
        "method  batch  step time\n"
        "------  -----  ---------\n"
        "eagle3      8    3.21 ms\n"
        "------  -----  ---------\n"
        "medusa    128\n");
  CHECK(t.to_csv() == "method,batch,step_time_s\neagle3,8,0.00321\nmedusa,128,\n");
  CHECK(t.to_csv(false) == "eagle3,8,0.00321\nmedusa,128,\n");
}

TEST_CASE("a mark that no row has is no column of a text, and stays one of CSV") {
  Table t({"batch", {"late", "late", false, true}});
  t.add({8, Cell()});
  CHECK(t.to_text() == "batch\n-----\n    8\n");
  CHECK(t.to_csv() == "batch,late\n8,\n");
  t.add({9, "yes"});
  CHECK(t.to_text() == "batch  late\n-----  ----\n    8\n    9  yes\n");
}

TEST_CASE("people see three digits, CSV every one, NaN and infinity are empty") {
  Table t({"x"});
  t.add({Cell(1.0 / 3)});
  t.add({Cell(NAN)});
  t.add({Cell(INFINITY, "inf")});
  CHECK(t.to_csv() == "x\n0.3333333333333333\n\n\n");
  CHECK(lines_of(t.to_text())[2] == "0.333");
}

TEST_CASE("CSV quotes what needs quotes and nothing else") {
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
}

TEST_CASE("CSV has no formulas and no control characters") {
  CHECK(csv_cell("=1+1") == "'=1+1");
  CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_cell("+cmd,1") == "\"'+cmd,1\"");
  CHECK(csv_cell("-x") == "'-x");
  CHECK(csv_cell("-1.5e-3") == "-1.5e-3");
  CHECK(csv_cell("a\x1b[31m") == "a\\u001b[31m");
}

TEST_CASE("a table for people shows control characters as escapes") {
  Table t({"name", "x"});
  t.add({"a\x1b[31m\nb\u202E", 1});
  const std::string escaped = "a\\u001b[31m b\\u202e";
  CHECK(lines_of(t.to_text())[2].starts_with(escaped + "  1"));
  CHECK(contains(t.to_markdown(), "| " + escaped + " |"));
  CHECK(contains(t.to_html(), ">" + escaped + "<"));
}

TEST_CASE("characters count by their width, not by their bytes") {
  CHECK(display_width("1.70×") == 5);
  CHECK(display_width("µs") == 2);
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("\xff") == 1);
  Table t({"a", "b"});
  t.add({"1.70×", "x"});
  t.add({"abcde", "y"});
  const auto lines = lines_of(t.to_text());
  CHECK(lines[2] == "1.70×  x");
  CHECK(lines[3] == "abcde  y");
}

TEST_CASE("a table too wide wraps its texts and keeps its numbers whole") {
  Table t({"method", "why", "speedup"});
  t.add({"eagle3", "the host cannot issue the kernels of a draft pass fast enough", 1234567});
  const auto lines = lines_of(t.to_text(40));
  std::string all;
  for (const std::string& line : lines) {
    CHECK(display_width(line) <= 40);
    all += line + " ";
  }
  CHECK(lines.size() > 4);
  CHECK(contains(all, "1234567"));
  for (const char* word : {"host", "cannot", "kernels", "enough"}) CHECK(contains(all, word));
  CHECK(lines_of(t.to_text(1000)).size() == 3);
}

TEST_CASE("a word longer than its column is broken, a long title over numbers wraps") {
  Table t({"x", "very long title", "n"});
  t.add({std::string(30, 'a'), 1, 2});
  const auto lines = lines_of(t.to_text(20));
  for (const std::string& line : lines) CHECK(display_width(line) <= 20);
  CHECK(contains(lines[1], "long"));
  CHECK_FALSE(contains(lines[1], "very"));
}

TEST_CASE("a long word breaks behind its marks, and its pieces stay whole") {
  Table t({"method", "draft_length", "n"});
  t.add({"autoregressive tree.optimal.budget:16", "x", 1});
  const auto lines = lines_of(t.to_text(31));
  CHECK(lines[0] ==
        "method          draft_length  n");  // the numbers' title is whole, the texts' column as narrow as can be
  CHECK(lines[2] == "autoregressive  x             1");
  CHECK(lines[3] == "tree.optimal.");
  CHECK(lines[4] == "budget:16");
}

TEST_CASE("a control character does not tear the table") {
  Table t({"a"});
  t.add({"x\ny\x1b[0m"});
  CHECK(lines_of(t.to_text())[2] == "x y\\u001b[0m");
}

TEST_CASE("a row of the wrong size is our bug") {
  Table t({"a", "b"});
  CHECK_THROWS_AS(t.add({"x"}), Bug);
  CHECK_THROWS_AS(Table({}), Bug);
}

TEST_CASE("where a table is too wide, its details go, the last first, and are named") {
  Table t({"method", {"speedup", "s"}, {"draft", "d", true}, {"memory", "m", true}});
  t.add({"eagle3", 1.5, 10, 20});
  CHECK(t.to_text(40) == t.to_text());
  CHECK(t.to_text(24) ==
        "method  speedup  draft\n"
        "------  -------  -----\n"
        "eagle3     1.50     10\n"
        "Omitted at this width: memory.\n");
  CHECK(ends_with(t.to_text(10), "eagle3     1.50\nOmitted at this width: draft, memory.\n"));
  CHECK(t.to_csv() == "method,s,d,m\neagle3,1.5,10,20\n");
}

TEST_CASE("titles of several lines stand on the rule") {
  Table t({"method", {"decode speedup", "s"}});
  t.add({"eagle3", 1.5});
  CHECK(lines_of(t.to_text(80)) ==
        std::vector<std::string>{"         decode", "method  speedup", "------  -------", "eagle3     1.50"});
}
