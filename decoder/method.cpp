// SPDX-License-Identifier: Apache-2.0
#include "decoder/method.h"

namespace draftline {

std::vector<int> chain_parents(const std::vector<int>& rows_each) {
  std::vector<int> parents;
  for (const int n : rows_each)
    for (int i = 0; i < n; ++i) parents.push_back(i - 1);
  return parents;
}

Proposal propose_chain(Ops& ops, const Session& s, Tensor candidates, int k) {
  const int stride = candidates.rows / s.sequences;
  std::vector<int> index;
  for (int b = 0; b < s.sequences; ++b) {
    index.push_back(b);
    for (int j = 0; j < k; ++j) index.push_back(s.sequences + b * stride + j);
  }
  return {ops.uniform(s.sequences, k + 1),
          ops.gather(ops.concat_rows({s.root, candidates}), ops.constant(index)),
          ops.constant(chain_parents({k + 1}), 1, s.sequences),
          {},
          k};
}

}  // namespace draftline
