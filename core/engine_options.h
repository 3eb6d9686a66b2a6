// SPDX-License-Identifier: Apache-2.0
// What serving engines and their benchmarks call what a scenario says: vLLM's and SGLang's options, and the words of
// load generators.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

// The key that stands for an option, "tensor_parallel" for "tp_size"; none if it is not among the known.
std::optional<std::string> key_of_option(std::string_view option, std::span<const std::string_view> known);

}  // namespace draftline
