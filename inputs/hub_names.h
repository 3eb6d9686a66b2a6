// SPDX-License-Identifier: Apache-2.0
// Names of networks on the Hugging Face hub, "Qwen/Qwen3-32B-FP8", as aliases of the networks that ship. Words that do
// not change shapes (-Instruct, -2507, -Chat) are ignored; those of a format set the checkpoint's.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

struct HubNetwork {
  std::string network;                // of those that ship
  std::optional<std::string> format;  // a name of model/transformers/precision, if the name has one
};

bool is_hub_name(std::string_view);  // "owner/name"
// None if no known network has these shapes.
std::optional<HubNetwork> hub_network(std::string_view id, std::span<const std::string> known);
// The format that the words of a name state; none: none of them.
std::optional<std::string> format_of_name(std::string_view id);

}  // namespace draftline
