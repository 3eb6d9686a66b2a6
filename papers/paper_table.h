// SPDX-License-Identifier: Apache-2.0
// A paper's table beside ours: cells with kinds, errors summarised over predicted cells alone, and the audit: the share
// of the device's datasheet FLOP/s or bandwidth, whichever is larger, that a printed figure needs.
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

#include "core/json_writer.h"
#include "core/reader.h"
#include "model/device.h"
#include "model/error_summary.h"
#include "model/work.h"

namespace draftline {

using RowValue = std::variant<std::int64_t, double, std::string>;
std::string text_of(const RowValue&);
using RowKey =
    std::vector<std::pair<std::string, RowValue>>;  // as printed: {"method", "hass"}, {"batch_size", 16}, ...

enum class Credibility { credible, not_credible, impossible };  // needs up to 0.5, up to 1, more than 1 of the peak
Credibility credibility(double peak_share);

struct PaperCell {
  RowKey row;
  std::string column;
  FigureKind kind = FigureKind::predicted;
  std::optional<double> paper, ours;  // no paper: the value can't be read
  std::optional<double> peak_share;   // that the printed value needs
  std::optional<std::string> set_apart, note;

  std::optional<double> error() const;  // ours / paper - 1
  bool is_credible() const;             // a fair target: not set apart, and needs no more than half of the peak
  const RowValue* find(std::string_view key) const;
  std::optional<std::int64_t> number(std::string_view key) const;
  std::string text(std::string_view key) const;  // "" where the row has no such key
};

struct PaperTable {
  std::string table, source, locator, note;
  std::map<std::string, std::string> context;  // "transformer", "device": of all rows
  std::vector<PaperCell> cells;
  ErrorSummary summary(bool credible_only) const;
  ErrorSummary summary(bool credible_only, const std::function<bool(const PaperCell&)>& which) const;
};

struct Paper {
  std::string paper, source;
  std::vector<PaperTable> tables;
  InputFiles input_files = {};  // that the predictions were computed from
};

// Reads the tables of a file of data/papers. A row's keys that are not among the file's columns say which row it is;
// "kinds", "notes" and "set_apart" speak of its cells by column. What else the file holds is left to others, unread.
Paper read_paper(Reader);

// What a printed throughput needs: the larger of its shares of the datasheet's matrix rate and bandwidth.
double peak_share(const Work& per_token, PerSecond throughput, const Device&, DType);

// Ours for a cell, and what the printed value would need. None: no prediction.
struct CellPrediction {
  double ours = 0;
  std::optional<double> peak_share;
  std::string note;  // added to the cell's
};
using CellPredictor = std::function<std::optional<CellPrediction>(const PaperTable&, const PaperCell&)>;
// Asks for every cell that is predicted or calibrated; an input is ours as it stands.
void predict(Paper&, const CellPredictor&);

}  // namespace draftline
