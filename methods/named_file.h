// SPDX-License-Identifier: Apache-2.0
// What a method's parameters name: a network ("draft"), and the folder of a trained drafter ("checkpoint"). Names are
// compared, not the places in which they stand.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>

#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

struct NamedFile {
  std::string name;
  std::filesystem::path beside = {};  // the file in which the name stands; paths are relative to its folder
  std::string place = {};             // file and JSON pointer of the name, for messages

  std::filesystem::path path() const { return beside.parent_path() / name; }
  std::string last_name() const;  // of a path, and of a folder: "drafter" of "./drafter/"
  friend bool operator==(const NamedFile& a, const NamedFile& b) { return a.name == b.name; }
};
NamedFile read_named_file(const Reader&);  // mistakes are noted

// A network of data/transformers or of a config.json; or one that is described where it stands.
struct NamedNetwork : NamedFile {
  std::string description = {};  // as JSON; "" if it is only named
  std::shared_ptr<const TransformerShape> described = {};

  nlohmann::json json() const;  // what stands in the file
  friend bool operator==(const NamedNetwork& a, const NamedNetwork& b) {
    return std::tie(a.name, a.description) == std::tie(b.name, b.description);
  }
};
NamedNetwork read_named_network(const Reader&);  // mistakes are noted

}  // namespace draftline
