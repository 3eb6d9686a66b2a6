// SPDX-License-Identifier: Apache-2.0
// Predicts the throughputs of a paper's rows from priced steps. Only the printed baseline is used for calibration: it
// gives either the host's issue time, of a task or of each batch size, or the time of a plain step beyond the priced
// one as a linear function of the batch size. The acceptance length is printed in the same row, follows from S3D's
// formulas (equations 10 to 14), or is inferred, one number per method and task, from the one column that the setting
// names. See docs/explanation/papers.md.
#pragma once
#include <map>
#include <tuple>

#include "model/acceptance/acceptance.h"
#include "papers/paper_stack.h"

namespace draftline {

int batch_of(const PaperCell&);         // the row's batch size, clamped to 1 to 2^14; 1 if it has none
int draft_length_of(const PaperCell&);  // the row's draft length, clamped to 0 to 2^10; 0 if it has none

class InferredRates {
 public:
  explicit InferredRates(PaperStack& stack) : stack_(stack) {}  // the stack must outlive this object
  // Sets the paper, which must outlive this object, and S3D's formulas, or null without them.
  void read_from(const Paper& paper, const S3dFormulas* formulas) { paper_ = &paper, formulas_ = formulas; }

  struct Rate {
    PerSecond throughput;  // output tokens/s of the whole batch
    double length;         // mean acceptance length, the bonus token included
    Work per_token;        // FLOP and bytes per emitted token
    bool at_limit;         // the printed baseline is faster than the device alone
  };
  // The predicted rate of a cell's row; none if its transformer, method or acceptance is unknown.
  std::optional<Rate> rate(const PaperTable&, const PaperCell&, int batch_size);

  // The setting and the target of a row; null if the file does not give them.
  struct Place {
    const PaperSetting* setting;
    const TransformerShape* shape;
  };
  Place place_of(const PaperTable&, const PaperCell&);

  // The throughput that the paper prints in the cell's row, in tokens/s of the whole batch; none if it prints none.
  static std::optional<PerSecond> printed(const PaperTable&, const PaperCell&);
  std::optional<double> layer_ratio(const PaperCell&) const;  // S3D's beta, 0 to 1; none without formulas or such a key
  const PaperTable* table(const std::string& name) const;     // null if there is none

 private:
  // The calibrated time of a step beyond the priced one: a constant, and a slope over the batch size, which consists of
  // a time per verified row and a time per emitted token. `issue`: a calibrated issue time instead of the profile's.
  struct Beyond {
    Seconds constant, per_sequence;
    std::optional<Seconds> issue = {};
    Seconds per_row = {}, per_token = {};
    bool at_limit = false;  // the issue time is 0, as the printed baseline is faster than the device alone
  };
  const Beyond& calibrated(const PaperTable&, const PaperSetting&, const PaperCell&);
  // The issue time that the printed baseline of the cell's batch size and transformer needs; none if none is printed.
  Beyond issue_by_batch(const PaperTable&, const PaperCell&);

  // The issue time with which the baseline's predicted throughput is the printed one of the task.
  std::optional<Seconds> issue_of(const PaperTable& home, const std::string& baseline, const PaperCell& like);
  // The issue time of another table with a slower or faster host, scaled by the row "baseline" that both tables have.
  std::optional<Seconds> issue_on(const PaperTable&, const PaperTable& home, const std::string& baseline,
                                  const PaperCell& like);
  // The issue time with which the baseline's step takes `wanted`, by so many halvings of 1 ms.
  Seconds issue_for(Seconds wanted, const PaperTable&, const PaperCell& baseline, int batch_size, int halvings);
  // The line through the printed baseline of the cell's task, or of all tasks if the table has no such baseline.
  Beyond line_through(const PaperTable& home, const PaperCell& like, bool slope_is_of_rows);
  std::optional<double> acceptance(const PaperTable&, const PaperSetting&, const PaperCell&);  // acceptance length

  PaperStack& stack_;
  const Paper* paper_ = nullptr;
  const S3dFormulas* formulas_ = nullptr;
  std::map<std::tuple<const PaperSetting*, std::string, std::string, std::string, std::string, int>, Beyond> beyond_;
};

}  // namespace draftline
