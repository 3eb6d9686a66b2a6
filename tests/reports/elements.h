// SPDX-License-Identifier: Apache-2.0
// What can be checked of HTML and SVG without a browser.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

inline int count_of(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++n;
  return n;
}

// A page without the scripts at its end and without the data of an explorer, whose texts are no elements.
inline std::string without_scripts(std::string text) {
  for (std::size_t at = 0; (at = text.find("<script", at)) != std::string::npos;) {
    const std::size_t inside = text.find('>', at) + 1, end = text.find("</script>", inside);
    if (end == std::string::npos) return text;
    text.erase(at, end + 9 - at);
  }
  return text;
}

// The classes of a series, by its name below a chart: how it looks.
inline std::string look_of(std::string_view chart, std::string_view series) {
  constexpr std::string_view kItem = "<li class=\"";
  const std::size_t name = chart.find("\n" + std::string(series) + "</li>"), item = chart.rfind(kItem, name);
  if (name == std::string_view::npos || item == std::string_view::npos) return "";
  const std::string_view look = chart.substr(item + kItem.size());
  return std::string(look.substr(0, look.find('"')));
}

// The first element that is closed but not open, or never closed; "" if there is none. Elements without an end are
// `meta`, the declaration and what ends in "/>".
inline std::string badly_nested(std::string_view text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string_view::npos; ++at) {
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) return std::string(text.substr(at));
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    const bool closes = tag.starts_with('/');
    const std::string name(tag.substr(closes ? 1 : 0, tag.find_first_of(" \n", closes ? 1 : 0)));
    if (tag.ends_with('/') || tag.starts_with('!') || name == "meta") continue;
    if (!closes) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name) return name;
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

}  // namespace draftline
