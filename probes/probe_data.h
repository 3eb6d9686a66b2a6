// SPDX-License-Identifier: Apache-2.0
// The data of probes: noise that host and device compute alike, and the tree mask of a binary tree.
#pragma once
#include <cstdint>
#include <vector>

#include "core/int_indexed.h"

namespace draftline {

// Value i of a fixed sequence of numbers, uniform in [-1, 1).
constexpr float noise(std::uint64_t i) {
  std::uint64_t x = i * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return static_cast<float>(to_double(x >> 11) * 0x1.0p-52 - 1);
}

// The tree mask of a binary tree of `rows` rows for each sequence, [sequences * rows, words]: every row attends to
// itself and to its ancestors.
inline std::vector<int> tree_words(int sequences, int rows, int words) {
  std::vector<unsigned> tree_mask(at(rows * words), 0);
  for (int r = 0; r < rows; ++r) {
    for (int w = 0; w < words && r > 0; ++w) tree_mask[at(r * words + w)] = tree_mask[at((r - 1) / 2 * words + w)];
    tree_mask[at(r * words + r / 32)] |= 1U << (r % 32);
  }
  std::vector<int> all;
  for (int s = 0; s < sequences; ++s)
    for (const unsigned word : tree_mask) all.push_back(to_int(word));
  return all;
}

}  // namespace draftline
