// SPDX-License-Identifier: Apache-2.0
// Choosing tokens by their logits: the best token, the k best with their log-probabilities, ids of another vocabulary,
// and the candidates that are worth drafting. Long rows are split among CTAs; the last of them to finish joins the
// parts.
#pragma once
#include <cuda_runtime.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// Bytes of scratch memory; k = 1 for argmax. Its first kCounterBytes are zero before the first use.
std::size_t choose_scratch(int rows, int columns, int k, int sms);

// [n, vocabulary] -> [n]; ties: the lowest id.
template <class T>
void argmax(View<const T> x, int sms, const Scratch&, View<int> y, cudaStream_t);

// [n, vocabulary] -> ids, log-probabilities [n, k], best first; ties: the lowest id first.
template <class T>
void top_k(View<const T> logits, int sms, const Scratch&, View<int> ids, View<float> log_probs, cudaStream_t);

// y = id + offsets[id].
void map_ids(View<const int> ids, const int* offsets, View<int> y, cudaStream_t);

// Log-probabilities [n, k], best first, become -infinity behind the nucleus and below a share of the first.
void clip_top_k(View<const float> log_probs, float top_p, float least_share, View<float> y, cudaStream_t);

// The fields of WalkCandidates in decoder/op/tokens.h.
template <class T>
struct WalkCandidatesView {
  View<const int> ids;
  View<const float> log_probs;
  View<const T> gate, root, before, after;
  View<int> y;
};
template <class T>
void walk_candidates(const WalkCandidatesView<T>&, cudaStream_t);

}  // namespace draftline::cuda
