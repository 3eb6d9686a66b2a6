// SPDX-License-Identifier: Apache-2.0
// The message of the InputErrors that an action throws, and looking into it. Catch2's own matchers for parts of texts
// have different names in its two generations.
#pragma once
#include <string>
#include <string_view>

#include "core/errors.h"
#include "tests/catch.h"

namespace draftline {

template <class Action>
std::string mistake_of(Action action) {
  try {
    action();
  } catch (const InputErrors& e) { return e.what(); }
  return "none";
}

// The text is shown if the check around this fails.
inline bool contains(std::string_view text, std::string_view part) {
  UNSCOPED_INFO("in: " << text);
  return text.find(part) != std::string_view::npos;
}
inline bool starts_with(std::string_view text, std::string_view part) {
  UNSCOPED_INFO("in: " << text);
  return text.starts_with(part);
}
inline bool ends_with(std::string_view text, std::string_view part) {
  UNSCOPED_INFO("in: " << text);
  return text.ends_with(part);
}

}  // namespace draftline
