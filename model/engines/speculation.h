// SPDX-License-Identifier: Apache-2.0
// Whether a server speculates; this may change its engine's host work and its limits.
#pragma once

namespace draftline {

enum class Speculation { off, on };
constexpr Speculation speculation_with(int drafts) { return drafts > 0 ? Speculation::on : Speculation::off; }

}  // namespace draftline
