// SPDX-License-Identifier: Apache-2.0
// The metadata of a GGUF file as the keys of a config.json, so that a network has one description whichever file it
// comes from. Keys and names of tensors are those of llama.cpp's gguf-py/gguf/constants.py and of its converter.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/transformers/gguf_header.h"

namespace draftline {

struct GgufKey {
  std::string_view gguf, config;  // behind "llama."; in config.json
};

// An architecture of GGUF. A new one is a row in gguf_config.cpp.
struct GgufFamily {
  std::string_view name, architecture;  // in GGUF; in config.json
  std::span<const GgufKey> keys;        // in addition to those of all
  std::string_view constants = "{}";    // further keys of config.json
  bool decoded = false;                 // whether weights can be loaded, not only priced
  bool pairs_heads = false;             // whether rows of queries and keys that rope rotates together lie side by side
};
std::span<const GgufFamily> gguf_families();
const GgufFamily& gguf_family(const GgufHeader&);  // throws InputErrors if it is unknown

struct GgufConfig {
  nlohmann::json json;
  std::vector<std::string> notes;  // keys that are not used
};
// Throws InputErrors if a key is missing, or if an unused key shapes the network by its name.
GgufConfig gguf_config(const GgufHeader&, const Files&);

}  // namespace draftline
