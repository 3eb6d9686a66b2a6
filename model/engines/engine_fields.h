// SPDX-License-Identifier: Apache-2.0
// The values of an engine's profile as tables. A new term of an engine is a member of its struct and a row here:
// profiles then hold it, `calibrate --served` fits it if it has a prior, `draftline list engines NAME` prints it, and a
// test asks for its row in docs/reference/engines.md (docs/recipes/new_engine_term.md).
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "model/engines/engine.h"
#include "model/engines/profile_field.h"
#include "model/engines/speculation.h"

namespace draftline {

// What `calibrate --served` takes a term to be before it has seen a run (predict/engine_terms.h).
struct ServedPrior {
  // Log-normal: known to a factor about the profile's value. Normal: known to `scale`, which lets it be below 0.
  // Bandwidth: log-normal, known as well as the times of the device's GEMMs.
  enum class Shape : std::uint8_t { log_normal, normal, bandwidth };
  bool (*fitted)(const Engine&, Speculation);  // whether these runs can tell it: their engine's form, and what they do
  double scale;                                // log-normal: the least median, in base units
  std::string_view other_runs;                 // that tell it from the terms above it
  Shape shape = Shape::log_normal;
  Seconds Engine::*beyond = nullptr;  // fitted is what the term adds to this one
};

struct EngineField : ProfileField<Engine> {
  std::optional<ServedPrior> prior = {};

  std::string title() const;               // "host, each speculating step, beyond `step`"
  bool adds_to(const EngineField&) const;  // its prior is of what it adds to that one
  // The value in base units that a prior is about. Bug unless it is a time, bytes or a number.
  double fitted_value(const Engine&) const;
  void set_fitted_value(Engine&, double) const;
};

std::span<const EngineField> engine_fields();
const EngineField& engine_field(std::string_view key);          // Bug if there is none
const EngineField& engine_field(const EngineField::Member&);    // engine_field(&Engine::step)
std::span<const ProfileField<OpCost>> op_fields();              // of a row of "ops"
std::span<const ProfileField<CardLimits>> card_fields();        // of a row of "scheduler/cards"
std::span<const ProfileField<LinkRule>> link_rule_fields();     // of a row of "links/all_reduce/rules"
std::span<const ProfileField<ExpertPadding>> padding_fields();  // of a row of "expert_padding/rules", but its format

}  // namespace draftline
