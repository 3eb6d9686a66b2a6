// SPDX-License-Identifier: Apache-2.0
#include "methods/named_file.h"

#include <nlohmann/json.hpp>

#include "model/transformers/described_transformer.h"

namespace draftline {

std::string NamedFile::last_name() const {
  const std::filesystem::path path = name;
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

NamedFile read_named_file(const Reader& in) { return {in.text(), in.file(), in.place()}; }

nlohmann::json NamedNetwork::json() const {
  return description.empty() ? nlohmann::json(name) : nlohmann::json::parse(description);
}

NamedNetwork read_named_network(const Reader& in) {
  if (!in.is_object()) return {read_named_file(in)};
  auto shape = std::make_shared<const TransformerShape>(read_described_transformer(in));
  return {{shape->name, in.file(), in.place()}, in.chosen().dump(), shape};
}

}  // namespace draftline
