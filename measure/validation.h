// SPDX-License-Identifier: Apache-2.0
// Compares measured steps of a decoder on a machine with the steps that `draftline run` predicts from the machine's
// device and engine files (docs/recipes/validate.md). Acceptance is an input of both, so that only costs differ.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/serving_limits.h"
#include "model/calibration/error_summary.h"
#include "model/calibration/measured.h"
#include "model/calibration/memory_drift.h"
#include "predict/prediction.h"

namespace draftline {

// ---- what was measured (a file of its own)

struct MeasuredTurn {                    // consecutive steps that were timed together
  Seconds time;                          // of one step
  double length = 0;                     // mean committed length
  double emitted = 1;                    // tokens per sequence and step
  std::vector<int> steered = {};         // if steps differ: indices of these steps in MeasuredCell::history
  std::optional<double> clock_mhz = {};  // of a GPU, directly after the steps; none: not reported by the driver
};
struct MeasuredOp {
  std::string key;
  Phase phase = Phase::verify;
  Seconds time;  // of all ops of the kind in a step
  double calls = 0;
};
struct MeasuredCell {
  std::string transformer;
  MethodSpec method;
  int batch_size = 1, context = 1;
  std::vector<MeasuredTurn> plain = {}, turns = {};  // without and with the method, measured alternately
  std::vector<MeasuredOp> ops = {};                  // ops of the method's step, from runs in which each op was timed
  // If steps differ: the results of the decide() calls in each step of the method. Replaying them in order from the
  // same context records the same steps.
  std::vector<std::vector<std::vector<int>>> history = {};
  std::optional<MemoryTimes> memory = {};  // readings of the memory reference around the cell, on a CPU
  std::string skipped = {};                // why the cell could not be measured; then there are no turns
  bool device_failed = false;              // the cell was skipped for a device error; a continued run tries it last
};
bool same_cell(const MeasuredCell&, const MeasuredCell&);

struct MeasuredSteps : Provenance {
  std::vector<MeasuredCell> cells = {};
};
// Throws InputErrors, at Document::finish(), with every mistake in the file.
MeasuredSteps read_measured_steps(Reader);
void write_measured_steps(std::ostream&, const MeasuredSteps&);

// ---- compared with predictions

struct Compared {
  double predicted = 0, measured = 0;
  std::optional<Interval> interval;  // 90 % interval of the prediction
  double noise = 0;                  // half the interquartile range of the turns, relative to their median
  double error() const { return predicted / measured - 1; }
  bool within_noise() const;  // whether the noise is larger than the error
};
// Compares with the median of the measured values, which is more robust than the mean, in units of `scale`.
Compared compared(double predicted, const std::vector<double>& measured, double scale = 1);
struct ComparedOp {
  std::string key;  // "verify/linear", "host"
  double predicted = 0, measured = 0;
  double calls = 0;
};
struct ValidationCell {
  const MeasuredCell* measured = nullptr;
  double acceptance_length = 1, emitted = 1;  // of the prediction; of the measured run
  Compared step, plain, speedup;
  std::vector<ComparedOp> ops;
  std::optional<double> clock_mhz = {};  // of a GPU: median over the turns with and without the method
};

// A live server compared with the simulator, which gets the same requests, the live run's acceptance and the calibrated
// device and engine.
struct ComparedServing {
  Batching batching = Batching::prefill_first;  // or static
  std::string batching_name() const { return batching == Batching::static_batching ? "static" : "continuous"; }
  std::string method;
  std::size_t requests = 0;
  int runs = 0;  // live runs, whose median is compared
  double acceptance_length = 1;
  std::vector<std::pair<std::string, Compared>> figures;  // "throughput", "ttft_mean", "tpot_mean"
  std::string skipped;                                    // why serving was skipped; then there are no figures
};

// The break-even batch of a method, interpolated between measured sizes. None: the speedup does not fall below 1 within
// these sizes.
struct StopsPaying {
  std::string transformer;
  MethodSpec method;
  int context = 0;
  std::optional<double> predicted, measured;
};

class Validation {
 public:
  struct Options {
    double rate = 0;             // the acceptance rate, for methods whose step costs the same whatever is accepted
    DType format = DType::fp32;  // of weights and activations
    // The memory reference's readings while the device was probed; cells with readings of their own are predicted for
    // the machine as it was then.
    std::optional<MemoryTimes> probed = {};
  };
  // The device and the engine must outlive the validation.
  Validation(const Device&, const Engine&, std::map<std::string, TransformerShape> targets,
             Decoder::FindTransformer find, Options);
  ~Validation();
  ValidationCell compare(const MeasuredCell&);  // of a cell that was not skipped; the result points to its argument
  // Throws InputErrors unless each cell's network is a target. `file`: the file that holds the cells.
  void check_networks(const std::vector<MeasuredCell>& cells, const std::filesystem::path& file) const;
  // The predicted time of a step, from which the duration of a measurement can be estimated.
  Seconds expected(const std::string& transformer, const MethodSpec&, int batch_size, int context);
  // Whether the method's steps depend on the text and thus differ. Contexts then can't be assumed; prompts are
  // computed.
  bool steered(const std::string& transformer, const MethodSpec&);

 private:
  ValidationCell compare(const MeasuredCell&, const Device&);
  Setup setup(const std::string& transformer, int batch_size, int context) const;
  const Device& device_;
  const Engine& engine_;
  std::map<std::string, TransformerShape> targets_;
  Decoder::FindTransformer find_;
  Options options_;
  std::list<Device> beside_cells_;  // the device's state during each cell, to which prices refer
  Recordings recordings_;
  Pricer pricer_;
};

// ---- over many cells

// The errors of one figure in the cells that `which` selects; null: in all cells.
using CellFilter = std::function<bool(const ValidationCell&)>;
std::vector<double> errors_of(const std::vector<ValidationCell>&, const Compared ValidationCell::*figure,
                              const CellFilter& which = {});

std::vector<StopsPaying> stops_paying(const std::vector<ValidationCell>&);

// The error budget: the contribution of each kind of op to the errors of steps, as a mean over the cells of (predicted
// - measured) / step time. The largest contribution comes first.
struct ErrorBudgetItem {
  std::string key;
  double absolute = 0, mean = 0;  // mean of the absolute contributions; mean of the contributions
  double share = 0;               // of the measured step time
};
std::vector<ErrorBudgetItem> error_budget(const std::vector<ValidationCell>&);

// A kind of op on one network: its times, each divided by its cell's measured step time, summed over the cells.
// Sorted by network, then by descending time.
struct OpTotal {
  std::string network, key;
  double predicted = 0, measured = 0;
  double cells = 0;  // cells of the network in which ops were timed
};
std::vector<OpTotal> op_totals(const std::vector<ValidationCell>&);

}  // namespace draftline
