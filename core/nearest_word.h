// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?": the word of a list that is nearest to a misspelt one.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

// The known word with the least edit distance (optimal string alignment: insertions, deletions, substitutions and swaps
// of neighbours). None if the least distance exceeds a third of the longer word (or 1). Case is ignored; of equally
// near words the first is returned.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string_view> known);

// The text `; did you mean "draft_length"?`. It is "" if no known word is near and `word` is not a serving engine's or
// a benchmark's name for a known word ("tp_size", "isl").
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace draftline
