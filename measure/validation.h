// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured: steps of a decoder, timed on a machine, against what the same path as `draftline run` says of
// the machine's device and engine files (docs/validate.md). Acceptance is an input in both worlds: cost is compared.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "model/error_summary.h"
#include "model/measured.h"
#include "predict/prediction.h"

namespace draftline {

// ---- what was measured (a file of its own)

struct MeasuredTurn {  // steps that followed each other
  Seconds time;        // of one
  double length = 0, emitted = 1;
  std::vector<int> steered = {};  // where steps differ: which of the cell's history
};
struct MeasuredOp {
  std::string key;
  Phase phase = Phase::verify;
  Seconds time;  // of all of the kind in a step
  double calls = 0;
};
struct MeasuredCell {
  std::string transformer;
  MethodSpec method;
  int batch_size = 1, context = 1;
  std::vector<MeasuredTurn> plain, turns;  // without and with the method, in turn
  std::vector<MeasuredOp> ops;             // of the method's step, from a run whose ops were clocked
  // What steered each of the method's steps, where they differ: answers of its decide() calls. Replayed in order, from
  // the context on, they make the same steps.
  std::vector<std::vector<std::vector<int>>> history = {};
  std::string skipped = {};  // why it could not be measured; then there are no turns
};
bool same_cell(const MeasuredCell&, const MeasuredCell&);

struct MeasuredSteps : Provenance {
  std::vector<MeasuredCell> cells;
};
MeasuredSteps read_measured_steps(Reader);
void write_measured_steps(std::ostream&, const MeasuredSteps&);

// ---- beside what is predicted

struct Compared {
  double predicted = 0, measured = 0;
  std::optional<Interval> interval;  // 90 %, of what is predicted
  double noise = 0;                  // half the spread of the middle half of the turns, relative
  double error() const { return predicted / measured - 1; }
  bool within_noise() const;  // the noise is larger than the error
};
struct ComparedOp {
  std::string key;  // "verify/linear", "host"
  double predicted = 0, measured = 0;
  double calls = 0;
};
struct ValidationCell {
  const MeasuredCell* measured = nullptr;
  double acceptance_length = 1, emitted = 1;  // input; by the measured run itself
  Compared step, plain, speedup;
  std::vector<ComparedOp> ops;
};

// A live server beside the simulator: the same requests, the live run's acceptance, the calibrated device and engine.
struct ComparedServing {
  std::string batching, method;
  std::size_t requests = 0;
  int runs = 0;  // live ones, whose median is compared
  double acceptance_length = 1;
  std::vector<std::pair<std::string, Compared>> figures;  // "throughput", "ttft_mean", "tpot_mean"
  std::string skipped;                                    // why it was not served; figures is empty then
};

// The batch at which a method stops paying, between the sizes measured; none: not within them.
struct StopsPaying {
  std::string transformer;
  MethodSpec method;
  int context = 0;
  std::optional<double> predicted, measured;
};

class Validation {
 public:
  // `rate`: of acceptance, for methods whose step costs the same whatever is accepted. `format`: of weights and activations.
  Validation(const Device&, const Engine&, std::map<std::string, TransformerShape> targets,
             Decoder::FindTransformer find, double rate, DType format = DType::fp32);
  ~Validation();
  ValidationCell compare(const MeasuredCell&);  // one that was not skipped; the cell points to what it is given
  // What a step is priced at: to know beforehand how long a measurement takes.
  Seconds expected(const std::string& transformer, const MethodSpec&, int batch_size, int context);
  // Its steps differ, and what they do follows the text: prompts are read to begin with.
  bool steered(const std::string& transformer, const MethodSpec&);

 private:
  struct Replay;
  Setup setup(const std::string& transformer, int batch_size, int context) const;
  const Device& device_;
  const Engine& engine_;
  std::map<std::string, TransformerShape> targets_;
  Decoder::FindTransformer find_;
  double rate_;
  PrecisionChoice precision_;
  Predictor predictor_;
};

std::vector<StopsPaying> stops_paying(const std::vector<ValidationCell>&);

// Which ops, and what of them, the cells' errors come from: means over the cells of (predicted - measured) / step.
struct ErrorBudgetItem {
  std::string key;
  double absolute = 0, mean = 0, share = 0;  // share: of the step's time, measured
};
std::vector<ErrorBudgetItem> error_budget(const std::vector<ValidationCell>&);

}  // namespace draftline
