// SPDX-License-Identifier: Apache-2.0
// The architectures whose config.json can be read. A new one is a function and a row of config_families.cpp.
#pragma once
#include <span>
#include <string_view>

#include "model/transformers/config_network.h"

namespace draftline::config {

struct Family {
  std::string_view architecture, model_type;
  void (*read)(const Reader&, ConfigNetwork&);
};
std::span<const Family> families();
const Family* family(std::string_view architecture);  // null if it is unknown

// read_transformer() (model/transformers/transformer_shape) as a known architecture, whichever the file names.
TransformerShape read_transformer_as(std::string_view architecture, const Reader&);

}  // namespace draftline::config
