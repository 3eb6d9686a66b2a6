// SPDX-License-Identifier: Apache-2.0
// The values of an engine's profile as tables. A new term of an engine is a member of its struct and a row here:
// profiles can then contain it, `calibrate --served` fits it if it has a prior, `draftline list engines NAME` prints
// it, and a test requires its row in docs/reference/engines.md (docs/recipes/new_engine_term.md).
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "model/engines/engine.h"
#include "model/engines/profile_field.h"
#include "model/engines/speculation.h"

namespace draftline {

// The prior of a term for `calibrate --served` (predict/engine_terms.h).
struct ServedPrior {
  // log_normal: known to a factor around the profile's value. normal: deviation `scale`, so that it may be below 0.
  // bandwidth: log-normal with the error of the device's GEMM times.
  enum class Shape : std::uint8_t { log_normal, normal, bandwidth };
  bool (*fitted)(const Engine&, Speculation);  // whether the engine's form and these runs can determine it
  double scale;                                // log_normal: the least median, in base units
  std::string_view other_runs;                 // runs that separate it from the terms above it
  Shape shape = Shape::log_normal;
  Seconds Engine::*beyond = nullptr;  // the fit determines the excess over this term
};

struct EngineField : ProfileField<Engine> {
  std::optional<ServedPrior> prior = {};

  std::string title() const;               // "host, each speculating step, beyond `step`"
  bool adds_to(const EngineField&) const;  // whether its prior applies to the excess over that field
  // The value to which a prior applies, in base units. Throws Bug unless it is a time, bytes or a number.
  double fitted_value(const Engine&) const;
  double value(const Engine&) const;  // the whole value, in base units
  void set_fitted_value(Engine&, double) const;
};

std::span<const EngineField> engine_fields();
// The engine on a host whose cores are `speed` times as fast: every time that the host is charged.
Engine with_host_speed(Engine, double speed);
const EngineField& engine_field(std::string_view key);          // throws Bug if there is none
const EngineField& engine_field(const EngineField::Member&);    // engine_field(&Engine::step)
std::span<const ProfileField<OpCost>> op_fields();              // of a row of "ops"
std::span<const ProfileField<CardLimits>> card_fields();        // of a row of "scheduler/cards"
std::span<const ProfileField<LinkRule>> link_rule_fields();     // of a row of "links/all_reduce/rules"
std::span<const ProfileField<ModeRule>> mode_rule_fields();     // of a row of a list in "modes"
std::span<const ProfileField<ExpertPadding>> padding_fields();  // of a row of "expert_padding/rules", except its format

}  // namespace draftline
