// SPDX-License-Identifier: Apache-2.0
// Runs verification.
#pragma once
#include "decoder/cuda/runtime/on_device.h"
#include "decoder/cuda/sampling/verify.h"

namespace draftline::cuda {

template <class T, class O>
TreesView trees_of(const OnDevice<T>& d, const O& o) {
  return {d.ids(o.tokens), d.ids(o.parents), d.ids(o.cu_seqlens)};
}
template <class T, class O>
VerdictView verdict_of(const OnDevice<T>& d, const O& o) {
  const VerdictTensors& v = o.verdict;
  return {d.whole(v.path),  d.whole(v.next), d.whole(v.counts), d.whole(v.last), d.whole(v.last_row),
          d.whole(v.bonus), o.depth};
}

template <class T>
void run_op(const OnDevice<T>& d, const VerifyGreedy& o) {
  verify_greedy(d.ids(o.predicted), trees_of(d, o), verdict_of(d, o), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const VerifySampled& o) {
  verify_sampled<T>({.logits = d.in(o.logits),
                     .trees = trees_of(d, o),
                     .q = o.q ? d.floats(*o.q) : View<const float>{},
                     .rule = o.rule,
                     .slots = d.view(o.slots),
                     .sampling = o.sampling,
                     .seed = d.s.options.seed,
                     .verdict = verdict_of(d, o)},
                    d.scratch(), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const VerifyRelaxed& o) {
  verify_relaxed<T>({d.in(o.logits), trees_of(d, o), o.sampling, o.rule, verdict_of(d, o)}, d.scratch(), d.stream);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>&, const VerifySampled& o) {
  return verify_scratch(o.logits.rows);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>&, const VerifyRelaxed& o) {
  return verify_scratch(o.logits.rows);
}
template <class T>
void run_op(const OnDevice<T>& d, const ForceAccepted& o) {
  force_accepted(d.ids(o.predicted), trees_of(d, o), d.ids(o.wanted), o.vocabulary, d.out_ids(o.y), d.stream);
}

}  // namespace draftline::cuda
