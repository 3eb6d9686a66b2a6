// SPDX-License-Identifier: Apache-2.0
// What the gate says: tables for people, JUnit, Markdown, JSON.
#include "gate/gate_report.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "gate/change_table.h"
#include "gate/gate_page.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

Change moved(const std::string& batch, const std::string& figure, Json was, Json is) {
  PointKey key{{"method", "eagle3"}, {"batch_size", batch}};
  auto all = changes_between({{key, {{figure, std::move(was)}}}}, {{key, {{figure, std::move(is)}}}}, 1e-9);
  return all.at(0);
}

Checked pin(const std::string& name, std::vector<Change> changes, std::vector<std::string> causes = {}) {
  Checked c;
  c.file = "pins.json";
  c.question = name;
  c.points = 2;
  c.figures = 30;
  c.changes = std::move(changes);
  c.causes = std::move(causes);
  for (const char* batch : {"1", "8"}) c.keys.push_back({{"method", "eagle3"}, {"batch_size", batch}});
  return c;
}

GateReport two_pins() {
  Change lost = moved("8", "x", 1, 2);
  lost.kind = Change::Kind::lost;
  lost.figure = "";
  lost.relative.reset();
  return {{pin("run big.json",
               {moved("1", "event_fingerprint", "aa", "bb"), moved("1", "warnings", "[]", "[\"late & <slow>\"]"),
                moved("1", "step_time", 0.010, 0.011), moved("8", "step_time", 0.010, 0.012), lost},
               {"d.json: bandwidth 3 TB/s -> 2 TB/s"}),
           pin("run small.json", {moved("1", "preemptions", 0, 7), moved("8", "speedup", 2.0, 1.0)},
               {"d.json: bandwidth 3 TB/s -> 2 TB/s", "the program changed"}),
           pin("run same.json", {})},
          {}};
}

// Is it XML that a viewer reads: tags that close, attributes in quotes, no stray markup? Enough for what is written
// here.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = xml.find_first_of("<&", at)) != std::string::npos) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return false;
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag[0] != '?' && tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  return open.empty();
}

}  // namespace

TEST_CASE(
    "numbers come first, the largest change on top; texts, lost points and event streams are a table of their own") {
  const std::string text = gate_text(two_pins(), 0);
  CHECK(starts_with(text, "7 changes in 2 of 3 pins (90 approved figures).\n"));
  const auto place = [&](const char* part) {
    const auto at = text.find(part);
    INFO(part << " in " << text);
    REQUIRE(at != std::string::npos);
    return at;
  };
  CHECK(place("preemptions") < place("speedup"));  // from 0
  CHECK(place("from 0") < place("-50.0 %"));
  CHECK(place("-50.0 %") < place("+20.0 %"));
  CHECK(place("step_time") < place("the whole point"));
  CHECK(place("the whole point") < place("warnings"));
  CHECK(place("warnings") < place("event_fingerprint"));
  CHECK(place("event_fingerprint") < place("\nWhy:\n"));
}

TEST_CASE("a figure that moved at several points is one row: how many, the largest, and where") {
  const std::string text = gate_text(two_pins(), 0);
  std::istringstream lines(text);
  int rows = 0;
  for (std::string line; std::getline(lines, line);)
    if (contains(line, "step_time")) {
      ++rows;
      CHECK(contains(line, "+20.0 %"));
      CHECK(contains(line, "2 of 2"));
      CHECK(contains(line, "run big "));
      CHECK(ends_with(line, "batch_size 8"));
    }
  CHECK(rows == 1);
  CHECK(contains(text, "The tolerance is 1e-09 of the value"));
}

TEST_CASE("each cause is said once, with a number that the rows refer to where their causes differ") {
  const std::string text = gate_text(two_pins(), 0);
  CHECK(contains(text, "Why:\n  1: d.json: bandwidth 3 TB/s -> 2 TB/s (2 pins)\n  2: the program changed (1 pin)\n"));
  CHECK(contains(text, "1, 2"));
  const std::string one = gate_text({{two_pins().pins[0]}, {}}, 0);
  CHECK(!contains(one, "  why  "));
}

