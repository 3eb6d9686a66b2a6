// SPDX-License-Identifier: Apache-2.0
// Row indices for gathering drafts: k drafts of B sequences are made pass by pass, so that draft j of sequence q is row
// j * B + q, but verified sequence by sequence, as row q * k + j.
#pragma once
#include <vector>

namespace draftline::methods {

struct BatchIndex {
  // The indices, [sequences * k], that gather rows [k, sequences] in the order [sequences, k].
  static std::vector<int> interleave(int sequences, int k) {
    std::vector<int> rows;
    for (int q = 0; q < sequences; ++q)
      for (int j = 0; j < k; ++j) rows.push_back(j * sequences + q);
    return rows;
  }
  // The indices, [sequences], of the j-th row of each sequence among rows [sequences, k]; j from 0.
  static std::vector<int> level(int sequences, int k, int j) {
    std::vector<int> rows;
    for (int q = 0; q < sequences; ++q) rows.push_back(q * k + j);
    return rows;
  }
};

}  // namespace draftline::methods
