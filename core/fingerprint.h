// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash of a stream of values, equal on every platform and compiler: the identity of a tape, of an event stream.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace draftline {

class Fingerprint {
 public:
  constexpr void add(std::uint64_t v) {
    hash_ = (hash_ ^ v) * 0xff51afd7ed558ccdULL;
    hash_ ^= hash_ >> 32;
  }
  constexpr void add(std::int64_t v) { add(static_cast<std::uint64_t>(v)); }
  constexpr void add(int v) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(v))); }
  constexpr void add(bool v) { add(static_cast<std::uint64_t>(v)); }
  constexpr void add(double v) { add(std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v)); }
  constexpr void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  constexpr std::uint64_t value() const { return hash_; }
  constexpr bool operator==(const Fingerprint&) const = default;

 private:
  std::uint64_t hash_ = 0x9e3779b97f4a7c15ULL;
};

std::string to_hex(std::uint64_t);  // 16 digits

}  // namespace draftline
