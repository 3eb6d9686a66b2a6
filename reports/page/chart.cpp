// SPDX-License-Identifier: Apache-2.0
#include "reports/page/chart.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "reports/page/html.h"
#include "reports/page/label_places.h"
#include "reports/page/scale.h"
#include "reports/page/svg.h"

namespace draftline {

namespace {

// Places in pixels.
constexpr double kLeft = 60, kTop = 10, kRight = 18, kWidth = kDrawingWidth - kLeft - kRight, kHeight = 220,
                 kBelow = 44;
constexpr double kGapOfX = 38, kGapOfY = 18;      // at least, between marks of an axis: the room of their texts
constexpr double kWidthOfLetter = 7;              // of these texts, about
constexpr std::size_t kColours = 8, kDashes = 3;  // of html_page; further series are dashed

bool drawable(const ChartAxis& axis, double v) { return std::isfinite(v) && (!axis.logarithmic || v > 0); }
bool drawable(const Chart& c, const ChartPoint& p) { return drawable(c.x, p.x) && drawable(c.y, p.y); }

std::string tick_text(const ChartAxis& axis, double v) { return axis.text ? axis.text(v) : significant(v); }
// The text of a mark. A round value needs fewer digits: "5 ms" for "5.00 ms".
std::string mark_text(const ChartAxis& axis, double v) {
  const std::string text = tick_text(axis, v), number = text.substr(0, text.find(' '));
  const auto last = number.find_last_not_of('0');
  if (number.find('.') == std::string::npos || number.find('e') != std::string::npos) return text;
  return number.substr(0, number[last] == '.' ? last : last + 1) + text.substr(number.size());
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return svg_tag("line", {{"class", std::string(kind)},
                          {"x1", svg_number(x1)},
                          {"y1", svg_number(y1)},
                          {"x2", svg_number(x2)},
                          {"y2", svg_number(y2)}});
}
std::string dot(double x, double y, const std::string& inside, bool seen = true) {
  SvgAttributes place{{"cx", svg_number(x)}, {"cy", svg_number(y)}, {"r", "3.5"}};
  if (!seen) place.emplace_back("class", "ghost");
  return svg_tag("circle", place, inside);
}

class Drawing {
 public:
  Drawing(const Chart& c, const std::vector<std::string>& styles)
      : chart_(c),
        styles_(styles),
        x_(c.x.logarithmic, values_of_x(), kLeft, kLeft + kWidth, c.x.few_values, gap_of_x()),
        y_(c.y.logarithmic, values_of_y(), kTop + kHeight, kTop, c.y.few_values, kGapOfY) {}

  std::string svg() const {
    std::string inside = axes();
    if (chart_.level) inside += level();
    inside += limits();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) inside += series(i);
    inside += names();
    return svg_drawing(kTop + kHeight + kBelow, chart_.title, inside);
  }

 private:
  std::vector<double> values_of_x() const {
    std::vector<double> values;
    for (const Series& s : chart_.series)
      for (const ChartPoint& p : s.points)
        if (drawable(chart_, p)) values.push_back(p.x);
    for (const Chart::Limit& limit : chart_.limits)
      if (drawable(chart_.x, limit.x)) values.push_back(limit.x);
    return values;
  }
  // The room of the longest text: "100 ms" needs more than "128".
  double gap_of_x() const {
    double gap = kGapOfX;
    for (const double v : values_of_x())
      gap = std::max(gap, kWidthOfLetter * to_double(mark_text(chart_.x, v).size() + 1));
    return gap;
  }
  std::vector<double> values_of_y() const {
    std::vector<double> values;
    const auto note = [&](double v) {
      if (drawable(chart_.y, v)) values.push_back(v);
    };
    for (const Series& s : chart_.series)
      for (const ChartPoint& p : s.points) {
        if (!drawable(chart_, p)) continue;
        note(p.y);
        if (p.interval) note(p.interval->low), note(p.interval->high);
      }
    if (chart_.level) note(*chart_.level);
    return values;
  }

  std::string axes() const {
    const double bottom = kTop + kHeight, right = kLeft + kWidth;
    std::string text;
    for (const double v : x_.ticks()) {
      text += line("grid", x_.place(v), kTop, x_.place(v), bottom);
      text += svg_words(x_.place(v), bottom + 18, "middle", mark_text(chart_.x, v));
    }
    for (const double v : y_.ticks()) {
      text += line("grid", kLeft, y_.place(v), right, y_.place(v));
      text += svg_words(kLeft - 8, y_.place(v) + 4, "end", mark_text(chart_.y, v));
    }
    return text + svg_words(kLeft + kWidth / 2, bottom + 40, "middle", chart_.x.title);
  }

  std::string level() const {
    const double y = y_.place(*chart_.level);
    return line("level", kLeft, y, kLeft + kWidth, y) + svg_words(kLeft + 6, y - 5, "start", chart_.level_name);
  }

