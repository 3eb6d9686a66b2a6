// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/experts.h"

namespace draftline {

Kernel MixtureOfExperts::work(const Tape&) const {
  return ExpertMlp{.rows = x.rows,
                   .hidden = x.cols,
                   .intermediate = w.gate_up.out / (is_gated(gate) ? 2 : 1),
                   .experts = choice.experts,
                   .per_token = choice.per_token,
                   .weights = w.gate_up.dtype,
                   .activations = w.gate_up.format != nullptr ? w.gate_up.format->inputs.value_or(x.dtype) : x.dtype,
                   .scale_bits = w.gate_up.scale_bits(w.gate_up.in / x.cols),
                   .sequences = sequences,
                   .routing = routing,
                   .scaling = w.gate_up.scaling(),
                   .devices = devices,
                   .balancedness = balancedness,
                   .routed_apart = routed.has_value(),
                   .router_columns = routed ? routed->cols : 0,
                   .gated = is_gated(gate),
                   .router_fp32 = router_fp32,
                   .ranks = ranks};
}

}  // namespace draftline