TEST_CASE("the page fits 120 columns, whatever the names are") {
  GateReport r = two_pins();
  r.pins[0].question = "simulate a_scenario_with_a_rather_long_name_that_says_what_it_asks.json";
  for (Change& c : r.pins[0].changes)
    c.point.emplace_back("workload",
                         "arrivals:process:gamma,rate:4 /s,variation:3,lengths:output:distribution:uniform");
  r.pins[0].changes[1].is = std::string(500, 'x');
  r.pins[0].changes[2].figure = "device_file.fits.cpu.gemm.covariance.second_byte_of_a_long_name";
  r.pins[0].causes = {"d.json: " + std::string(40, 'y')};
  std::istringstream lines(gate_text(r, 0));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(display_width(line) <= 120);
  }
}

TEST_CASE("tolerances stand in the table where they differ") {
  GateReport r = two_pins();
  r.pins[1].changes[1].tolerance = 0.02;
  CHECK(contains(gate_text(r, 0), "tolerance"));
  CHECK(contains(gate_text(r, 0), "0.02"));
  CHECK(!contains(gate_text(r, 0), "The tolerance is"));
}

TEST_CASE("what is as approved is one line") {
  CHECK(gate_text({{pin("run same.json", {})}, {}}, 0) == "30 figures of 1 pin are as approved.\n");
  CHECK(gate_text({}, 0).empty());
  GateReport one{{pin("run same.json", {})}, {}};
  one.pins[0].figures = 1;
  CHECK(gate_text(one, 0) == "1 figure of 1 pin is as approved.\n");
}

TEST_CASE("a table of many figures ends, and says how many more there are") {
  GateReport r{{pin("run big.json", {})}, {}};
  for (int i = 0; i < 60; ++i) r.pins[0].changes.push_back(moved("1", "figure_" + std::to_string(i), 1, 2 + i));
  for (int i = 0; i < 30; ++i) r.pins[0].causes.push_back("cause " + std::to_string(i));
  const std::string text = gate_text(r, 0);
  CHECK(contains(text, "... and 20 more figures; --json has them all"));
  CHECK(contains(text, "... and 10 more; --json has them all"));
  CHECK(contains(text, "figure_59"));
  CHECK(!contains(text, "figure_5 "));
}

TEST_CASE("Markdown: tables with a column for each head, and nothing of a user's text is markup") {
  GateReport r = two_pins();
  r.pins[2].failure = "t.json#/a: unknown <b>name</b> `x` | two\nlines";
  const std::string text = gate_markdown(r);
  CHECK(starts_with(text, "## draftline check: predictions changed\n"));
  CHECK(contains(text, "unknown &lt;b>name&lt;/b> \\`x\\` "));
  CHECK(contains(text, "two lines\n"));
  CHECK(contains(text, "late &amp; &lt;slow>"));
  CHECK(contains(text, "1. d.json: bandwidth 3 TB/s -> 2 TB/s (2 pins)\n2. the program changed (1 pin)\n"));
  std::istringstream lines(text);
  std::set<std::ptrdiff_t> bars;
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    ++rows;
    bars.insert(std::count(line.begin(), line.end(), '|'));
  }
  CHECK(rows == 2 + 3 + 2 + 3);
  CHECK(bars.size() <= 2);
  CHECK(starts_with(gate_markdown({{pin("run same.json", {})}, {}}), "## draftline check: no changes\n"));
}