  std::string limits() const {
    std::string text;
    double y = kTop + 12;
    for (const Chart::Limit& limit : chart_.limits) {
      if (!drawable(chart_.x, limit.x)) continue;
      const double x = x_.place(limit.x);
      const bool at_right = x > kLeft + kWidth / 2;
      text += line("level", x, kTop, x, kTop + kHeight);
      text += svg_words(x + (at_right ? -5 : 5), y, at_right ? "end" : "start", limit.name);
      y += 15;
    }
    return text;
  }

  std::string pointed_at(const Series& s, const ChartPoint& p) const {
    std::string text = s.name + "\n" + chart_.x.title + ": " + mark_text(chart_.x, p.x) + "\n" + chart_.y.title + ": " +
                       tick_text(chart_.y, p.y);
    if (p.interval)
      text += " (" + tick_text(chart_.y, p.interval->low) + " to " + tick_text(chart_.y, p.interval->high) + ")";
    return p.label.empty() ? text : text + "\n" + p.label;
  }

  std::string at(double x, double y) const { return svg_number(x_.place(x)) + "," + svg_number(y_.place(y)) + " "; }

  std::string series(std::size_t index) const {
    const Series& s = chart_.series[index];
    std::vector<ChartPoint> points;
    for (const ChartPoint& p : s.points)
      if (drawable(chart_, p)) points.push_back(p);
    std::string path, upper, lower, bars, dots;
    for (const ChartPoint& p : points) {
      path += at(p.x, p.y);
      dots += dot(x_.place(p.x), y_.place(p.y), svg_tag("title", {}, html_text(pointed_at(s, p))), p.dot);
      if (!p.interval || !drawable(chart_.y, p.interval->low) || !drawable(chart_.y, p.interval->high)) continue;
      upper += at(p.x, p.interval->high);
      lower = at(p.x, p.interval->low) + lower;
      bars += line("bar", x_.place(p.x), y_.place(p.interval->low), x_.place(p.x), y_.place(p.interval->high));
    }
    std::string inside;
    if (!s.joined) inside = bars;
    else if (points.size() > 1)
      inside = svg_tag("polygon", {{"points", upper + lower}}) + svg_tag("polyline", {{"points", path}});
    return svg_tag("g", {{"class", styles_[index]}}, "\n" + inside + dots);
  }

  // The names of points, as far as they have room: the first series' first.
  std::string names() const {
    LabelPlaces places({kLeft, kTop - 8, kLeft + kWidth + kRight, kTop + kHeight});
    std::vector<const ChartPoint*> named;
    for (const Series& s : chart_.series)
      for (const ChartPoint& p : s.points) {
        if (!drawable(chart_, p)) continue;
        places.keep_clear(x_.place(p.x), y_.place(p.y));
        if (!p.name.empty()) named.push_back(&p);
      }
    std::string text;
    for (const ChartPoint* p : named)
      if (const auto at = places.beside(x_.place(p->x), y_.place(p->y), p->name.size()))
        text += svg_tag("text",
                        {{"class", "name"},
                         {"x", svg_number(at->x)},
                         {"y", svg_number(at->y)},
                         {"text-anchor", at->ends ? "end" : "start"}},
                        html_text(p->name));
    return text;
  }

  const Chart& chart_;
  const std::vector<std::string>& styles_;  // by series
  const Scale x_, y_;
};

}  // namespace

bool Chart::empty() const {
  return std::ranges::none_of(series, [&](const Series& s) {
    return std::ranges::any_of(s.points, [&](const ChartPoint& p) { return drawable(*this, p); });
  });
}

// The names of the series, each behind its line or its point.
static std::string names_of(const Chart& c, const std::vector<std::string>& styles) {
  std::string items;
  for (std::size_t i = 0; i < c.series.size(); ++i) {
    const std::string key = c.series[i].joined ? line("key", 0, 6, 22, 6) : dot(11, 6, "");
    items += svg_tag("li", {{"class", styles[i]}},
                     svg_tag("svg", {{"viewBox", "0 0 22 12"}, {"class", "key"}}, key) + html_text(c.series[i].name));
  }
  return svg_tag("ul", {{"class", "names"}}, "\n" + items);
}

std::string SeriesStyles::of(const std::string& series) {
  const auto number = at(std::ranges::find(names_, series) - names_.begin());
  if (number == names_.size()) names_.push_back(series);
  return "c" + std::to_string(number % kColours) + " d" + std::to_string(number / kColours % kDashes);
}

std::string to_html(const Chart& c, SeriesStyles& of_page) {
  if (c.empty()) return "";
  std::vector<std::string> styles;
  for (const Series& s : c.series) styles.push_back(of_page.of(s.name));
  return html_figure(c.title, c.y.title, Drawing(c, styles).svg() + names_of(c, styles));
}

bool far_apart(const std::vector<double>& values) {
  constexpr double kFar = 8;
  if (values.empty()) return false;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 && *high >= kFar * *low;
}

}  // namespace draftline
