// SPDX-License-Identifier: Apache-2.0
// What every fuzz target does with an input: mistakes in it may be told as InputErrors; whatever else is thrown, and
// every figure that is no number, ends the program.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace draftline::fuzz {

inline const std::filesystem::path kData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

template <class Use>
void told(Use use) {
  try {
    use();
  } catch (const InputErrors& e) { check(!e.messages().empty(), "a mistake without a message"); }
}

// A figure that is printed: a number, not below zero.
inline void is_figure(double value, std::string_view name) {
  check(std::isfinite(value) && value >= 0, "the figure \"" + std::string(name) + "\" is " + std::to_string(value));
}

}  // namespace draftline::fuzz
