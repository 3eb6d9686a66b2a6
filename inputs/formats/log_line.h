// SPDX-License-Identifier: Apache-2.0
// Figures in the lines of a server's log.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace draftline {

// The next line of a text, which loses it; none at its end.
std::optional<std::string_view> next_line(std::string_view& text);
// The number behind a word: number_after("#running-req: 8, ..", "#running-req:") is 8. None if there is none, or it is
// negative or not finite.
std::optional<double> number_after(std::string_view line, std::string_view word);
// The numbers behind a word, separated by commas, perhaps in brackets.
std::vector<double> numbers_after(std::string_view line, std::string_view word);

}  // namespace draftline
