// SPDX-License-Identifier: Apache-2.0
// Figures in the results of serving benchmarks.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

constexpr double kLeastMilliseconds = 1e-6, kMostMilliseconds = 1e9, kMillisecond = 1e-3;

std::optional<double> number_at(const Reader&, std::string_view key, double least, double most);  // none: missing, null
std::optional<Seconds> milliseconds_at(const Reader&, std::string_view key);  // none also where it is 0

struct DecodingRequest {
  double first = 0, last = 0;     // seconds at which its first and last token came
  double prompt = 0, tokens = 0;  // tokens of the prompt, and generated after the first
};

// How many sequences decoded together, on average over tokens, and the text before a token.
struct DecodingTogether {
  double batch_size = 1, context = 0;
};
// None if no time passed.
std::optional<DecodingTogether> together(const std::vector<DecodingRequest>&);

}  // namespace draftline
