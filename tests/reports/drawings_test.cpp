// SPDX-License-Identifier: Apache-2.0
// Stacked bars, maps of a choice, and charts as text.
#include "core/quantity_text.h"
#include "reports/page/bars.h"
#include "reports/page/heat_map.h"
#include "reports/page/text_chart.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

namespace {

// The values of an attribute of the elements with a class, in order.
std::vector<double> values_of(const std::string& html, const std::string& element, const std::string& attribute) {
  std::vector<double> values;
  for (std::size_t at = 0; (at = html.find(element, at)) != std::string::npos; ++at) {
    const std::size_t end = html.find('>', at), found = html.find(" " + attribute + "=\"", at);
    if (found < end) values.push_back(std::stod(html.substr(found + attribute.size() + 3)));
  }
  return values;
}

Bars two_bars() {
  Bars b;
  b.title = "a step";
  b.text = [](double v) { return to_text(Seconds{v}); };
  b.parts = {"draft", "verify", "communication"};
  b.rows = {{"plain", {0, 0.01, 0}}, {"eagle3 <k>", {0.005, 0.015, 0}}};
  return b;
}

}  // namespace

TEST_CASE("stacked bars are as long as their parts, beside each other, and say what they are") {
  SeriesStyles styles;
  const std::string html = to_html(two_bars(), styles);
  CHECK(badly_nested(html) == "");
  // 480 pixels are the longest total, 20 ms: 10 ms are 240, 5 ms 120, 15 ms 360. The last two are the keys.
  CHECK(values_of(html, "<rect class=\"part\"", "width") == std::vector<double>{240, 120, 360, 22, 22});
  CHECK(values_of(html, "<rect class=\"part\"", "x") == std::vector<double>{0, 0, 120});
  CHECK(contains(html, "<title>eagle3 &lt;k&gt;\ndraft: 5.00 ms (25 %)</title>"));
  CHECK(contains(html, ">20.0 ms</text>"));
  CHECK(!contains(html, "communication"));  // a part of no row has no key
  CHECK(to_html(Bars{}, styles).empty());
}

TEST_CASE("a map has the choice of each cell, grey where nothing is chosen, and nothing where nothing is known") {
  HeatMap m;
  m.title = "Best k";
  m.x_title = "batch size";
  m.y_title = "prompt tokens";
  m.x = {"1", "64"};
  m.y = {"512", "8192"};
  m.cells = {{5, "k 5 at 1, 512"}, {1, "k 1"}, {{}, "no length gains"}, {{}, ""}};
  const std::string html = to_html(m);
  CHECK(badly_nested(html) == "");
  CHECK(count_of(html, "class=\"cell\"") == 2);
  CHECK(count_of(html, "class=\"cell off\"") == 1);
  CHECK(count_of(html, ">off</text>") == 1);
  CHECK(values_of(html, "<rect class=\"cell\"", "fill-opacity") == std::vector<double>{0.8, 0.25});  // larger is darker
  CHECK(values_of(html, "<rect class=\"cell", "y") == std::vector<double>{52, 52, 22});              // from the bottom
  CHECK(contains(html, ">prompt tokens</text>"));
  CHECK(contains(html, "<title>no length gains</title>"));
}

TEST_CASE("a chart as text has each series at its height, and a line at its level") {
  Chart c;
  c.title = "speedup";
  c.y.title = "over plain";
  c.x = {"batch size", true, nullptr, true};
  c.level = 1;
  c.series = {{"k 1", {{1, 2}, {8, 2}, {64, 0}}}, {"k 3", {{1, 3}, {8, 2}, {64, 1}}}};
  const std::string text = to_text(c, 40);
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  CHECK(lines.front() == "speedup, over plain");
  CHECK(lines.back() == "a: k 1   b: k 3   *: several");
  const auto line_with = [&](const std::string& part, const std::string& other = "") {
    for (std::size_t i = 1; i + 1 < lines.size(); ++i)
      if (contains(lines[i], part) && contains(lines[i], other)) return i;
    return std::size_t{0};
  };
  REQUIRE(line_with("b") > 0);
  CHECK(line_with("b") < line_with("*"));         // 3 is above 2, where both lie
  CHECK(line_with("*") < line_with("|", "---"));  // 2 above the level, which is no axis
  CHECK(contains(lines[line_with("b")], "3"));    // the mark of the axis
  for (const std::string& line : lines) CHECK(line.size() <= 40);
  CHECK(to_text(Chart{}, 40).empty());
}

}  // namespace draftline
