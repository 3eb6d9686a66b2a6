// SPDX-License-Identifier: Apache-2.0
// A table with a row for each served run (served_formats.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "core/csv.h"
#include "core/errors.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/quantity_text.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

// A known column that begins the unknown one ("batch" of "batch_size"), or one that is spelt much like it.
std::string known_column(std::string_view column, std::span<const std::string_view> known) {
  const auto begins = [&](std::string_view k) { return column.starts_with(std::string(k) + "_"); };
  const auto found = std::ranges::find_if(known, begins);
  return found == known.end() ? did_you_mean(column, known) : "; did you mean \"" + std::string(*found) + "\"?";
}

// Names every unknown column, and all that are known.
void refuse_unknown_columns(const Csv& t, const std::filesystem::path& file, std::span<const std::string_view> known) {
  std::vector<std::string> mistakes;
  const std::string place = printable(file.string(), 1000) + ":1: ";
  for (const std::string& column : t.columns()) {
    if (std::ranges::find(known, column) != known.end()) continue;
    const bool no_unit = column == "tpot" || column == "itl" || column == "step";
    mistakes.push_back(
        place + "unknown column \"" + printable(column) + "\"" +
        (no_unit ? "; the name must include the unit: \"" + column + "_ms\", \"step_us\", \"step_s\" or \"tpot_s\""
                 : known_column(column, known)));
  }
  if (mistakes.empty()) return;
  std::string all;
  for (const std::string_view one : known) all += (all.empty() ? "" : ", ") + std::string(one);
  mistakes.push_back(place + "known columns: " + all + "; required: batch, context and one column of times");
  throw InputErrors(std::move(mistakes));
}

}  // namespace

std::vector<ServedRun> read_served_table(const std::filesystem::path& file) {
  struct Time {
    std::string_view column;
    double unit;
  };
  static constexpr std::array<Time, 6> times{
      {{"step_ms", 1e-3}, {"tpot_ms", 1e-3}, {"itl_ms", 1e-3}, {"step_us", 1e-6}, {"step_s", 1}, {"tpot_s", 1}}};
  static constexpr std::array<std::string_view, 14> known{
      "batch",       "context",   "step_ms",         "tpot_ms",           "itl_ms",       "step_us", "step_s", "tpot_s",
      "transformer", "precision", "tensor_parallel", "acceptance_length", "draft_length", "rows"};
  const Csv t = Csv::from_file(file);
  refuse_unknown_columns(t, file, known);
  const auto time = std::find_if(times.begin(), times.end(), [&](const Time& x) { return t.has(x.column); });
  const auto batch = t.column("batch"), context = t.column("context"),
             column = t.column(time == times.end() ? "step_ms" : time->column);
  if (std::count_if(times.begin(), times.end(), [&](const Time& x) { return t.has(x.column); }) > 1)
    throw InputErrors(printable(file.string(), 1000) + ":1: more than one column of times");
  std::vector<ServedRun> runs;
  for (std::size_t row = 0; row < t.rows(); ++row) {
    const auto within = [&](std::size_t c, double least, double most) {
      const double v = t.number(row, c);
      const auto bound = [](double b) {
        return b == std::floor(b) ? std::to_string(static_cast<std::int64_t>(b)) : significant(b);
      };
      if (v < least || v > most) t.fail(row, t.columns()[c] + " must be from " + bound(least) + " to " + bound(most));
      return v;
    };
    const auto told = [&](std::string_view name) -> std::optional<std::string> {
      if (!t.has(name) || t.text(row, name).empty()) return std::nullopt;
      return std::string(t.text(row, name));
    };
    ServedRun run;
    run.place = file.string() + ":" + std::to_string(t.line(row));
    run.batch_size = within(batch, 1, kMostServedSequences);
    run.context = within(context, 0, kMostServedLength);
    run.time = time->unit * Seconds{within(column, 1e-9, 1e9)};
    run.transformer = told("transformer");
    run.precision = told("precision");
    if (told("tensor_parallel")) run.tensor_parallel = static_cast<int>(within(t.column("tensor_parallel"), 1, 1024));
    if (told("acceptance_length")) run.tokens_per_step = within(t.column("acceptance_length"), 1, 1024);
    if (told("draft_length")) run.draft_length = within(t.column("draft_length"), 1, 1024);
    if (told("rows")) run.rows = static_cast<int>(within(t.column("rows"), 1, kMostServedRows));
    if (run.rows > 1 && run.speculates())
      t.fail(row, "\"rows\" is of a step without drafting: it can't have an \"acceptance_length\"");
    if (!time->column.starts_with("step")) run.time = run.tokens_per_step * run.time;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace draftline
