// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_runs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "core/csv.h"
#include "core/json_parse.h"
#include "core/reader.h"
#include "core/text_file.h"
#include "inputs/served_details.h"

namespace draftline {

namespace {

constexpr double kMostSequences = 1 << 16, kMostLength = 1 << 24, kLeastMilliseconds = 1e-6, kMostMilliseconds = 1e9,
                 kMillisecond = 1e-3;

// What stands behind the "@" of an argument.
class Settings {
 public:
  Settings(const std::string& argument, std::size_t at) : argument_(argument) {
    static constexpr std::array<std::string_view, 8> keys{
        "batch", "context", "prompt", "output", "transformer", "precision", "tensor_parallel", "acceptance_length"};
    while (at < argument.size()) {
      const std::size_t end = std::min(argument.find(',', at), argument.size()), equals = argument.find('=', at);
      const std::string key = argument.substr(at, std::min(equals, end) - at);
      if (equals >= end) fail("\"" + key + "\" has no value: write " + key + "=...");
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail("unknown key \"" + key + "\"" + did_you_mean(key, keys));
      if (!values_.emplace(key, argument.substr(equals + 1, end - equals - 1)).second) fail(key + " stands twice");
      at = end + 1;
    }
  }
  std::optional<std::string> text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<double> number(const std::string& key, double least, double most) const {
    const auto given = text(key);
    if (!given) return std::nullopt;
    double v = 0;
    const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), v);
    if (error != std::errc() || end != given->data() + given->size() || !(v >= least && v <= most))
      fail(key + " must be a number from " + significant(least) + " to " + significant(most) + ", got \"" + *given +
           "\"");
    return v;
  }
  // What the file left open, or leaves to be told.
  void complete(ServedRun& run) const {
    if (const auto given = number("batch", 1, kMostSequences)) run.batch_size = *given;
    if (const auto given = number("context", 0, kMostLength)) run.context = *given;
    if (const auto given = text("transformer")) run.transformer = *given;
    if (const auto given = text("precision")) run.precision = *given;
    if (const auto given = number("tensor_parallel", 1, 1024)) run.tensor_parallel = static_cast<int>(*given);
    if (const auto given = number("acceptance_length", 1, 1024)) {
      run.time = (*given / run.tokens_per_step) * run.time;
      run.tokens_per_step = *given;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputErrors(printable(argument_, 1000) + ": " + what); }
  const std::string& argument_;
  std::map<std::string, std::string> values_;
};

std::optional<double> number(const Reader& in, std::string_view key, double least, double most) {
  const auto found = in.find(key);
  if (!found || found->is_null()) return std::nullopt;
  return found->number(least, most);
}

// vLLM's `bench serve`, SGLang's bench_serving: one load, summed up; perhaps request by request.
ServedRun of_serving(const Reader& in, const Settings& told) {
  const auto ms = [&](std::string_view key) -> std::optional<Seconds> {
    const auto t = number(in, key, 0, kMostMilliseconds);
    return t && *t >= kLeastMilliseconds ? std::optional(kMillisecond * Seconds{*t}) : std::nullopt;
  };
  ServedRun run;
  const double requests = in.at("completed").positive_int(),
               output = in.at("total_output_tokens").number(1, 1e15) / requests;
  const double prompt = in.at("total_input_tokens").number(0, 1e15) / requests;
  run.context = prompt + output / 2;
  run.request_prompt = prompt;
  run.request_output = output;
  for (const std::string_view key : {"spec_decode_acceptance_length", "accept_length"})
    if (const auto length = number(in, key, 0, 1024); length && *length > 1) run.tokens_per_step = *length;
  const auto drafts = number(in, "spec_decode_num_drafts", 0, 1e18),
             drafted = number(in, "spec_decode_draft_tokens", 0, 1e18);
  if (drafts && drafted && *drafts > 0) run.draft_length = *drafted / *drafts;
  if (output < 2) in.at("total_output_tokens").fail("requests of one token have no steps");

  // A step without prompts in it is what the median gap between tokens shows; a speculating step emits several tokens.
  const auto gap = ms("median_itl_ms"), median = ms("median_tpot_ms"), mean = ms("mean_tpot_ms");
  const bool plain = !run.speculates() && !told.text("acceptance_length");
  if (plain && gap) run.time = *gap;
  else if (median || mean) run.time = run.tokens_per_step * median.value_or(mean.value_or(Seconds{}));
  else if (in.find("median_tpot_ms") || in.find("mean_tpot_ms"))
    in.fail("says of no step how long it takes: \"median_tpot_ms\" or \"mean_tpot_ms\" must be above 0");
  else in.at("median_tpot_ms").number();

  const auto most = number(in, "max_concurrency", 1, kMostSequences), duration = number(in, "duration", 0, 1e9);
  const Seconds decoding = (output - 1) * mean.value_or(run.time / run.tokens_per_step);
  const Seconds waiting = ms("mean_ttft_ms").value_or(Seconds{});
  if (const auto detailed = decoding_together(in)) {
    run.batch_size = detailed->batch_size;
    run.context = detailed->context;
    if (plain) run.time = detailed->median_gap;
  } else if (duration && *duration > 0) {  // Little's law
    const double decodes = requests * decoding.value / *duration,
                 stays = decodes + requests * waiting.value / *duration;
    run.batch_size = std::clamp(most ? std::min(stays, *most) : decodes, 1.0, kMostSequences);
    if (most && decodes < 0.7 * run.batch_size && !told.text("batch"))
      run.notes.push_back(in.place() + ": requests wait for a third of their time or more, so the batch is between " +
                          significant(decodes) + " and " + significant(run.batch_size) + "; say it with @batch=");
  } else if (most) {
    run.batch_size = *most;
  } else if (!told.text("batch")) {
    in.fail("has neither \"duration\" nor \"max_concurrency\": say the batch with @batch=");
  }
  return run;
}

// vLLM's `bench latency` times whole batches and says neither how large nor how long they are.
ServedRun of_latency(const Reader& in, const Settings& told) {
  const auto batch = told.number("batch", 1, kMostSequences), prompt = told.number("prompt", 1, kMostLength),
             output = told.number("output", 2, kMostLength);
  ServedRun run;
  if (!batch || !prompt || !output) {
    in.fail("times whole batches without their size: write FILE@batch=8,prompt=32,output=128");
    return run;
  }
  const auto median = in.find("percentiles") ? in.at("percentiles").find("50") : std::nullopt;
  run.time = Seconds{(median ? *median : in.at("avg_latency")).number(1e-9, 1e9)};
  run.steps = *output - 1;
  run.prompt_tokens = static_cast<int>(*prompt);
  run.context = *prompt + *output / 2;
  return run;
}

// guidellm: a list of loads, each with distributions over its requests by how they ended.
ServedRun of_guidellm(const Reader& in) {
  const Reader metrics = in.at("metrics");
  const auto figure = [&](std::string_view name, std::string_view ended, std::string_view statistic, double least,
                          double most) {
    const Reader all = metrics.at(name);
    const auto these = all.find(ended);
    return (these ? *these : all.at("successful")).at(statistic).number(least, most);
  };
  ServedRun run;
  run.time = kMillisecond *
             Seconds{figure("inter_token_latency_ms", "successful", "median", kLeastMilliseconds, kMostMilliseconds)};
  run.batch_size = std::max(1.0, figure("request_concurrency", "total", "mean", 0, kMostSequences));
  run.request_prompt = figure("prompt_token_count", "successful", "mean", 0, kMostLength);
  run.request_output = figure("output_token_count", "successful", "mean", 1, kMostLength);
  run.context = run.request_prompt + run.request_output / 2;
  return run;
}

std::vector<ServedRun> of_document(const Document& document, const Settings& told) {
  const Reader root = document.root();
  std::vector<ServedRun> runs;
  if (const auto loads = root.find("benchmarks")) {
    for (const Reader& load : loads->items()) {
      runs.push_back(of_guidellm(load));
      runs.back().place = load.place();
    }
  } else {
    const bool latency = root.find("avg_latency").has_value();
    if (!latency && !root.find("completed"))
      root.fail("is no benchmark's result that is known: of vLLM (bench serve, bench latency), SGLang or guidellm");
    else runs.push_back(latency ? of_latency(root, told) : of_serving(root, told));
    if (!runs.empty()) runs.back().place = root.file().string();
  }
  document.finish();
  return runs;
}

std::vector<ServedRun> of_json(const std::filesystem::path& file, bool lines, const Settings& told) {
  const std::string text = read_text_file(file);
  if (!lines && text.find("}\n{") == std::string::npos) return of_document(Document::from_text(text, file), told);
  std::vector<ServedRun> runs;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    for (ServedRun& run : of_document(Document::from_text(line, file.string() + ":" + std::to_string(number)), told))
      runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<ServedRun> of_table(const std::filesystem::path& file) {
  struct Time {
    std::string_view column;
    double unit;
  };
  static constexpr std::array<Time, 6> times{
      {{"step_ms", 1e-3}, {"tpot_ms", 1e-3}, {"itl_ms", 1e-3}, {"step_us", 1e-6}, {"step_s", 1}, {"tpot_s", 1}}};
  static constexpr std::array<std::string_view, 13> known{
      "batch",       "context",   "step_ms",         "tpot_ms",           "itl_ms",      "step_us", "step_s", "tpot_s",
      "transformer", "precision", "tensor_parallel", "acceptance_length", "draft_length"};
  const Csv t = Csv::from_file(file);
  for (const std::string& column : t.columns())
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw InputErrors(printable(file.string(), 1000) + ":1: unknown column \"" + printable(column) + "\"" +
                        (column == "tpot" || column == "itl" || column == "step"
                             ? "; the name has the unit: \"" + column + "_ms\", \"step_us\", \"step_s\" or \"tpot_s\""
                             : did_you_mean(column, known)));
  const auto time = std::find_if(times.begin(), times.end(), [&](const Time& x) { return t.has(x.column); });
  const auto batch = t.column("batch"), context = t.column("context"),
             column = t.column(time == times.end() ? "step_ms" : time->column);
  if (std::count_if(times.begin(), times.end(), [&](const Time& x) { return t.has(x.column); }) > 1)
    throw InputErrors(printable(file.string(), 1000) + ":1: more than one column of times");
  std::vector<ServedRun> runs;
  for (std::size_t row = 0; row < t.rows(); ++row) {
    const auto within = [&](std::size_t c, double least, double most) {
      const double v = t.number(row, c);
      if (v < least || v > most)
        t.fail(row, t.columns()[c] + " must be from " + significant(least) + " to " + significant(most));
      return v;
    };
    const auto told = [&](std::string_view name) -> std::optional<std::string> {
      if (!t.has(name) || t.text(row, name).empty()) return std::nullopt;
      return std::string(t.text(row, name));
    };
    ServedRun run;
    run.place = file.string() + ":" + std::to_string(t.line(row));
    run.batch_size = within(batch, 1, kMostSequences);
    run.context = within(context, 0, kMostLength);
    run.time = time->unit * Seconds{within(column, 1e-9, 1e9)};
    run.transformer = told("transformer");
    run.precision = told("precision");
    if (told("tensor_parallel")) run.tensor_parallel = static_cast<int>(within(t.column("tensor_parallel"), 1, 1024));
    if (told("acceptance_length")) run.tokens_per_step = within(t.column("acceptance_length"), 1, 1024);
    if (told("draft_length")) run.draft_length = within(t.column("draft_length"), 1, 1024);
    if (!time->column.starts_with("step")) run.time = run.tokens_per_step * run.time;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

std::filesystem::path served_file(const std::string& argument) {
  const std::size_t at = argument.rfind('@'), folder = argument.rfind('/');
  if (at == std::string::npos || (folder != std::string::npos && at < folder)) return argument;
  return argument.find('=', at) == std::string::npos ? argument : argument.substr(0, at);
}

std::vector<ServedRun> read_served_runs(const std::string& argument) {
  const std::filesystem::path file = served_file(argument);
  const Settings told(argument, std::min(file.native().size() + 1, argument.size()));
  std::filesystem::path form = file;
  if (form.extension() == ".gz") form.replace_extension();
  std::vector<ServedRun> runs;
  if (form.extension() == ".csv") runs = of_table(file);
  else if (form.extension() == ".json" || form.extension() == ".jsonl")
    runs = of_json(file, form.extension() == ".jsonl", told);
  else
    throw InputErrors(printable(file.string(), 1000) +
                      ": a benchmark's result is a .json, .jsonl or .csv file, or one with .gz");
  if (runs.empty()) throw InputErrors(printable(file.string(), 1000) + ": no run in it");
  for (ServedRun& run : runs) told.complete(run);
  return runs;
}

}  // namespace draftline
