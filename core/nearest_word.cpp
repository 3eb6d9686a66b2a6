// SPDX-License-Identifier: Apache-2.0
#include "core/nearest_word.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/engine_options.h"
#include "core/utf8.h"

namespace draftline {

static constexpr std::size_t kLongest = 64;  // longer words are no names; also bounds the work on hostile input

// Optimal string alignment: insertions, deletions, substitutions, swaps of neighbours, each at cost 1.
static std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

template <class Word>
static std::optional<std::string> nearest(std::string_view word, std::span<const Word> known) {
  const Word* best = nullptr;
  std::size_t least = 0;
  if (word.size() > kLongest) return std::nullopt;
  for (const Word& k : known) {
    if (k.size() > kLongest) continue;
    const std::size_t longer = std::max(word.size(), k.size());
    const std::size_t d = edit_distance(word, k);
    if (d < longer && d <= std::max<std::size_t>(1, longer / 3) && (!best || d < least)) {
      best = &k;
      least = d;
    }
  }
  return best ? std::optional<std::string>(*best) : std::nullopt;
}

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known) {
  return nearest(word, known);
}

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string_view> known) {
  return nearest(word, known);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  auto near = key_of_option(word, known);
  if (!near) near = nearest_word(word, known);
  return near ? "; did you mean \"" + *near + "\"?" : "";
}

}  // namespace draftline
