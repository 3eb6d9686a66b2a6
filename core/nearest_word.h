// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?": the word of a list that a slip of the pen would have turned into what was written.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

// Edit distance with transpositions; near enough is at most a third of the longer word, and never the whole of it.
// Upper and lower case count as equal; among equals the first wins.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string_view> known);

// `; did you mean "draft_length"?`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace draftline
