// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace draftline {

// python: NaN, Infinity and -Infinity, which Python's json module writes, are read as these texts, so that a key that
// nobody reads may have them.
enum class JsonDialect { strict, python };

}  // namespace draftline
