// SPDX-License-Identifier: Apache-2.0
// Names by which serving engines and load generators call the keys of a scenario, such as the options of vLLM and
// SGLang.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

// The scenario's key for an option, "tensor_parallel" for "tp_size"; none if `known` does not contain that key.
std::optional<std::string> key_of_option(std::string_view option, std::span<const std::string_view> known);

// What to write in place of an option that has no key of its own at its place, such as "max_model_len"; none for other
// words.
std::optional<std::string_view> advice_on_option(std::string_view option);

}  // namespace draftline
