// SPDX-License-Identifier: Apache-2.0
// Fits the kernel model to measured times: log time, soft-L1 loss, priors, three starts
// (docs/explanation/kernel_model.md, "Fitting"). The device gives the datasheet; its fits, if any, are not used.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/devices/device.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/operand_fits.h"
#include "model/work.h"

namespace draftline {

// Where activations have fewer than 16 bits, the time holds the pass that quantises them too.
struct GemmPoint {
  int rows = 0, in = 0, out = 0;
  Seconds time;
  int copies = 1;  // of the weights, through which the probe rotates: what L2 has lost by then is cold
  Operands operands = {};
};

// One probe of attention: `sequences` x `rows` query rows over `context` keys that were there before.
struct AttentionPoint {
  int sequences = 0, rows = 1, context = 0, heads = 0, kv_heads = 0, head_dim = 0;
  Seconds time;
  bool masked = false;                      // a tree's mask among the rows; none: causal
  CacheState cache = CacheState::repeated;  // what the probe finds in L2
  DType format = DType::bf16;               // of the cache
  std::string library{};                    // whose kernel it is; empty: unknown
  int value_dim = 0;                        // as an Attention's
  bool latent = false;                      // likewise
};

// One probe of an elementwise op, or of copying.
struct CopyPoint {
  Bytes bytes;
  Seconds time;
  std::optional<ElementOp> op = {};  // none: copying
};
Attention kernel_of(const AttentionPoint&);
Span span_of(const AttentionPoint&);
Bytes cache_bytes(const AttentionPoint&);  // keys and values that it reads

Seconds predicted(const Device&, const GemmPoint&);
Seconds predicted(const Device&, const AttentionPoint&);
Seconds predicted(const Device&, const CopyPoint&);

// `spread`, where given, receives the covariance of the coefficients' logarithms. All points have the same operands, in
// whose format the datasheet has a rate.
GemmFit fit_gemm(const std::vector<GemmPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// Makes `fit` the device's fit of GEMMs with these operands.
void put_gemm(Device&, const Operands&, const GemmFit& fit);

// Fits points of one library over a cache of one format. Decode and prefill share one form, and are fitted together.
// `layout`: the library's, where it is known.
AttentionFit fit_attention(const std::vector<AttentionPoint>&, const Device& datasheet, FitSpread* spread = nullptr,
                           std::optional<HeadLayout> layout = {});

CopyFit fit_copy(const std::vector<CopyPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// At most `most` of the points, evenly and reproducibly chosen.
template <class Point>
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t most) {
  if (points.size() <= most) return points;
  std::vector<Point> kept;
  kept.reserve(most);
  for (std::size_t i = 0; i < most; ++i) kept.push_back(points[i * points.size() / most]);
  return kept;
}

}  // namespace draftline
