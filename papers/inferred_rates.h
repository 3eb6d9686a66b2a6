// SPDX-License-Identifier: Apache-2.0
// Throughputs of a paper's rows by the priced programs. Only a printed baseline calibrates: the host's issue time, or a
// straight line over the batch through what a plain step costs beyond the program. Acceptance is printed beside a cell,
// follows from S3D's formulas, or is inferred, one number per method and task, from the one column that the setting
// names.
#pragma once
#include <map>
#include <tuple>

#include "model/acceptance.h"
#include "papers/paper_stack.h"

namespace draftline {

int batch_of(const PaperCell&);  // of the row; 1 where it says none
int draft_length_of(const PaperCell&);

class InferredRates {
 public:
  explicit InferredRates(PaperStack& stack) : stack_(stack) {}
  void read_from(const Paper& paper, const S3dFormulas* formulas) { paper_ = &paper, formulas_ = formulas; }

  struct Rate {
    PerSecond throughput;  // of the whole batch
    double length;         // tokens per step and sequence
    Work per_token;
  };
  std::optional<Rate> rate(const PaperTable&, const PaperCell&, int batch_size);

  // What a row ran on; no shape: the file does not say.
  struct Place {
    const PaperSetting* setting;
    const TransformerShape* shape;
  };
  Place place_of(const PaperTable&, const PaperCell&);

  static std::optional<PerSecond> printed(const PaperTable&, const PaperCell&);  // throughput in the cell's row
  std::optional<double> layer_ratio(const PaperCell&) const;  // beta, where S3D's formulas are at hand
  const PaperTable* table(const std::string& name) const;

 private:
  // What a step costs beyond the priced program: a constant, and a slope over the batch whose parts are of each
  // verified row and of each emitted token.
  struct Beyond {
    Seconds constant, per_sequence;
    std::optional<Seconds> issue = {};
    Seconds per_row = {}, per_token = {};
  };
  const Beyond& calibrated(const PaperTable&, const PaperSetting&, const PaperCell&);

  // The issue time at which the baseline's step takes what is printed for the task.
  std::optional<Seconds> issue_of(const PaperTable& home, const std::string& baseline, const PaperCell& like);
  // Another table's, of another host: as much slower or faster as the row "baseline" that both have.
  std::optional<Seconds> issue_on(const PaperTable&, const PaperTable& home, const std::string& baseline,
                                  const PaperCell& like);
  // A line through the printed baseline of a task; of another task where the table has none of this one.
  Beyond line_through(const PaperTable& home, const PaperCell& like, bool slope_is_of_rows);
  std::optional<double> acceptance(const PaperTable&, const PaperSetting&, const PaperCell&);

  PaperStack& stack_;
  const Paper* paper_ = nullptr;
  const S3dFormulas* formulas_ = nullptr;
  std::map<std::tuple<const PaperSetting*, std::string, std::string, std::string, std::string>, Beyond> beyond_;
};

}  // namespace draftline
