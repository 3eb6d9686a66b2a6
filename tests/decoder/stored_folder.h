// SPDX-License-Identifier: Apache-2.0
// Tensors of any format as a checkpoint's file, and those of a file as they are stored.
#pragma once
#include <nlohmann/json.hpp>

#include "decoder/checkpoint/safetensors.h"
#include "tests/decoder/safetensors_bytes.h"

namespace draftline {

struct Stored {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

inline std::string safetensors(const std::vector<Stored>& tensors) {
  nlohmann::json header;
  std::string data;
  for (const Stored& t : tensors) {
    const std::size_t begin = data.size();
    data += t.bytes;
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors(header.dump(), data);
}

inline std::vector<Stored> stored_in(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  const std::string bytes = bytes_of_file(path);
  std::uint64_t size = 0;  // of the data, which end the file
  for (const auto& [name, t] : file.tensors()) size = std::max(size, t.end);
  std::vector<Stored> all;
  for (const auto& [name, t] : file.tensors())
    all.push_back({name, t.dtype, t.shape, bytes.substr(bytes.size() - size + t.begin, t.end - t.begin)});
  return all;
}

}  // namespace draftline
