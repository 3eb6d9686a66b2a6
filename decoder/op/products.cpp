// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/products.h"

namespace draftline {

Kernel Embed::work(const Tape&) const {
  return Copy{.read = ids.bytes() + weight_bytes(table.dtype, 1.0 * y.rows * table.out),
              .written = y.bytes(),
              .format = y.dtype};
}

std::string_view Linear::key_in(const Tape&) const {
  const bool quantised_inputs = bits_of(x.dtype) < 16;
  switch (w.dtype) {
    case DType::fp8: return quantised_inputs ? "linear.fp8-w8a8" : "linear.fp8";
    case DType::int8: return quantised_inputs ? "linear.int8-w8a8" : "linear.int8";
    case DType::fp4: return quantised_inputs ? "linear.fp4-w4a4" : "linear.fp4";
    case DType::int4: return "linear.int4";
    default: return key;
  }
}

std::string_view Quantise::key_in(const Tape&) const {
  switch (after) {
    case After::norm: return "quantise.norm";
    case After::activation: return "quantise.activation";
    default: return key;
  }
}

Kernel Linear::work(const Tape&) const {
  return Gemm{.rows = x.rows,
              .in = w.in,
              .out = w.out,
              .weights = w.dtype,
              .activations = x.dtype,
              .bias = bias.has_value(),
              .scaling = w.scaling(),
              .scale_bits = w.scale_bits()};
}

}  // namespace draftline
