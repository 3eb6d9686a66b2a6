// SPDX-License-Identifier: Apache-2.0
// The network of a trained drafter: from the folder in the parameter "checkpoint", or the paper's network for
// this target.
#pragma once
#include <initializer_list>
#include <string_view>

#include "methods/table.h"

namespace draftline::methods {

// The config.json in the folder, for one tensor-parallel rank; none without the parameter. Mistakes are
// noted, among them a hidden size or a vocabulary other than the target's.
std::optional<DrafterConfig> published_drafter(const MethodSpec&, const Context&, DrafterKind);
// The same; without the parameter, a layer of the target's widths (native_drafter_layer).
DrafterConfig drafter_config(const MethodSpec&, const Context&, DrafterKind);
// Notes a mistake for each of these parameters that is given together with a checkpoint, which decides them.
void refuse_beside_checkpoint(const MethodSpec&, std::initializer_list<std::string_view> parameters);

}  // namespace draftline::methods
