// SPDX-License-Identifier: Apache-2.0
// Safetensors files, right and wrong, put together by hand.
#pragma once
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace draftline {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}
inline std::string fp32_bytes(const std::vector<float>& values) {
  std::string text;
  for (const float v : values) text += little_endian(std::bit_cast<std::uint32_t>(v), 4);
  return text;
}
inline std::string safetensors(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems wait for the disk when a file is overwritten in place
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace draftline
