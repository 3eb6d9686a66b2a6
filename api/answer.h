// SPDX-License-Identifier: Apache-2.0
// The one way into the library: asks a question and answers it. A listener receives results as they are computed, so
// that memory does not grow with the points; without one, the answer holds all results and the JSON document.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/executor.h"
#include "api/question.h"
#include "model/calibration/calibrated_files.h"
#include "papers/paper_table.h"
#include "sim/advice.h"
#include "sim/capacity.h"

namespace draftline {

struct Calibration {
  CalibratedDevice device;
  std::optional<OrderedJson> engine;  // the profile of our decoder's host; none if the host was not measured
};
// The result of a point of "run", "simulate", "plan" or "advise", of a paper, or of "calibrate".
using Result = std::variant<Outcome, ServingOutcome, FleetOption, Advice, Paper, Calibration>;

struct Answer {
  std::shared_ptr<const Scenario> scenario;  // to which the points of results refer; null for "papers" and "calibrate"
  std::size_t points = 0;                    // points, methods or papers of the question
  std::size_t done = 0;                      // results so far, the first `from` points included; fewer if stopped
  InputFiles input_files;
  std::vector<std::string> notes;  // what a user should know though it is no mistake, such as a key's outdated name
  bool missed = false;             // "plan": no option meets the targets
  std::optional<std::string> obstacle;  // why no point can run, with its place

  std::vector<Result> results;  // empty if a listener took them
  std::string document;         // the same as JSON, as `draftline VERB --json` prints it
};

// Why a result has no figures; null if it has.
const std::string* obstacle_of(const Result&);

// Receives an answer while it is computed. Calls come one at a time, those of on_progress() from any thread.
class Listener {
 public:
  virtual ~Listener() = default;
  // Called once the question is read, before the first result. Returns whether to go on.
  virtual bool on_begin(const Answer&) { return true; }
  virtual void on_note(const std::string&) {}                            // each of Answer::notes
  virtual void on_progress(std::size_t /*done*/, std::size_t /*of*/) {}  // points, or the requests of a single one
  virtual void on_result(Result&&) {}
  virtual ServingObserver* observer() { return nullptr; }  // of the first run of "simulate" with a single point
};

// Throws InputErrors with all mistakes if the question is wrong; what `listener` and `executor` throw is passed on.
Answer answer(const Question&, const Data&, Executor&, Listener&);
// The answer with all results and its document.
Answer answer(const Question&, const Data&, Executor&);
Answer answer(const Question&, const Data&);  // computed by this thread

}  // namespace draftline
