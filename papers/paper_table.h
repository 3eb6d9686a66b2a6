// SPDX-License-Identifier: Apache-2.0
// The tables of a paper with our predictions: cells with kinds, the errors of predicted cells, and an audit, the share
// of the device's datasheet FLOP/s or bandwidth that a printed figure needs (docs/explanation/papers.md).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/figure_kind.h"
#include "core/reader.h"
#include "model/calibration/error_summary.h"
#include "model/devices/device.h"
#include "model/work.h"
#include "papers/fitted_cost.h"

namespace draftline {

using RowValue = std::variant<std::int64_t, double, std::string>;
std::string text_of(const RowValue&);  // numbers with fractions have 4 significant digits
// What identifies a row, in the paper's order: {"method", "hass"}, {"batch_size", 16}, ...
using RowKey = std::vector<std::pair<std::string, RowValue>>;

enum class Credibility { credible, not_credible, impossible };  // peak share up to 0.5, up to 1, above 1
Credibility credibility(double peak_share);

// How a table is read: calibrated on its baseline alone, or with one cost of the engine fitted besides.
enum class TableReading { baseline_only, fitted };

struct PaperCell {
  RowKey row;
  std::string column;
  FigureKind kind = FigureKind::predicted;
  std::optional<double> paper, ours;  // the printed value, none if it is illegible; our prediction, in the same unit
  std::optional<double> peak_share;   // of the printed value
  std::optional<std::string> excluded, note;  // excluded: the reason why it is left out
  std::optional<double> fitted;               // our prediction with the paper's fitted cost; none without one
  bool calibrates = false;                    // is among the cells of the target, task or method of the fitted cost

  FigureKind kind_in(TableReading) const;  // calibrated if it is so without the cost, or calibrates the cost
  // ours / paper - 1; none if either is missing or the paper's value is 0
  std::optional<double> error(TableReading = TableReading::baseline_only) const;
  bool predicted_in_both() const;                    // in both readings
  bool is_credible() const;                          // not excluded, and a peak share of at most 0.5 or unknown
  const RowValue* find(std::string_view key) const;  // null if the row has no such key
  std::optional<std::int64_t> number(std::string_view key) const;  // none unless the value is a whole number
  std::string text(std::string_view key) const;                    // "" if the row has no such key
};

struct PaperTable {
  std::string table, source, locator, note;    // name; key of data/sources.json; place in the source
  std::map<std::string, std::string> context;  // "transformer", "device" and others that hold for all rows
  std::vector<PaperCell> cells;
  bool has_fitted_cells() const;
  std::vector<std::string> predicted_columns() const;  // those with predicted cells, in the order of their first one
  // Errors of the predicted cells; of credible ones only, or also only those for which `which` is true.
  ErrorSummary summary(bool credible_only) const;
  ErrorSummary summary(bool credible_only, const std::function<bool(const PaperCell&)>& which,
                       TableReading = TableReading::baseline_only) const;
};

struct Paper {
  std::string paper, source;
  std::vector<PaperTable> tables;
  InputFiles input_files = {};                 // of the predictions
  std::optional<FittedCost> fitted_cost = {};  // of the second reading; none if the paper's file fits none
};

// Reads the tables of a file of data/papers; mistakes are noted at the reader. Keys of a row that are not among the
// file's columns identify the row; "kinds", "notes" and "excluded" hold values by column. Other keys of the file are
// not read.
Paper read_paper(Reader);

// The peak share of a throughput: the larger of its shares of the datasheet's FLOP/s in that format and of the
// bandwidth.
double peak_share(const Work& per_token, PerSecond throughput, const Device&, DType);

// The prediction of a cell, in the paper's unit.
struct CellPrediction {
  double ours = 0;
  std::optional<double> peak_share;  // of the printed value
  std::string note;                  // appended to that of the cell
};
using CellPredictor = std::function<std::optional<CellPrediction>(const PaperTable&, const PaperCell&)>;  // or none
// Sets `ours` of every predicted or calibrated cell by the predictor, and of inputs to the printed value.
void predict(Paper&, const CellPredictor&);

}  // namespace draftline
