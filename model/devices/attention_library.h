// SPDX-License-Identifier: Apache-2.0
// The attention library: an engine's profile names it ("attention") by the device's compute capability and
// the format of the KV cache; a device's file has fits of the libraries that were measured
// (docs/explanation/kernel_model.md).
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
  std::string compute_capability;  // only on devices that have it (has_capability, link.h)
  std::optional<DType> cache;      // only over caches of this format; none: over all
};

// The library of the first rule that holds; empty: the profile has none.
std::string attention_library(const std::vector<AttentionRule>&, std::string_view compute_capability, DType cache);

// The fit that prices a library's attention over a cache. `fit` points into the model that was asked; null: not chosen.
struct AttentionChoice {
  const AttentionFit* fit = nullptr;
  HeadLayout layout = HeadLayout::apart;
  bool measured = true;  // this library over this cache; else the nearest fit is used: same bits, then same library
  bool operator==(const AttentionChoice&) const = default;
};

// The fit for a library's attention over a cache. `library`: empty if unknown; the device's first fit over
// such a cache is then chosen. A fit that stands in for another library is taken to split a context among CTAs, as most
// do. For latent attention `library` does not matter: its fit is the device's own, whatever computes other attention.
AttentionChoice attention_choice(const AttentionModel&, std::string_view library, DType cache,
                                 AttentionForm form = AttentionForm::ordinary);

// The choice for the library that these rules name on a GPU. None on a CPU, which has one kernel of attention.
AttentionChoice attention_choice(const Device&, const std::vector<AttentionRule>&, DType cache,
                                 AttentionForm form = AttentionForm::ordinary);

// Reads "attention" of a profile; "attention" is added to `guesses` if nobody measured or documented it.
std::vector<AttentionRule> read_attention_rules(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
