// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate_served.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/command.h"
#include "cli/options.h"
#include "core/build_info.h"
#include "core/text_file.h"
#include "model/calibration/calibrated_files.h"
#include "model/devices/fit_quality.h"
#include "model/engines/served_profile.h"
#include "predict/row_fit.h"
#include "predict/served_ttft.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

std::string signed_percent(double share) { return (share > 0 ? "+" : "") + significant(100 * share, 2) + " %"; }

std::string value_text(const EngineField& field, double v) {
  return std::holds_alternative<Seconds Engine::*>(field.member) ? to_text(Seconds{v}) : significant(v);
}

void print_runs(std::ostream& out, const ServedPoints& served, const ServedFit& fit, std::size_t width) {
  const auto& points = served.points();
  const bool speculates = std::ranges::any_of(points, [](const ServedPoint& p) { return p.run.speculates(); });
  std::vector<Table::Column> columns{"run", "batch", "context", "a step", "shipped", "fitted", "left out"};
  if (speculates) columns.insert(columns.begin() + 3, "tok/step");
  Table table(std::move(columns));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ServedRun& run = points[i].run;
    std::vector<Cell> row{run.place,
                          points[i].setup.batch_size,
                          to_int(std::lround(run.context)),
                          to_text(run.time / run.steps),
                          signed_percent(fit.runs[i].shipped),
                          signed_percent(fit.runs[i].fitted),
                          signed_percent(fit.runs[i].left_out)};
    if (speculates) row.insert(row.begin() + 3, Cell(run.tokens_per_step));
    table.add(std::move(row));
  }
  out << table.to_text(width);
}

void print_summary(std::ostream& out, const ServedFit& fit) {
  const auto said = [&](const char* what, double FittedRun::*error) {
    std::vector<double> sizes;
    double mean = 0;
    for (const FittedRun& r : fit.runs) {
      sizes.push_back(std::abs(r.*error));
      mean += r.*error / to_double(fit.runs.size());
    }
    out << what << " a run is " << significant(100 * quantile(sizes, 0.5), 2) << " % off at the median, "
        << significant(100 * quantile(sizes, 1), 2) << " % at worst, " << signed_percent(mean) << " on average\n";
  };
  said("As shipped,", &FittedRun::shipped);
  const auto known = std::ranges::count_if(fit.runs, [](const FittedRun& r) { return r.inside.has_value(); });
  if (known > 0)
    out << std::ranges::count_if(fit.runs, [](const FittedRun& r) { return r.inside.value_or(false); }) << " of "
        << known << (known == 1 ? " run lies" : " runs lie") << " inside the 90 % interval of the shipped profile\n";
  said("Fitted to all others,", &FittedRun::left_out);
}

void print_terms(std::ostream& out, const Engine& shipped, const ServedFit& fit, std::size_t width) {
  Table table({"term", "charged", "shipped", "fitted", "90 % interval", "learned"});
  for (const FittedTerm& t : fit.terms) {
    const EngineField& field = *t.term.field;
    table.add({std::string(field.key), field.title(), value_text(field, field.fitted_value(shipped)),
               value_text(field, t.value), value_text(field, t.low) + " to " + value_text(field, t.high),
               significant(100 * t.learned, 2) + " %"});
  }
  out << table.to_text(width);
}

void print_ttft(std::ostream& out, const TtftFit& ttft, std::size_t width) {
  if (ttft.runs.empty()) return;
  Table table({"run", "TTFT", "shipped", "error", "fitted", "error"});
  const auto error = [](Seconds predicted, Seconds measured) { return signed_percent(predicted / measured - 1); };
  for (const ServedTtft& run : ttft.runs)
    table.add({run.place, to_text(run.measured), to_text(run.shipped), error(run.shipped, run.measured),
               to_text(run.fitted), error(run.fitted, run.measured)});
  out << "\n"
      << table.to_text(width) << "front_end: " << to_text(Seconds{ttft.front_end->value}) << " ("
      << to_text(Seconds{ttft.front_end->low}) << " to " << to_text(Seconds{ttft.front_end->high})
      << "): what of a TTFT is not in the steps\n";
}

std::filesystem::path profile_file(const std::string& engine, const Engine& read, const std::filesystem::path& data) {
  if (engine.find('/') != std::string::npos || engine.ends_with(".json")) return engine;
  return data / "engines" / (read.name + "-" + read.version + ".json");
}

struct Fits {
  ServedFit steps;
  TtftFit ttft;
};

std::string profile_text(const ServedOptions& o, const ServedPoints& served, const Fits& fits,
                         const std::filesystem::path& data) {
  const ServedFit& fit = fits.steps;
  const Engine& shipped = served.engine();
  ServedProfile p{.shipped = profile_file(o.engine, shipped, data),
                  .name = o.out.empty() ? "my-" + shipped.name : o.out.stem().string(),
                  .title = shipped.name + " " + shipped.version + ", fitted to " + std::to_string(fit.runs.size()) +
                           " runs of a server with " + o.device + " and " + o.transformer,
                  .source = o.source,
                  .locator = o.locator,
                  .padded = fit.padded,
                  .values = profile_values(fit),
                  .row_work = are_steps_by_rows(served.points()) ? fit.engine.row_work : std::vector<RowWork>{},
                  .pair_work = fit.engine.pair_work};
  if (fits.ttft.front_end) p.values.push_back(*fits.ttft.front_end);
  OrderedJson profile = profile_of(p);
  InputFiles files = served.input_files();
  for (const std::string& argument : o.files) add_file(files, served_file(argument));
  profile["model"] = build_model();
  profile["input_files"] = named(files, data);
  return text_of(profile);
}

}  // namespace

int calibrate_served(const ServedOptions& o, const std::filesystem::path& data) {
  std::vector<std::filesystem::path> read{o.device, o.engine, o.transformer};
  for (const std::string& argument : o.files) read.push_back(served_file(argument));
  check_outputs({{"--engine-out", o.out}}, read);
  std::vector<ServedRun> runs;
  std::vector<std::string> notes;
  for (const std::string& file : o.files)
    for (ServedRun& run : read_served_runs(file)) {
      notes.insert(notes.end(), run.notes.begin(), run.notes.end());
      runs.push_back(std::move(run));
    }
  const ServedPoints served(std::move(runs), o, data);
  notes.insert(notes.end(), served.notes().begin(), served.notes().end());
  std::vector<ServedPoint> points = served.points();
  if (are_steps_by_rows(points)) points = under(points, fitted_to_rows(points, served.engine()));
  Fits fits{fit_served(points), {}};
  fits.ttft = fit_ttft(points, fits.steps);
  const ServedFit& fit = fits.steps;
  ServedOptions named = o;
  if (named.locator.empty())
    for (const std::string& file : o.files) named.locator += (named.locator.empty() ? "" : ", ") + file;
  const std::string profile = profile_text(named, served, fits, data);
  if (!o.out.empty()) write_text_file(o.out, profile);
  if (o.json || o.out.empty()) std::cout << profile;
  for (const std::string& note : notes) print_note(note);
  for (const std::string& warning : fit.warnings) print_note("warning: " + warning);
  if (o.json) return kFine;
  std::ostream& said = o.out.empty() ? std::cerr : std::cout;
  const auto width = at(text_width());
  print_runs(said, served, fit, width);
  print_summary(said, fit);
  said << "\n";
  print_terms(said, served.engine(), fit, width);
  said << "A run scatters by " << significant(100 * fit.noise, 2) << " % about the fit.\n";
  print_ttft(said, fits.ttft, width);
  return kFine;
}

}  // namespace draftline::cli
