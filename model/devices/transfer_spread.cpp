// SPDX-License-Identifier: Apache-2.0
#include "model/devices/transfer_spread.h"

#include <cmath>

#include "model/devices/origin.h"

namespace draftline {

std::optional<TransferredKernel> transferred_kernel(std::string_view key) {
  if (key == "gemm") return TransferredKernel::gemm;
  if (key.starts_with("gemm_")) return TransferredKernel::narrow_gemm;
  if (key.starts_with("experts")) return TransferredKernel::experts;
  return std::nullopt;
}

static TransferSpread read_spread(const Reader& in) {
  TransferSpread spread;
  for (const auto& [name, kernel] : kTransferredKernels) {
    const Reader interval = in.at(name);
    spread[kernel] = {interval.at("low").number(1e-3, 1), interval.at("high").number(1, 1e3)};
    interval.done();
  }
  in.done();
  return spread;
}

TransferSpreads read_transfer_spreads(const Reader& in) {
  (void)read_origin(in);
  TransferSpreads spreads{read_spread(in.at("same_architecture")), read_spread(in.at("other_architecture"))};
  in.done();
  return spreads;
}

RatioInterval product(const RatioInterval& a, const RatioInterval& b) {
  const auto both = [](double x, double y) { return std::hypot(std::log(x), std::log(y)); };
  return {std::exp(-both(a.low, b.low)), std::exp(both(a.high, b.high))};
}

}  // namespace draftline
