// SPDX-License-Identifier: Apache-2.0
// Which rows of a batch to gather: a draft of k tokens is made pass by pass, each for all sequences (row j * B + q),
// but verified sequence by sequence (row q * k + j).
#pragma once
#include <vector>

namespace draftline::methods {

struct BatchIndex {
  // Rows [k, sequences], pass by pass, in the order [sequences, k].
  static std::vector<int> interleave(int sequences, int k) {
    std::vector<int> rows;
    for (int q = 0; q < sequences; ++q)
      for (int j = 0; j < k; ++j) rows.push_back(j * sequences + q);
    return rows;
  }
  // The j-th of the k rows of each sequence, of rows [sequences, k].
  static std::vector<int> level(int sequences, int k, int j) {
    std::vector<int> rows;
    for (int q = 0; q < sequences; ++q) rows.push_back(q * k + j);
    return rows;
  }
};

}  // namespace draftline::methods
