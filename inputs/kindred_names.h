// SPDX-License-Identifier: Apache-2.0
// Devices and engines that people name and that are not listed, each with the listed one that is most alike.
#pragma once
#include <string>
#include <string_view>

namespace draftline {

bool has_kindred(std::string_view name, std::string_view kind);

// The way from an unlisted name to a file of one's own: the listed name to begin with, and the command that writes its
// file. `kind`: "devices", "engines" or "transformers".
std::string way_to_own_file(std::string_view name, std::string_view kind);

}  // namespace draftline
