// SPDX-License-Identifier: Apache-2.0
// The attention library: an engine's profile ("attention") names it for a compute capability and a format of the KV
// cache. A device's file contains fits for the libraries that were measured (docs/explanation/kernel_model.md).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/reader.h"
#include "model/devices/device.h"

namespace draftline {

// One line of an engine's choice: this library, if all of its conditions hold.
struct AttentionRule {
  std::string library;
  std::string compute_capability;  // only on devices with this capability (has_capability, link.h)
  std::optional<DType> cache;      // only for caches of this format; none: for all
};

// The library of the first rule whose conditions hold; empty: the profile has no such rule.
std::string attention_library(const std::vector<AttentionRule>&, std::string_view compute_capability, DType cache);

// The fit that prices a library's attention over a cache. `fit` points into the given model; null: not chosen.
struct AttentionChoice {
  const AttentionFit* fit = nullptr;
  HeadLayout layout = HeadLayout::apart;
  bool measured = true;  // false: `fit` is the nearest other fit, by bits of the cache, then by library
  bool operator==(const AttentionChoice&) const = default;
};

// The fit for a library's attention over a cache. `library`: if empty (unknown), the device's first fit for such a
// cache is chosen. A fit that replaces that of another library is assumed to split a context among CTAs, as most
// libraries do. Latent attention ignores `library`: the device has one fit for it.
AttentionChoice attention_choice(const AttentionModel&, std::string_view library, DType cache,
                                 AttentionForm form = AttentionForm::ordinary);

// The choice for the library that these rules name on a GPU. No choice on a CPU, which has only one attention kernel.
AttentionChoice attention_choice(const Device&, const std::vector<AttentionRule>&, DType cache,
                                 AttentionForm form = AttentionForm::ordinary);

// Reads "attention" of a profile; "attention" is added to `guesses` if it was neither measured nor documented.
std::vector<AttentionRule> read_attention_rules(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
