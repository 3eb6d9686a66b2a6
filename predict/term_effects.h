// SPDX-License-Identifier: Apache-2.0
// How the time of a step changes when a term of the engine's profile goes to the ends of its 90 % interval
// (predict/engine_terms.h). A term that moves a speculative step and the plain step moves both at once, so its effect
// on their ratio is that of one source of error.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/priced/step_price.h"
#include "predict/engine_terms.h"

namespace draftline {

struct TermEffect {
  const EngineField* field;  // null: no term of an engine, and no plain step has it
  Seconds at_low, at_high;   // changes of the step's time at the two ends
};

// The effects of all terms of a profile that a method's steps are charged. The error of the memory bandwidth is that
// of the kernels (KnownErrors), and no term here.
class TermEffects {
 public:
  TermEffects(std::shared_ptr<const Device>, std::shared_ptr<const Engine>, Speculation);

  // Of a step of `sequences` sequences in which each emits `tokens` tokens. Effects are priced at contexts that are
  // powers of 4 and interpolated. Valid until the next call.
  std::span<const TermEffect> of(const StepOutline&, int sequences, double context, double tokens);

 private:
  struct End {
    Engine engine;
    Seconds token;  // the change of Engine::token
  };
  struct Term {
    const EngineField* field;
    End low, high;
    bool by_host_base;  // the host's work between steps alone: no kernel is priced again
  };
  struct Changes {
    Seconds at_low, at_high;
  };
  using ByContext = std::vector<std::vector<Changes>>;  // [node][term]

  ByContext priced(const StepOutline&) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Engine> engine_;
  Speculation speculation_;
  std::vector<Term> terms_;
  std::map<int, ByContext> known_;  // by sequences
  std::vector<TermEffect> last_;
};

}  // namespace draftline
