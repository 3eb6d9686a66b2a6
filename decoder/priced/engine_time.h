// SPDX-License-Identifier: Apache-2.0
// The time that an engine adds to the kernels of a step: device time per layer, and host time.
#pragma once
#include <algorithm>
#include <optional>

#include "decoder/priced/step_outline.h"
#include "model/engines/engine.h"
#include "model/engines/speculation.h"

namespace draftline {

// The rows, over all sequences, of the kernel that occurs once per layer of a pass: attention (not an indexer's) or a
// recurrence. None of other kernels.
inline std::optional<int> rows_of_layer(const Kernel& kernel) {
  if (const auto* k = std::get_if<Attention>(&kernel); k != nullptr && !k->scores()) return k->rows;
  if (const auto* k = std::get_if<DeltaRule>(&kernel)) return k->rows;
  if (const auto* k = std::get_if<SelectiveScan>(&kernel)) return k->rows;
  return std::nullopt;
}

// Host work of a step that does not belong to an op.
inline Seconds of_step(const Engine& e, Speculation speculation, const StepOutline& step, Seconds plain, Seconds with) {
  if (speculation == Speculation::off) return plain;
  return with + e.launches_speculating * e.issue + step.trees * e.search + step.texts * e.look_up;
}
inline Seconds host_base(const Engine& e, Speculation speculation, const StepOutline& step) {
  return of_step(e, speculation, step, e.step, e.step_speculating);
}

// The least time of a step whose host work overlaps the device, besides its launches: the host is busy with the next
// step as long.
inline Seconds host_between(const Engine& e, Speculation speculation, const StepOutline& step) {
  if (!e.step_mode().overlapped) return {};
  return of_step(e, speculation, step, e.step_serial, e.step_serial_speculating);
}

// The device time that an engine adds to each layer beyond its kernels' own. It is added to the kernel that occurs once
// per layer.
class LayerTime {
 public:
  LayerTime(const Engine& e, const StepOutline& step) : of_one_row_(e.layer), of_rows_(e.layer_rows.value_or(e.layer)) {
    // Only a tree is committed by copies in the KV cache; a chain is already in place.
    if (std::any_of(step.kinds.begin(), step.kinds.end(), [](const StepOutline::Kind& k) { return k.key == "commit"; }))
      verifying_ = e.layer_tree;
  }
  Seconds operator()(const Kernel& kernel, Phase phase) const {
    const auto rows = rows_of_layer(kernel);
    if (!rows) return {};
    // Trees cost where attention joins its parts; a recurrence has none.
    const bool joins = phase == Phase::verify && std::holds_alternative<Attention>(kernel);
    return (*rows > 1 ? of_rows_ : of_one_row_) + (joins ? verifying_ : Seconds{});
  }

 private:
  Seconds of_one_row_, of_rows_, verifying_;
};

// Host time before an op: its draft pass, and its launches or those of graphs.
class Issue {
 public:
  explicit Issue(const Engine& e) : engine_(e), mode_(e.step_mode()) {}
  void start_segment(std::size_t ops) {
    issued_ = static_cast<double>(ops) * engine_.record;
    if (!engine_.overlap || std::max(mode_.target, mode_.drafter) == Graphs::full) issued_ += engine_.graph_launch;
    pass_ = -1;
    in_graph_ = false;
  }
  Seconds before(int pass, Phase phase, const OpCost& cost) {
    const bool drafter = phase == Phase::draft, drafts = drafter && pass > pass_;
    // An op is of no pass before the first attention of one: this attention shows that a piece ended on the way.
    if (drafter != drafter_ || (pass > pass_ && pass_ >= 0 && drafter == of_drafter_)) in_graph_ = false;
    drafter_ = drafter;
    if (pass > pass_) pass_ = pass, of_drafter_ = drafter;
    if (drafts) issued_ += engine_.draft_pass;
    waits_ = drafts ? engine_.draft_pass_exposed : Seconds{};
    if (engine_.overlap) issued_ += launching(drafter ? mode_.drafter : mode_.target, cost);
    return issued_;
  }
  // The time that the device (or, without overlap, the single thread) spends on an issued op before running it.
  Seconds exposed(const OpCost& cost) const {
    return engine_.overlap ? waits_ : waits_ + (cost.launches + cost.host_launches) * engine_.issue;
  }
  void meet() {  // synchronises both clocks at a blocking read inside a segment
    all_ += issued_;
    issued_ = {};
  }
  Seconds issued() const { return issued_; }
  Seconds all() const { return all_; }  // up to the last meet()

 private:
  Seconds launching(Graphs graphs, const OpCost& cost) {
    if (graphs == Graphs::none) return (cost.launches + cost.host_launches) * engine_.issue;
    if (graphs == Graphs::full) return {};
    const bool begins = !in_graph_ && cost.launches > cost.between_graphs;
    in_graph_ = cost.between_graphs <= 0 && (in_graph_ || begins);
    return cost.between_graphs * engine_.issue + (begins ? engine_.graph_launch : Seconds{});
  }

  const Engine& engine_;
  StepMode mode_;
  Seconds issued_, waits_, all_;
  int pass_ = -1;
  bool drafter_ = false, of_drafter_ = false;  // whether the last op, and pass_, are the drafter's
  bool in_graph_ = false;                      // whether the last op was in a piece that the next one can join
};

}  // namespace draftline
