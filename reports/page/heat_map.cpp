// SPDX-License-Identifier: Apache-2.0
#include "reports/page/heat_map.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "reports/page/html.h"
#include "reports/page/svg.h"

namespace draftline {

namespace {

constexpr double kMapLeft = 66, kMapAbove = 22, kMapBelow = 40, kCellHeight = 30;

// Where a choice lies among those of the map, as the opacity of its colour: 0.25 to 0.8, so that text stays readable.
double shade(int choice, const std::vector<int>& choices) {
  const auto [least, most] = std::ranges::minmax(choices);
  return least == most ? 0.5 : 0.25 + 0.55 * (choice - least) / (most - least);
}

}  // namespace

std::string to_html(const HeatMap& m) {
  std::vector<int> choices;
  for (const HeatMap::Cell& c : m.cells)
    if (c.choice) choices.push_back(*c.choice);
  const double width = (kDrawingWidth - kMapLeft) / to_double(m.x.size()),
               bottom = kMapAbove + kCellHeight * to_double(m.y.size());
  std::string inside = svg_words(0, 14, "start", m.y_title);
  for (std::size_t row = 0; row < m.y.size(); ++row) {
    const double y = bottom - kCellHeight * to_double(row + 1), middle = y + kCellHeight / 2 + 4;
    inside += svg_words(kMapLeft - 6, middle, "end", m.y[row]);
    for (std::size_t column = 0; column < m.x.size(); ++column) {
      const HeatMap::Cell& cell = m.cells[row * m.x.size() + column];
      if (cell.label.empty()) continue;
      const double x = kMapLeft + width * to_double(column);
      SvgAttributes place{{"class", cell.choice ? "cell" : "cell off"},
                          {"x", svg_number(x)},
                          {"y", svg_number(y)},
                          {"width", svg_number(width)},
                          {"height", svg_number(kCellHeight)}};
      if (cell.choice) place.emplace_back("fill-opacity", significant(shade(*cell.choice, choices), 2));
      inside += svg_tag("rect", place, svg_tag("title", {}, html_text(cell.label)));
      inside += svg_words(x + width / 2, middle, "middle", cell.choice ? std::to_string(*cell.choice) : "off");
    }
  }
  for (std::size_t column = 0; column < m.x.size(); ++column)
    inside += svg_words(kMapLeft + width * (to_double(column) + 0.5), bottom + 17, "middle", m.x[column]);
  inside += svg_words(kMapLeft + (kDrawingWidth - kMapLeft) / 2, bottom + 36, "middle", m.x_title);
  return html_figure(m.title, m.values, svg_drawing(bottom + kMapBelow, m.title, inside));
}

}  // namespace draftline
