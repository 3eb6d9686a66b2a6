// SPDX-License-Identifier: Apache-2.0
#include "reports/page/bars.h"

#include <algorithm>
#include <numeric>

#include "reports/page/html.h"
#include "reports/page/svg.h"
#include "reports/table.h"

namespace draftline {

namespace {

constexpr double kRowHeight = 38, kBarHeight = 14, kNameHeight = 17;

double total_of(const Bars::Row& row) { return std::accumulate(row.parts.begin(), row.parts.end(), 0.0); }

std::string rectangle(double x, double y, double width, const std::string& inside) {
  return svg_tag("rect",
                 {{"class", "part"},
                  {"x", svg_number(x)},
                  {"y", svg_number(y)},
                  {"width", svg_number(width)},
                  {"height", svg_number(kBarHeight)}},
                 inside);
}

}  // namespace

std::string to_html(const Bars& b, SeriesStyles& of_page) {
  if (b.rows.empty()) return "";
  double longest = 0;
  for (const Bars::Row& row : b.rows) longest = std::max(longest, total_of(row));
  std::vector<std::string> styles;
  for (const std::string& part : b.parts) styles.push_back(of_page.of(part));
  std::string inside;
  double y = 0;
  for (const Bars::Row& row : b.rows) {
    const double total = total_of(row);
    inside += svg_words(0, y + kNameHeight - 4, "start", row.name);
    inside += svg_words(kDrawingWidth, y + kNameHeight - 4, "end", b.text(total));
    double x = 0;
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
      const double width = longest > 0 ? kDrawingWidth * row.parts[i] / longest : 0;
      if (row.parts[i] <= 0) continue;
      const std::string label =
          row.name + "\n" + b.parts[i] + ": " + b.text(row.parts[i]) + " (" + percent(row.parts[i] / total) + ")";
      inside += svg_tag("g", {{"class", styles[i]}},
                        rectangle(x, y + kNameHeight, width, svg_tag("title", {}, html_text(label))));
      x += width;
    }
    y += kRowHeight;
  }
  std::string names;
  for (std::size_t i = 0; i < b.parts.size(); ++i)
    if (std::ranges::any_of(b.rows, [&](const Bars::Row& row) { return row.parts[i] > 0; }))
      names += svg_tag("li", {{"class", styles[i]}},
                       svg_tag("svg", {{"viewBox", "0 0 22 12"}, {"class", "key"}},
                               svg_tag("rect", {{"class", "part"}, {"width", "22"}, {"height", "12"}})) +
                           html_text(b.parts[i]));
  return html_figure(b.title, b.values,
                     svg_drawing(y, b.title, inside) + svg_tag("ul", {{"class", "names"}}, "\n" + names));
}

}  // namespace draftline
