// SPDX-License-Identifier: Apache-2.0
// Nothing that costs is skipped in silence. A key of a config.json is used (its family's function read it), known to
// cost nothing (a table), or named: in a note, or as a mistake if its name says that it shapes the network. A key that
// is absent though each file of the family has it is named as well, because its default shapes the network.
#pragma once
#include <optional>
#include <string_view>

#include "core/reader.h"

namespace draftline::config {

struct KeysOf {
  std::string_view model_types;  // words, as are the next two
  std::string_view present;      // keys that each published file has; "a|b": one of them
  std::string_view costless;     // keys that change neither bytes nor FLOP
};
// The rows of a family; the first has what holds for all families.
const KeysOf& keys_of_all();
const KeysOf& keys_of(std::string_view model_type);  // of none: a row without keys
bool costs_nothing(const KeysOf&, std::string_view key);
bool has_word(std::string_view words, std::string_view word);

// Whether a key's name says that it shapes the network: it contains "experts", "layers", "head" or the like.
bool shapes_network(std::string_view key);

// Notes what is neither used nor known, after `in` was read. `text`: the text tower of a network that also sees or
// hears.
void report_unread(const Reader& in, const std::optional<Reader>& text, std::string_view model_type);

}  // namespace draftline::config
