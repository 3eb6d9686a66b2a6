// SPDX-License-Identifier: Apache-2.0
// Runs movements of rows, in the width of their words.
#pragma once
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class Word, class T>
Parts<Word> parts(const OnDevice<T>& d, const std::vector<Tensor>& all, bool below) {
  if (all.size() > kMostParts)
    throw InputErrors("on CUDA a plan may put at most " + std::to_string(kMostParts) +
                      " tensors together; this one needs " + std::to_string(all.size()));
  Parts<Word> p;
  for (const Tensor& t : all) {
    const int i = p.count++;
    p.part[i] = d.s.template view<const Word>(t);
    p.begin[i + 1] = p.begin[i] + (below ? t.rows : t.cols);
  }
  return p;
}
template <class F>
void by_word(DType t, F f) {
  if (bits_of(t) == 16) f(std::uint16_t{});
  else f(std::uint32_t{});
}
template <class T>
void stack_rows(const OnDevice<T>& d, const std::vector<Tensor>& from, const Tensor& to) {
  by_word(to.dtype, [&](auto word) {
    using Word = decltype(word);
    concat_rows(parts<Word>(d, from, true), d.s.template view<Word>(to), d.stream);
  });
}

template <class T>
void run_op(const OnDevice<T>& d, const Gather& o) {
  by_word(o.y.dtype, [&](auto word) {
    using Word = decltype(word);
    gather(parts<Word>(d, o.parts, false), o.index ? d.ids(*o.index) : View<const int>{}, o.shift, o.span,
           d.s.template view<Word>(o.y), d.stream);
  });
}
template <class T>
void run_op(const OnDevice<T>& d, const ConcatRows& o) {
  stack_rows(d, o.parts, o.y);
}
template <class T>
void run_op(const OnDevice<T>& d, const Store& o) {
  check(o.x.dtype == o.to.dtype, "store: a buffer of another format");
  stack_rows(d, {o.x}, o.to);
}

// An upload was copied before the tape ran.
template <class T>
void run_op(const OnDevice<T>&, const Upload&) {}
template <class T>
int launches_of(const OnDevice<T>&, const Upload&) {
  return 0;
}

template <class T>
void run_op(const OnDevice<T>& d, const FollowPath& o) {
  follow_path({d.ids(o.last), d.ids(o.cu_seqlens), d.ids(o.to), o.items, o.own, d.out_ids(o.y), d.out_ids(o.newest)},
              d.stream);
}

}  // namespace draftline::cuda
