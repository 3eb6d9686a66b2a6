// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash of a stream of values, equal on every platform and compiler. It identifies tapes, event streams and
// input files; it is not cryptographic.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace draftline {

class Fingerprint {
 public:
  // Integers of every width are hashed by value: add(int{-1}) == add(std::int64_t{-1}); bool is 0 or 1.
  template <std::integral T>
  constexpr void add(T v) {
    mix(static_cast<std::uint64_t>(v));
  }
  constexpr void add(double v) { mix(std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v)); }
  constexpr void add(std::string_view text) {
    mix(text.size());
    for (const char c : text) mix(byte_of(c));
  }
  constexpr void add(const char* text) { add(std::string_view(text)); }  // without it a literal would convert to bool
  constexpr std::uint64_t value() const { return hash_; }
  constexpr bool operator==(const Fingerprint&) const = default;

 private:
  constexpr void mix(std::uint64_t v) {
    hash_ = (hash_ ^ v) * 0xff51afd7ed558ccdULL;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t hash_ = 0x9e3779b97f4a7c15ULL;
};

std::string to_hex(std::uint64_t);  // 16 lower-case digits

}  // namespace draftline
