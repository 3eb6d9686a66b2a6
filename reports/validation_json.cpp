// SPDX-License-Identifier: Apache-2.0
// The report of `draftline validate` as JSON. Times are in seconds, errors and noise are shares.
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/json_writer.h"
#include "reports/cell_noise.h"
#include "reports/point.h"
#include "reports/validation_report.h"

namespace draftline {

namespace {

constexpr int kValidationSchema = 1;

void write_compared(JsonWriter& w, std::string_view key, const Compared& c) {
  w.object(key, [&] {
    w.member("predicted", c.predicted);
    w.member("measured", c.measured);
    w.member("error", c.error());
    w.member("noise", c.noise);
    if (c.interval) {
      w.member("low", c.interval->low);
      w.member("high", c.interval->high);
    }
  });
}

void write_error_summary(JsonWriter& w, std::string_view key, const ErrorSummary& s) {
  w.object(key, [&] {
    w.member("cells", s.cells);
    w.member("median_abs_error", s.median);
    w.member("p90_abs_error", s.p90);
    w.member("max_abs_error", s.largest);
  });
}

void write_heading(JsonWriter& w, const ValidationReport& r) {
  w.member("schema_version", kValidationSchema);
  w.member("device", r.device);
  w.member("title", r.title);
  w.member("commit", r.commit);
  w.member("model", build_model());
  write_input_files(w, r.input_files, r.data);
  w.member("acceptance_rate", r.rate);
}

void write_validated(JsonWriter& w, const ValidationCell& c) {
  const MethodSpec& method = c.measured->method;
  w.member("transformer", c.measured->transformer);
  w.member("method", method.name());
  w.member("batch_size", c.measured->batch_size);
  w.member("draft_length", method.draft_length());
  if (const auto& parameters = method.parameters(); !parameters.empty()) w.member("parameters", parameters);
  w.member("context", c.measured->context);
  w.member("predicted", c.speedup.predicted);
  w.member("measured", c.speedup.measured);
  w.member("error", c.speedup.error());
  w.member("noise", c.speedup.noise);
  w.member("noise_exceeds_error", c.speedup.within_noise());
  w.member("low", c.speedup.interval ? std::optional(c.speedup.interval->low) : std::nullopt);
  w.member("high", c.speedup.interval ? std::optional(c.speedup.interval->high) : std::nullopt);
  w.member("acceptance_length", c.acceptance_length);
  if (c.clock_mhz) w.member("clock_mhz", *c.clock_mhz);
  write_compared(w, "step_time", c.step);
  write_compared(w, "plain_step_time", c.plain);
}

void write_not_run(JsonWriter& w, const MeasuredCell& c) {
  w.member("transformer", c.transformer);
  w.member("method", c.method.object());
  w.member("batch_size", c.batch_size);
  w.member("context", c.context);
  w.member("because", c.skipped);
  if (c.device_failed) w.member("device_failed", true);
}

void write_ops(JsonWriter& w, const std::vector<ValidationCell>& cells) {
  w.objects("ops", op_totals(cells), [&](const OpTotal& o) {
    w.member("transformer", o.network);
    w.member("op", o.key);
    w.member("share", o.measured / o.cells);
    w.member("predicted", o.predicted / o.cells);
    w.member("measured", o.measured / o.cells);
    w.member("error", o.measured > 0 ? std::optional(o.predicted / o.measured - 1) : std::nullopt);
  });
  w.objects("error_budget", error_budget(cells), [&](const ErrorBudgetItem& b) {
    w.member("op", b.key);
    w.member("mean_abs_error_of_step", b.absolute);
    w.member("mean_error_of_step", b.mean);
    w.member("share", b.share);
  });
}

void write_stops_paying(JsonWriter& w, const std::vector<StopsPaying>& all) {
  w.objects("stops_paying", all, [&](const StopsPaying& s) {
    w.member("transformer", s.transformer);
    w.member("method", label_with_length(s.method));
    w.member("context", s.context);
    w.member("predicted", s.predicted);
    w.member("measured", s.measured);
  });
}

void write_served(JsonWriter& w, const ComparedServing& s) {
  w.member("batching", s.batching_name());
  w.member("method", s.method);
  w.member("requests", s.requests);
  if (s.skipped.empty()) {
    w.member("runs", s.runs);
    w.member("acceptance_length", s.acceptance_length);
  } else {
    w.member("skipped", s.skipped);
  }
  for (const auto& [name, c] : s.figures) write_compared(w, name, c);
}

void write_error_summaries(JsonWriter& w, const std::vector<ValidationCell>& cells) {
  const auto speedup = errors_of(cells, &ValidationCell::speedup);
  write_error_summary(w, "summary", summarize(speedup));
  write_error_summary(w, "summary_by_noise", summarize(speedup, weights_by_noise(cells)));
  write_error_summary(w, "step_summary", summarize(errors_of(cells, &ValidationCell::step)));
  write_error_summary(w, "plain_step_summary", summarize(errors_of(cells, &ValidationCell::plain)));
}

}  // namespace

void write_validation_json(std::ostream& out, const ValidationReport& r) {
  JsonWriter w(out);
  w.begin_object();
  write_heading(w, r);
  w.objects("cells", r.cells, [&](const ValidationCell& c) { write_validated(w, c); });
  w.objects("skipped", r.skipped, [&](const MeasuredCell& c) { write_not_run(w, c); });
  write_ops(w, r.cells);
  write_stops_paying(w, stops_paying(r.cells));
  w.objects("serving", r.serving, [&](const ComparedServing& s) { write_served(w, s); });
  write_error_summaries(w, r.cells);
  w.member("cells_left_out", r.left_out);
  w.end_object();
  w.finish();
}

}  // namespace draftline
