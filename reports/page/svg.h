// SPDX-License-Identifier: Apache-2.0
// Elements of drawings in HTML pages. Places and sizes are in pixels of a drawing that is as wide as kDrawingWidth.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace draftline {

// Half the width of a page for a desk: two or three drawings lie side by side, and text in one is readable on a phone.
inline constexpr double kDrawingWidth = 480;

std::string svg_number(double);  // with one decimal

// An element with attributes, as name and value: svg_tag("line", {{"x1", svg_number(1)}, ..}).
using SvgAttributes = std::vector<std::pair<std::string_view, std::string>>;
std::string svg_tag(std::string_view name, const SvgAttributes&);
std::string svg_tag(std::string_view name, const SvgAttributes&, const std::string& inside);  // `inside`: elements
// Text; `anchor`: the part of it that is at the place: "start", "middle" or "end".
std::string svg_words(double x, double y, std::string_view anchor, const std::string& text);
std::string svg_drawing(double height, const std::string& title, const std::string& inside);  // the element <svg>
// A figure with its title, and what its values are, above the drawing.
std::string html_figure(const std::string& title, const std::string& values, const std::string& drawing);

}  // namespace draftline
