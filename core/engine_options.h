// SPDX-License-Identifier: Apache-2.0
// Names of a scenario's keys in serving engines and their benchmarks: options of vLLM and SGLang, words of load
// generators.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

// The scenario's key for an option, "tensor_parallel" for "tp_size"; none if `known` does not hold that key.
std::optional<std::string> key_of_option(std::string_view option, std::span<const std::string_view> known);

}  // namespace draftline
