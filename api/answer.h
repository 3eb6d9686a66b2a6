// SPDX-License-Identifier: Apache-2.0
// The library's entry point: answers a question. A listener receives results as they are computed, so that memory does
// not grow with the points. Without a listener the answer holds all results and the JSON document.
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
// One result: a point of "run" or "simulate", an option of "plan", a method of "advise", a paper, or a calibration.
using Result = std::variant<Outcome, ServingOutcome, FleetOption, Advice, Paper, Calibration>;

struct Answer {
  std::shared_ptr<const Scenario> scenario;  // to which the points of results refer; null for "papers" and "calibrate"
  std::size_t points = 0;                    // points, methods or papers of the question
  std::size_t done = 0;                      // results so far, the first `from` points included; fewer if stopped
  InputFiles input_files;
  std::vector<std::string> notes;       // messages to the user that are not mistakes, such as a key's outdated name
  bool missed = false;                  // "plan": no option meets the targets
  std::optional<std::string> obstacle;  // why no point can run, with its place

  std::vector<Result> results;  // empty if a listener took them
  std::string document;         // the answer as JSON, as `draftline VERB --json` prints it
};

// Why a result has no figures; null if it has figures.
const std::string* obstacle_of(const Result&);

// Receives an answer while it is computed. Calls come one at a time, those of on_progress() from any thread.
class Listener {
 public:
  virtual ~Listener() = default;
  // Called after the question is read and before the first result. Returns whether to continue.
  virtual bool on_begin(const Answer&) { return true; }
  virtual void on_note(const std::string&) {}                            // each of Answer::notes
  virtual void on_progress(std::size_t /*done*/, std::size_t /*of*/) {}  // points, or requests of a single point
  virtual void on_result(Result&&) {}
  // Asked by any thread between the steps of simulations: whether they shall end without their results.
  virtual bool stopped() { return false; }
  virtual ServingObserver* observer() { return nullptr; }  // for the first run of "simulate" with a single point
};

// Throws InputErrors with all mistakes if the question is wrong; exceptions of `listener` and `executor` are passed on.
Answer answer(const Question&, const Data&, Executor&, Listener&);
// The answer with all results and its document.
Answer answer(const Question&, const Data&, Executor&);
Answer answer(const Question&, const Data&);  // computed by this thread

}  // namespace draftline
