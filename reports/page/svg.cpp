// SPDX-License-Identifier: Apache-2.0
#include "reports/page/svg.h"

#include <array>
#include <cstdio>

#include "reports/page/html.h"

namespace draftline {

std::string svg_number(double v) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", v);
  return text.data();
}

static std::string opened(std::string_view name, const SvgAttributes& attributes) {
  std::string text = "<" + std::string(name);
  for (const auto& [key, value] : attributes) text += " " + std::string(key) + "=\"" + html_text(value) + "\"";
  return text;
}

std::string svg_tag(std::string_view name, const SvgAttributes& attributes) {
  return opened(name, attributes) + "/>\n";
}

std::string svg_tag(std::string_view name, const SvgAttributes& attributes, const std::string& inside) {
  return opened(name, attributes) + ">" + inside + "</" + std::string(name) + ">\n";
}

std::string svg_words(double x, double y, std::string_view anchor, const std::string& text) {
  return svg_tag("text", {{"x", svg_number(x)}, {"y", svg_number(y)}, {"text-anchor", std::string(anchor)}},
                 html_text(text));
}

std::string svg_drawing(double height, const std::string& title, const std::string& inside) {
  return svg_tag("svg",
                 {{"viewBox", "0 0 " + svg_number(kDrawingWidth) + " " + svg_number(height)},
                  {"role", "img"},
                  {"aria-label", title}},
                 "\n" + inside);
}

std::string html_figure(const std::string& title, const std::string& values, const std::string& drawing) {
  const std::string of = values.empty() ? "" : "<span>" + html_text(values) + "</span>";
  return "<figure>\n<figcaption>" + html_text(title) + of + "</figcaption>\n" + drawing + "</figure>\n";
}

}  // namespace draftline
