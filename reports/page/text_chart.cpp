// SPDX-License-Identifier: Apache-2.0
#include "reports/page/text_chart.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "reports/page/scale.h"
#include "reports/table.h"

namespace draftline {

namespace {

constexpr std::size_t kLines = 16, kMargin = 8, kUsual = 80, kWidest = 120, kNarrowest = 30;

std::string text_of_value(const ChartAxis& axis, double v) { return axis.text ? axis.text(v) : significant(v); }
std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(own < width ? width - own : 0, ' ') + text;
}
bool is_drawn(const ChartAxis& axis, double v) { return std::isfinite(v) && (!axis.logarithmic || v > 0); }

// The characters of a chart, from the top.
class Canvas {
 public:
  Canvas(const Chart& c, std::size_t columns)
      : chart_(c),
        x_(c.x.logarithmic, values(true), 0, to_double(columns - 1), c.x.few_values, 6),
        y_(c.y.logarithmic, values(false), to_double(kLines - 1), 0, c.y.few_values, 3),
        lines_(kLines, std::string(columns, ' ')) {}

  std::string text() {
    if (chart_.level) lines_[line_of(*chart_.level)] = std::string(lines_.front().size(), '-');
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw(i);
    std::vector<std::string> margin(kLines, std::string(kMargin, ' '));
    for (const double v : y_.ticks()) margin[line_of(v)] = right_aligned(text_of_value(chart_.y, v), kMargin);
    std::string all;
    for (std::size_t i = 0; i < kLines; ++i) {
      std::string line = margin[i] + " |" + lines_[i];
      line.erase(line.find_last_not_of(' ') + 1);
      all += line + "\n";
    }
    return all + std::string(kMargin + 1, ' ') + "+" + std::string(lines_.front().size(), '-') + "\n" + below();
  }

 private:
  std::vector<double> values(bool along_x) const {
    std::vector<double> all;
    for (const Series& s : chart_.series)
      for (const ChartPoint& p : s.points)
        if (is_drawn(chart_.x, p.x) && is_drawn(chart_.y, p.y)) all.push_back(along_x ? p.x : p.y);
    if (!along_x && chart_.level) all.push_back(*chart_.level);
    return all;
  }
  std::size_t line_of(double v) const {
    return at(std::clamp<std::int64_t>(std::llround(y_.place(v)), 0, to_int64(kLines) - 1));
  }
  std::size_t column_of(double v) const {
    return at(std::clamp<std::int64_t>(std::llround(x_.place(v)), 0, to_int64(lines_.front().size()) - 1));
  }
  void draw(std::size_t series) {
    const char letter = static_cast<char>('a' + series % 26);
    for (const ChartPoint& p : chart_.series[series].points) {
      if (!is_drawn(chart_.x, p.x) || !is_drawn(chart_.y, p.y)) continue;
      char& place = lines_[line_of(p.y)][column_of(p.x)];
      place = place == ' ' || place == '-' || place == letter ? letter : '*';
    }
  }
  std::string below() const {
    std::string marks(kMargin + 2 + lines_.front().size(), ' ');
    for (const double v : x_.ticks()) {
      const std::string text = text_of_value(chart_.x, v);
      const std::size_t middle = kMargin + 2 + column_of(v), from = middle - std::min(middle, text.size() / 2);
      if (from + text.size() <= marks.size()) marks.replace(from, text.size(), text);
    }
    marks.erase(marks.find_last_not_of(' ') + 1);
    return marks + "\n" + right_aligned(chart_.x.title, kMargin + 2 + lines_.front().size()) + "\n";
  }

  const Chart& chart_;
  const Scale x_, y_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string to_text(const Chart& c, std::size_t width) {
  if (c.empty()) return "";
  const std::size_t whole = std::clamp(width == 0 ? kUsual : width, kNarrowest, kWidest);
  std::string text = c.title + ", " + c.y.title + "\n" + Canvas(c, whole - kMargin - 2).text();
  for (std::size_t i = 0; i < c.series.size(); ++i)
    text += (i == 0 ? "" : "   ") + std::string(1, static_cast<char>('a' + i % 26)) + ": " + c.series[i].name;
  return text + (c.series.size() > 1 ? "   *: several" : "") + "\n";
}

}  // namespace draftline
