// SPDX-License-Identifier: Apache-2.0
#include "decoder/weights.h"

#include "core/errors.h"

namespace draftline {

double Weight::scale_bits(int count) const {
  if (format == nullptr) return 0;
  const int rows = in / count;
  return 8 * format->scales.of(rows, out).value / (1.0 * rows * out);
}

Weight WeightStore::get(const std::string& name, int in, int out, DType dtype, bool resident) {
  auto [it, fresh] = by_name_.try_emplace(name, Weight{count(names_), in, out, dtype});
  if (fresh) {
    names_.push_back(name);
    if (resident) bytes_ += bytes_of(dtype, 1.0 * in * out);
  }
  check(it->second.in == in && it->second.out == out, "one weight, two shapes: " + name);
  return it->second;
}

Weight WeightStore::matrix(const std::string& name, int in, int out, const LinearFormat& target, int count) {
  const LinearFormat& format = drafts_ && !native_ ? precision_->draft : target;
  const std::size_t known = names_.size();
  const Weight w = get(name, count * in, out, format.weights, true);
  if (names_.size() == known) return w;
  bytes_ += count * format.scales.of(in, out);
  by_name_.at(name).format = &format;
  return by_name_.at(name);
}

Weight WeightStore::lm_head(const std::string& name, int in, int out, bool tied) {
  const LinearFormat& target = precision_->lm_head;
  if (drafts_) return get(name, in, out, precision_->activations, !tied);
  if (tied && target.weights == precision_->embedding) return get(name, in, out, target.weights, false);
  return matrix(name, in, out, target);
}

}  // namespace draftline
