// SPDX-License-Identifier: Apache-2.0
// Counters of speculation in a server's /metrics, and in the answers of Prometheus' /api/v1/query and query_range. An
// answer for a range has the counters' increase over it.
#include <charconv>

#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/exposition.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/speculation_counters.h"

namespace draftline {

namespace {

// [time, "value"], as Prometheus writes a sample.
double sample_at(const Reader& in) {
  if (in.size() != 2) {
    in.fail("must be a time and a value");
    return 0;
  }
  const std::string text = in.item(1).text();
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !(v >= 0)) in.fail("has no value from 0");
  return v;
}

// The increase of a counter, which starts again from 0 with its server; or the mean of a gauge.
double over_range(const std::vector<Reader>& samples, bool gauge) {
  double sum = 0, before = 0;
  bool first = true;
  for (const Reader& sample : samples) {
    const double v = sample_at(sample);
    if (gauge) sum += v;
    else if (!first) sum += v >= before ? v - before : v;
    before = v;
    first = false;
  }
  return gauge && !samples.empty() ? sum / static_cast<double>(samples.size()) : sum;
}

void add_series(const Reader& series, SpeculationCounters& counters) {
  const Reader labels = series.at("metric");
  const auto name = labels.find("__name__");
  if (!name) {
    labels.fail(
        "has no \"__name__\": query the counters themselves, {__name__=~\".*spec_decode.*\"}, without rate() or sum()");
    return;
  }
  std::optional<int> position;
  if (const auto label = labels.find("position")) position = position_of(label->text());
  if (const auto value = series.find("value")) counters.add(name->text(), position, sample_at(*value));
  else
    counters.add(name->text(), position,
                 over_range(series.at("values").items(), SpeculationCounters::is_gauge(name->text())));
}

}  // namespace

std::optional<ServedAcceptance> acceptance_in_prometheus(const AcceptanceFile& file) {
  SpeculationCounters counters;
  for (const Reader& answer : file.values) {
    const auto data = answer.is_object() ? answer.find("data") : std::nullopt;
    if (!data || !data->is_object() || !data->find("resultType")) continue;
    for (const Reader& series : data->at("result").items()) add_series(series, counters);
  }
  return counters.acceptance();
}

std::optional<ServedAcceptance> acceptance_in_metrics(const AcceptanceFile& file) {
  SpeculationCounters counters;
  std::string_view text = file.text;
  while (const auto line = next_line(text))
    if (const auto sample = metric_sample(*line)) {
      const auto position = label_of(sample->labels, "position");
      counters.add(sample->name, position ? position_of(*position) : std::nullopt, sample->value);
    }
  return counters.acceptance();
}

}  // namespace draftline
