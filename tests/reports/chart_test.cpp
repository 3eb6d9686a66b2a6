// SPDX-License-Identifier: Apache-2.0
// Scales of axes, and what is drawn of a chart.
#include "reports/page/chart.h"

#include <cmath>

#include "core/quantity_text.h"
#include "reports/page/chart_set.h"
#include "reports/page/label_places.h"
#include "reports/page/scale.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

TEST_CASE("a linear axis has round marks, and begins at 0 where that costs little of it") {
  const Scale s(false, {3, 10}, 0, 104, false);
  CHECK(s.ticks() == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(s.place(0) == Approx(0));
  CHECK(s.place(10) == Approx(100));  // 4 % are margin
  const Scale near(false, {90, 100}, 0, 108, false);
  CHECK(near.place(90) == Approx(4));
  CHECK(near.place(100) == Approx(104));
}

TEST_CASE("a logarithmic axis gives equal ratios equal room") {
  const Scale s(true, {1, 4, 16, 64}, 0, 300, true);
  CHECK(s.place(4) - s.place(1) == Approx(s.place(64) - s.place(16)));
  CHECK(s.ticks() == std::vector<double>{1, 4, 16, 64});  // the few values themselves
  CHECK(Scale(true, {1, 64}, 0, 300, false).ticks() == std::vector<double>{1, 2, 5, 10, 20, 50});
  CHECK(Scale(true, {1, 1e6}, 0, 300, false).ticks() == std::vector<double>{1, 10, 100, 1000, 1e4, 1e5, 1e6});
}

TEST_CASE("values that are marked but too close to be read give way to round ones") {
  std::vector<double> close;
  for (int i = 1; i <= 12; ++i) close.push_back(i);
  CHECK(Scale(false, close, 0, 520, true).ticks() == close);
  CHECK(Scale(false, close, 0, 200, true).ticks().size() < 8);
  close.push_back(1.01);
  CHECK(Scale(false, close, 0, 520, true).ticks().size() < 8);
}

TEST_CASE("an axis of a single value has room around it") {
  CHECK(Scale(false, {0}, 0, 100, false).place(0) == 0);  // nothing is negative
  for (const bool logarithmic : {false, true})
    for (const double v : {5.0, -3.0}) {
      if (logarithmic && v <= 0) continue;
      const Scale s(logarithmic, {v}, 0, 100, false);
      CHECK(s.place(v) > 10);
      CHECK(s.place(v) < 90);
    }
}

static Chart two_lines() {
  Chart c;
  c.title = "speed";
  c.x = {"batch size", true, nullptr, true};
  c.y = {"tokens/s", false, [](double s) { return to_text(Seconds{s}); }};
  c.series = {{"a", {{1, 0.005}, {8, 0.010, Interval{0.009, 0.012}}}}, {"b", {{1, 0.001, {}, "of <b>"}, {8, NAN}}}};
  return c;
}

// Of a chart alone on its page.
static std::string html_of(const Chart& c) {
  SeriesStyles styles;
  return to_html(c, styles);
}

TEST_CASE("each value that can be drawn is a point that says what it is") {
  const std::string html = html_of(two_lines()), svg = html.substr(0, html.find("<ul"));
  CHECK(badly_nested(html) == "");
  CHECK(count_of(svg, "<circle") == 3);
  CHECK(contains(svg, "<title>a\nbatch size: 8\ntokens/s: 10.0 ms (9.00 ms to 12.0 ms)</title>"));
  CHECK(contains(svg, "<title>b\nbatch size: 1\ntokens/s: 1.00 ms\nof &lt;b&gt;</title>"));
  CHECK(contains(svg, ">5 ms</text>"));    // a round mark has no more digits than it needs
  CHECK(count_of(svg, "<polyline") == 1);  // one point makes no line
  Chart zero = two_lines();
  for (ChartPoint& p : zero.series[0].points) p.x = 0;  // which a logarithmic axis does not have
  CHECK(count_of(html_of(zero), "<circle") == 1);
}

TEST_CASE("points lie where the scales say, higher values higher up") {
  Chart c;
  c.series = {{"s", {{0, 1}, {10, 2}, {20, 3}}, false}};
  const std::string svg = html_of(c);
  std::vector<double> x, y;
  for (std::size_t at = 0; (at = svg.find("<circle cx=\"", at)) != std::string::npos; ++at) {
    x.push_back(std::stod(svg.substr(at + 12)));
    y.push_back(std::stod(svg.substr(svg.find("cy=\"", at) + 4)));
  }
  REQUIRE(x.size() == 4);  // the last is the key before its name
  CHECK(x[1] - x[0] == Approx(x[2] - x[1]).margin(0.11));
  CHECK(y[0] - y[1] == Approx(y[1] - y[2]).margin(0.11));
  CHECK(x[1] > x[0]);
  CHECK(y[1] < y[0]);
}

TEST_CASE("values that differ by rounding alone are one, and prices below 1e-4 keep their exponent") {
  const double v = 0.016100000000000001;
  const Scale s(false, {v, std::nextafter(v, 1.0)}, 0, 100, false);
  CHECK(s.ticks().size() <= 7);
  CHECK(s.place(v) > 10);
  CHECK(s.place(v) < 90);
  CHECK(s.place(1.01 * v) - s.place(v) < 2);  // not zoomed into the last bit
  Chart c;
  c.y.text = [](double d) { return significant(d, 4); };
  c.series = {{"s", {{0, 6e-10}, {1, 2e-9}}}};
  CHECK(contains(html_of(c), ">1.000e-09</text>"));
}

TEST_CASE("a chart without a point that can be drawn is nothing") {
  CHECK(html_of({}).empty());
  Chart c = two_lines();
  for (Series& s : c.series)
    for (ChartPoint& p : s.points) p.y = INFINITY;
  CHECK(html_of(c).empty());
}

TEST_CASE("a series looks the same in every chart of a page, and like no other") {
  Chart before = two_lines(), other = two_lines();
  before.series.erase(before.series.begin());                 // "b" alone
  other.series.push_back(Series{"c", {{1, 0.001}, {8, 1}}});  // "a", "b", "c"
  SeriesStyles page;
  const std::string first = to_html(before, page), second = to_html(other, page);
  CHECK(look_of(first, "b") == "c0 d0");
  CHECK(look_of(second, "b") == "c0 d0");
  CHECK(look_of(second, "a") == "c1 d0");
  CHECK(look_of(second, "c") == "c2 d0");
  CHECK(count_of(second, "<g class=\"c0 d0\">") == 1);  // its line as well as its name
  for (int i = 0; i < 21; ++i) page.of(std::to_string(i));
  CHECK(page.of("20") == "c7 d2");  // the last of 24
  CHECK(page.of("d") == "c0 d0");
}

TEST_CASE("a point's name is written beside it, and left out where it would cover others or leave the chart") {
  LabelPlaces places({0, 0, 200, 100});
  places.keep_clear(50, 50);
  const auto first = places.beside(50, 50, 10);
  REQUIRE(first);
  CHECK(first->x > 50);
  CHECK(first->y < 50);
  CHECK(!first->ends);
  const auto last = places.beside(190, 50, 10);  // a text of ten characters ends outside unless it ends at the point
  REQUIRE(last);
  CHECK(last->x < 190);
  CHECK(last->ends);
  CHECK(!places.beside(100, 50, 40));
  LabelPlaces crowded({0, 0, 200, 100});
  for (const double x : {93.0, 100.0, 107.0}) crowded.keep_clear(x, 50);
  int written = 0;
  for (int i = 0; i < 20; ++i) written += crowded.beside(100, 50, 10) ? 1 : 0;
  CHECK(written > 0);
  CHECK(written < 6);
}

TEST_CASE("of points in one place few names are written, those of the first") {
  Chart c;
  c.series = {{"s", {{0, 0}, {10, 10}}, false}};
  for (int i = 0; i < 20; ++i) c.series[0].points.push_back({5, 5, {}, {}, "fleet <" + std::to_string(i) + ">"});
  const std::string html = html_of(c);
  CHECK(badly_nested(html) == "");
  CHECK(contains(html, ">fleet &lt;0&gt;</text>"));
  CHECK(count_of(html, "<text class=\"name\"") >= 1);
  CHECK(count_of(html, "<text class=\"name\"") < 6);
}

TEST_CASE("charts of one kind are told apart by their subtitles, and say when they are too many") {
  Chart common;
  common.title = "speed";
  ChartSet set(common);
  set.add("", "a", {1, 1});
  set.add("TP 2", "a", {1, 2});
  set.add("TP 2", "b", {1, 3});
  set.add("", "a", {0.5, 4});
  REQUIRE(set.charts().size() == 2);
  CHECK(set.charts()[0].title == "speed");
  CHECK(set.charts()[1].title == "speed: TP 2");
  REQUIRE(set.charts()[0].series[0].points.size() == 2);
  CHECK(set.charts()[0].series[0].points[0].x == 0.5);  // a line goes from left to right
  CHECK(set.charts(false)[0].series[0].points[0].x == 1);
  CHECK(set.charts()[1].series[1].name == "b");
  CHECK(set.left_out() == "");
  for (int i = 0; i < 24; ++i) set.add("TP 2", std::to_string(i), {1, 1});
  CHECK(set.charts()[1].series.size() == 24);
  CHECK(set.left_out() == "Only the first 24 curves of a chart are drawn; the table has all.");
  for (int i = 0; i < 12; ++i) set.add(std::to_string(i), "a", {1, 1});
  CHECK(set.charts().size() == 12);
  CHECK(set.left_out() == "Only the first 12 setups are drawn, and the first 24 curves of a chart; the table has all.");
}

}  // namespace draftline