TEST_CASE("JUnit: a test case for each pin, failures with what moved and why, escaped") {
  GateReport r = two_pins();
  r.pins[0].question = "run a<b>&\"c\".json";
  r.pins[2].failure = std::string("broken: \x01 \xff <x> ]]>");
  const std::string xml = gate_junit(r);
  INFO(xml);
  CHECK(well_formed(xml));
  CHECK(contains(xml, "tests=\"3\" failures=\"3\""));
  CHECK(contains(xml, "name=\"run a&lt;b&gt;&amp;&quot;c&quot;.json\""));
  CHECK(contains(xml, "step_time 0.0100000 -&gt; 0.0120000 (+20.0 %)"));
  CHECK(contains(xml, "d.json: bandwidth 3 TB/s -&gt; 2 TB/s"));
  CHECK(contains(xml, "broken:  \uFFFD &lt;x&gt; ]]&gt;"));
  const std::string fine = gate_junit({{pin("run same.json", {})}, {}});
  CHECK(well_formed(fine));
  CHECK(contains(fine, "failures=\"0\""));
  CHECK(contains(fine, "<testcase classname=\"pins.json\" name=\"run same.json\"/>"));
  CHECK(!well_formed("<a><b></a>"));
  CHECK(!well_formed("<a>&b</a>"));
}

TEST_CASE("--json has every change with its place, and the pins that are fine") {
  GateReport r = two_pins();
  Anchored anchor;
  anchor.group = "measured";
  anchor.errors = summarize({0.2});
  anchor.pinned_median = 0.1;
  r.anchors = {anchor};
  std::ostringstream out;
  write_gate_json(out, r);
  const Json j = json(out.str());
  CHECK(j.at("fine") == false);
  REQUIRE(j.at("pins").size() == 3);
  const Json& changes = j.at("pins")[0].at("changes");
  REQUIRE(changes.size() == 5);
  CHECK(changes[3].at("at").at("batch_size") == "8");
  CHECK(changes[3].at("figure") == "step_time");
  CHECK(changes[3].at("was") == 0.010);
  CHECK(changes[3].at("is") == 0.012);
  CHECK(changes[3].at("relative").get<double>() == Approx(0.2));
  CHECK(changes[4].at("kind") == "lost");
  CHECK(j.at("pins")[2].at("changes").empty());
  CHECK(j.at("anchors")[0].at("alert") == true);
}

TEST_CASE("anchors report and never fail") {
  Anchored anchor, absent;
  anchor.group = "measured";
  anchor.errors = summarize({0.2, 0.3});
  anchor.coverage = {2, 1};
  anchor.pinned_median = 0.1;
  absent.group = "elsewhere";
  absent.left_out = "needs a file";
  const GateReport r{{pin("run same.json", {})}, {anchor, absent}};
  CHECK(r.fine());
  const std::string text = gate_text(r, 0);
  CHECK(contains(text, "ALERT: further from the measurement"));
  CHECK(contains(text, "needs a file"));
  CHECK(contains(text, "25.0 %"));
  CHECK(contains(text, "1 of 2"));
  CHECK(contains(gate_markdown(r), "### Predictions compared with measurements"));
}

TEST_CASE("a page of a check has a verdict on pins, none without any, and names the format with all rows") {
  const auto page = [](const GateReport& r) {
    std::ostringstream out;
    write_gate_page({out, Format::html, {.verb = "check", .data = {}}}, r);
    return out.str();
  };
  Anchored anchor;
  anchor.group = "measured";
  anchor.errors = summarize({0.2, 0.3});
  const std::string anchors = page({{}, {anchor}}), two = page(two_pins());
  CHECK(contains(anchors, "Predictions compared with measurements"));
  CHECK(!contains(anchors, "as approved."));
  CHECK(!contains(anchors, "class=\"verdict\""));
  CHECK(contains(two, "Predictions changed."));
  CHECK(!contains(two, "<details>"));  // no input file is listed
  std::vector<Change> many;
  for (int i = 0; i < 1200; ++i) many.push_back(moved("1", "figure_" + std::to_string(i) + "x", 1.0, 2.0));
  const std::string long_page = page({{pin("run big.json", std::move(many))}, {}});
  CHECK(contains(long_page, "The table has the first 1000 of 1200 rows; --json writes all."));
}

TEST_CASE("shortened texts keep whole characters") {
  CHECK(shortened("short", 10) == "short");
  CHECK(shortened("1234567890", 10) == "1234567890");
  CHECK(shortened("12345678901", 10) == "1234567...");
  CHECK(shortened("ééééééééééé", 10) == "ééééééé...");
}
