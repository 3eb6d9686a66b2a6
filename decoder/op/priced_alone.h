// SPDX-License-Identifier: Apache-2.0
// Kernels of networks that are priced and not computed.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Backends that compute refuse it. A tape's hash leaves out the kernel, which the network and the pass fix.
struct PricedAlone {
  static constexpr std::string_view key = "index_append";  // unless `name` has another
  std::string_view name = key;                             // key of the op that it resembles, in engine profiles
  std::vector<Tensor> reads;
  std::optional<Weight> weight;
  PassRef pass;
  Kernel kernel;
  Window window;  // of an attention
  Out y;
  FIELDS(reads, weight, pass, y)
  std::string_view key_in(const Tape&) const { return name; }
  Window window_read() const { return window; }
  Kernel work(const Tape&) const { return kernel; }
};

}  // namespace draftline
