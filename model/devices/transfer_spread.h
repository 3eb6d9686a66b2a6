// SPDX-License-Identifier: Apache-2.0
// What it costs to take a relative's fits: a card's times by its own fits, over those by a relative's fits at the
// card's datasheet (data/transfer.json, from each card with fits of its own left out in turn;
// docs/explanation/accuracy.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/int_indexed.h"
#include "core/interval.h"
#include "core/named.h"
#include "core/reader.h"

namespace draftline {

enum class TransferredKernel : std::uint8_t { gemm, narrow_gemm, experts, decode_attention, prefill_attention };
inline constexpr NamedValues<TransferredKernel, 5> kTransferredKernels{
    {{"gemm", TransferredKernel::gemm},
     {"narrow_gemm", TransferredKernel::narrow_gemm},
     {"experts", TransferredKernel::experts},
     {"decode_attention", TransferredKernel::decode_attention},
     {"prefill_attention", TransferredKernel::prefill_attention}}};

// The kernel whose fit a key of "fits" names; none: kernels of which too few cards were measured.
std::optional<TransferredKernel> transferred_kernel(std::string_view key);

// 90 % intervals of own over transferred time.
using TransferSpread = EnumArray<TransferredKernel, RatioInterval, kTransferredKernels.size()>;
struct TransferSpreads {
  TransferSpread same_architecture, other_architecture;  // of the card and its relative: by compute capability
};
TransferSpreads read_transfer_spreads(const Reader&);

// The interval of two independent factors.
RatioInterval product(const RatioInterval&, const RatioInterval&);

}  // namespace draftline
