// SPDX-License-Identifier: Apache-2.0
#include "measure/validation.h"

#include <algorithm>
#include <cmath>

#include "core/json_parse.h"
#include "core/text_file.h"
#include "measure/cell_comparison.h"

namespace draftline {

bool same_cell(const MeasuredCell& a, const MeasuredCell& b) {
  return a.transformer == b.transformer && a.method == b.method && a.batch_size == b.batch_size &&
         a.context == b.context;
}

bool Compared::within_noise() const { return noise > std::abs(error()); }

Validation::Validation(const Device& device, const Engine& engine, std::map<std::string, TransformerShape> targets,
                       Decoder::FindTransformer find, Options options)
    : device_(device),
      engine_(engine),
      targets_(std::move(targets)),
      find_(find),
      options_(options),
      recordings_(find),
      pricer_(recordings_) {}
Validation::~Validation() = default;

Setup Validation::setup(const std::string& transformer, int batch_size, int context) const {
  return {.device = outliving(device_),
          .engine = outliving(engine_),
          .transformer = outliving(targets_.at(transformer)),
          .precision = Precision(options_.format),
          .parallel = {},
          .batch_size = batch_size,
          .prompt_tokens = context,
          .output_tokens = 2};
}

void Validation::check_networks(const std::vector<MeasuredCell>& cells, const std::filesystem::path& file) const {
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!targets_.contains(cells[i].transformer))
      throw InputErrors(printable_path(file) + "#/cells/" + std::to_string(i) + "/transformer: " +
                        in_quotes(cells[i].transformer) + " is not a network of data/validation/grid.json");
}

Seconds Validation::expected(const std::string& transformer, const MethodSpec& method, int batch_size, int context) {
  return pricer_.step_price(setup(transformer, batch_size, context), {method})(context);
}

bool Validation::steered(const std::string& transformer, const MethodSpec& method) {
  return !recordings_.method(setup(transformer, 1, 1), {method}).static_plan();
}

static std::optional<double> median_clock(const MeasuredCell& m) {
  std::vector<double> all;
  for (const auto* side : {&m.plain, &m.turns})
    for (const MeasuredTurn& t : *side)
      if (t.clock_mhz) all.push_back(*t.clock_mhz);
  return all.empty() ? std::nullopt : std::optional(quantile(all, 0.5));
}

ValidationCell Validation::compare(const MeasuredCell& m) {
  if (!m.memory || !options_.probed || device_.cpu() == nullptr) return compare(m, device_);
  Device& now = beside_cells_.emplace_back(device_);
  *now.cpu() = drifted(*device_.cpu(), drift(*m.memory, *options_.probed));
  return compare(m, now);
}

ValidationCell Validation::compare(const MeasuredCell& m, const Device& device) {
  Setup setup = this->setup(m.transformer, m.batch_size, m.context);
  setup.device = outliving(device);
  ValidationCell cell = CellComparison(m, setup, options_.rate, pricer_, find_).result();
  cell.clock_mhz = median_clock(m);
  return cell;
}

// ---- over many cells

namespace {

// The batch at which the speedup falls through 1, interpolated linearly over the logarithm of the batch.
std::optional<double> crossing(const std::map<int, double>& speedup) {
  for (auto next = std::next(speedup.begin()); next != speedup.end(); ++next) {
    const auto& [from, high] = *std::prev(next);
    const auto& [to, low] = *next;
    if (high >= 1 && low < 1) return from * std::pow(1.0 * to / from, (high - 1) / (high - low));
  }
  return std::nullopt;
}

}  // namespace

std::vector<double> errors_of(const std::vector<ValidationCell>& cells, const Compared ValidationCell::*figure,
                              const CellFilter& which) {
  std::vector<double> all;
  for (const ValidationCell& c : cells)
    if (!which || which(c)) all.push_back((c.*figure).error());
  return all;
}

std::vector<StopsPaying> stops_paying(const std::vector<ValidationCell>& cells) {
  struct Curves {
    std::map<int, double> predicted, measured;
  };
  std::map<std::tuple<std::string, MethodSpec, int>, Curves> all;
  for (const ValidationCell& c : cells) {
    Curves& one = all[{c.measured->transformer, c.measured->method, c.measured->context}];
    one.predicted[c.measured->batch_size] = c.speedup.predicted;
    one.measured[c.measured->batch_size] = c.speedup.measured;
  }
  std::vector<StopsPaying> found;
  for (const auto& [key, curves] : all) {
    if (curves.predicted.size() < 2) continue;
    const StopsPaying one{std::get<0>(key), std::get<1>(key), std::get<2>(key), crossing(curves.predicted),
                          crossing(curves.measured)};
    if (one.predicted || one.measured) found.push_back(one);
  }
  return found;
}

std::vector<ErrorBudgetItem> error_budget(const std::vector<ValidationCell>& cells) {
  std::map<std::string, ErrorBudgetItem> all;
  double n = 0;
  for (const ValidationCell& c : cells) n += !c.ops.empty();
  for (const ValidationCell& c : cells)
    for (const ComparedOp& op : c.ops) {
      ErrorBudgetItem& b = all.try_emplace(op.key, ErrorBudgetItem{op.key}).first->second;
      const double error = (op.predicted - op.measured) / c.step.measured;
      b.absolute += std::abs(error) / n;
      b.mean += error / n;
      b.share += op.measured / c.step.measured / n;
    }
  std::vector<ErrorBudgetItem> sorted;
  for (auto& [key, b] : all) sorted.push_back(b);
  std::ranges::sort(sorted, [](const ErrorBudgetItem& a, const ErrorBudgetItem& b) { return a.absolute > b.absolute; });
  return sorted;
}

std::vector<OpTotal> op_totals(const std::vector<ValidationCell>& cells) {
  std::map<std::pair<std::string, std::string>, OpTotal> all;
  std::map<std::string, double> cells_of;  // by network
  for (const ValidationCell& c : cells) {
    if (c.ops.empty()) continue;
    const std::string& network = c.measured->transformer;
    cells_of[network] += 1;
    for (const ComparedOp& op : c.ops) {
      OpTotal& o = all.try_emplace({network, op.key}, OpTotal{network, op.key}).first->second;
      o.predicted += op.predicted / c.step.measured;
      o.measured += op.measured / c.step.measured;
    }
  }
  std::vector<OpTotal> sorted;
  for (auto& [key, o] : all) {
    o.cells = cells_of[o.network];
    sorted.push_back(o);
  }
  std::ranges::stable_sort(sorted, [](const OpTotal& a, const OpTotal& b) {
    return a.network != b.network ? a.network > b.network : a.measured > b.measured;
  });
  return sorted;
}

}  // namespace draftline
