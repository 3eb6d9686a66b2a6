// SPDX-License-Identifier: Apache-2.0
// A serving benchmark's result request by request ("start_times", "ttfts", "itls", lengths): how many sequences decoded
// together, as a mean over tokens.
#pragma once
#include <optional>

#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

struct DecodingTogether {
  double batch_size;   // sequences that decode while a token is emitted, on average over tokens
  double context;      // tokens of the text before a token, on average over tokens
  Seconds median_gap;  // between two emissions of a sequence
};
// How the sequences of a result decoded together; none if the result has no such lists. Lists of different lengths, or
// without a decoding request, are noted as mistakes.
std::optional<DecodingTogether> decoding_together(const Reader& result);

}  // namespace draftline
