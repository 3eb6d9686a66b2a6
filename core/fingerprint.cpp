// SPDX-License-Identifier: Apache-2.0
#include "core/fingerprint.h"

namespace draftline {

std::string to_hex(std::uint64_t v) {
  std::string digits(16, '0');
  for (auto d = digits.rbegin(); d != digits.rend(); ++d, v >>= 4) *d = "0123456789abcdef"[v & 15];
  return digits;
}

}  // namespace draftline
