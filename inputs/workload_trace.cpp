// SPDX-License-Identifier: Apache-2.0
// Reads recorded workload traces. The formats are described by their publishers: Azure public dataset
// (AzureLLMInferenceTrace 2023, 2024), BurstGPT, Mooncake (FAST'25 traces), vLLM's serving benchmark.
#include "inputs/workload_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/csv.h"
#include "core/int_indexed.h"
#include "core/reader.h"
#include "core/text_file.h"
#include "inputs/formats/json_values.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/workload_files.h"
#include "inputs/formats/workload_lines.h"

namespace draftline {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// Days since 1970-01-01 (proleptic Gregorian).
std::int64_t days(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return std::int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// "2023-11-16 18:15:46.6805900", with or without a zone "+00:00", in seconds since 1970; none if it is no such time.
std::optional<double> time_stamp(std::string_view text) {
  std::array<int, 5> parts{};  // year, month, day, hour, minute
  std::size_t at = 0;
  const auto number = [&](std::size_t digits, int& out) {
    if (at + digits > text.size()) return false;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + digits, out);
    at += digits;
    return error == std::errc() && end == text.data() + at;
  };
  constexpr std::array<std::size_t, 5> width{4, 2, 2, 2, 2};
  constexpr std::string_view separators = "--T::";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!number(width[i], parts[i]) || at >= text.size()) return std::nullopt;
    if (text[at] != separators[i] && !(i == 2 && text[at] == ' ')) return std::nullopt;
    ++at;
  }
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), seconds);
  if (error != std::errc() || parts[1] < 1 || parts[1] > 12) return std::nullopt;
  const std::string_view zone(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (!zone.empty() && zone != "Z" && zone != "+00:00") return std::nullopt;
  return static_cast<double>(days(parts[0], parts[1], parts[2])) * 86400 + parts[3] * 3600.0 + parts[4] * 60.0 +
         seconds;
}

class Collector {
 public:
  // `fail` is told what is wrong with the row that was read last: it throws InputErrors, or notes the mistake for a
  // finish() that throws them. A row with a mistake is left out.
  template <class Fail>
  void add(double arrival, std::int64_t prompt, std::int64_t output, std::size_t line, const Fail& fail) {
    if (!std::isfinite(arrival) || arrival < 0) return fail("has a negative arrival time");
    if (prompt < 1) return fail("has a prompt of " + std::to_string(prompt) + " tokens");
    if (output < 1) return fail("has an output of " + std::to_string(output) + " tokens");
    if (prompt > kMostRecorded || output > kMostRecorded) return fail("has more than 16 million tokens");
    if (!trace.requests.empty() && arrival < last_) return fail("arrives before the preceding request");
    if (trace.requests.empty()) first_ = arrival;
    last_ = arrival;
    trace.requests.push_back(
        {arrival - first_, static_cast<int>(prompt), static_cast<int>(output), static_cast<int>(line)});
  }
  WorkloadTrace trace;

 private:
  double first_ = 0, last_ = 0;
};

WorkloadTrace from_csv(const Csv& csv, const std::filesystem::path& file) {
  struct Format {
    std::string_view arrival, prompt, output;
    bool stamped = false;
    bool has_failed = false;  // requests that failed are in it, with an output of 0 tokens
  };
  static constexpr std::array<Format, 3> formats{
      {{"TIMESTAMP", "ContextTokens", "GeneratedTokens", true},
       {"Timestamp", "Request tokens", "Response tokens", false, true},  // BurstGPT
       {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}}};
  auto format = std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return csv.has(f.arrival); });
  const bool no_arrivals = format == formats.end() && csv.has("num_prefill_tokens");
  if (no_arrivals) format = formats.begin() + 2;
  if (format == formats.end())
    throw InputErrors(file.string() +
                      ":1: has no known columns: TIMESTAMP,ContextTokens,GeneratedTokens (Azure), Timestamp,Request "
                      "tokens,Response tokens (BurstGPT) or arrived_at,num_prefill_tokens,num_decode_tokens");
  Collector all;
  all.trace.has_arrivals = !no_arrivals;
  const std::size_t prompt = csv.column(format->prompt), output = csv.column(format->output);
  const std::size_t arrival = no_arrivals ? prompt : csv.column(format->arrival);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const auto fail = [&](const std::string& what) { csv.fail(row, what); };
    if (format->has_failed && csv.integer(row, output) == 0) continue;
    double t = 0;
    if (format->stamped) {
      const auto stamp = time_stamp(csv.text(row, arrival));
      if (!stamp) fail("\"" + std::string(csv.text(row, arrival)) + "\" is not a time such as 2023-11-16 18:15:46.68");
      t = stamp.value_or(0);
    } else if (!no_arrivals) {
      t = csv.number(row, arrival);
    }
    all.add(t, csv.integer(row, prompt), csv.integer(row, output), csv.line(row), fail);
  }
  return std::move(all.trace);
}

// The names of a prompt's prefix blocks; `fail` throws. Each number is compared as what it was parsed as: to the JSON
// library 2^64 - 1 and -1 are equal.
template <class Fail>
std::vector<int> read_hash_ids(const nlohmann::json& ids, const Fail& fail) {
  const auto fits = [](const nlohmann::json& id) {
    if (id.is_number_unsigned()) return std::in_range<int>(id.get<std::uint64_t>());
    return id.is_number_integer() && std::in_range<int>(id.get<std::int64_t>());
  };
  std::vector<int> names;
  for (const auto& id : ids) {
    if (!fits(id)) fail("\"hash_ids\" must be 32-bit integers");
    names.push_back(id.get<int>());
  }
  std::vector<int> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    fail("\"hash_ids\" contains " + std::to_string(*twice) +
         " twice: a hash identifies a block and all blocks before it");
  return names;
}

// The format of a line, by its key.
const LineFormat& format_of(const nlohmann::json& line, const FailLine& fail) {
  const auto formats = workload_lines();
  const auto format = std::ranges::find_if(formats, [&](const LineFormat& f) { return line.contains(f.key); });
  if (format != formats.end()) return *format;
  std::string keys;
  for (const LineFormat& f : formats)
    keys += (keys.empty() ? "" : ", ") + ("\"" + std::string(f.key) + "\" (" + std::string(f.title) + ")");
  fail("has none of " + keys);
  return formats.front();
}

struct LineOfFile {
  RequestLine request;
  std::vector<int> prefix_hashes;
  std::size_t number;  // from 1
};

// Fails in the lines' order, with the number of the line that is read.
class LinesReader {
 public:
  LinesReader(const std::filesystem::path& file, const Files& files)
      : file_(file), text_(files.text(file, kMostBytes)) {}

  WorkloadTrace read() {
    std::string_view rest = text_;
    while (const auto line = next_line(rest)) {
      ++number_;
      if (line->find_first_not_of(" \t\r") != std::string_view::npos) read_line(*line);
    }
    if (by_end_)
      std::ranges::stable_sort(lines_, {}, [](const LineOfFile& line) { return line.request.arrival.value_or(0); });
    Collector all;
    all.trace.notes = notes_;
    all.trace.has_arrivals =
        std::ranges::all_of(lines_, [](const LineOfFile& l) { return l.request.arrival.has_value(); });
    for (LineOfFile& line : lines_) {
      number_ = line.number;
      const RequestLine& r = line.request;
      all.add(all.trace.has_arrivals ? *r.arrival : 0, r.prompt, r.output, line.number, fail_);
      if (has_hashes_) all.trace.prefix_hashes.push_back(std::move(line.prefix_hashes));
    }
    return std::move(all.trace);
  }

 private:
  void read_line(std::string_view line) {
    constexpr std::size_t kMostLine = std::size_t{4} << 20;  // bytes; a parsed line needs about thirty times as many
    if (line.size() > kMostLine) fail_("a line of more than " + std::to_string(kMostLine) + " bytes");
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) fail_("is not a JSON object");
    const LineFormat& format = format_of(json, fail_);
    const auto request = format.read(json, fail_);
    if (!request) return;
    by_end_ = by_end_ || format.by_end;
    if (!format.note.empty() && notes_.empty()) notes_.emplace_back(format.note);
    LineOfFile& read = lines_.emplace_back(LineOfFile{*request, {}, number_});
    if (const auto ids = json.find("hash_ids"); ids != json.end()) {
      has_hashes_ = true;
      read.prefix_hashes = read_hash_ids(*ids, fail_);
    }
  }

  const std::filesystem::path& file_;
  std::string text_;
  std::size_t number_ = 0;
  FailLine fail_ = [this](const std::string& what) {
    throw InputErrors(file_.string() + ":" + std::to_string(number_) + ": " + what);
  };
  std::vector<LineOfFile> lines_;
  std::vector<std::string> notes_;
  bool by_end_ = false, has_hashes_ = false;
};

// A result of vLLM's serving benchmark with --save-detailed: {"input_lens": [..], "output_lens": [..]}, newer ones with
// "start_times" in seconds. Or conversations.
WorkloadTrace from_json(const std::filesystem::path& file, const Files& files) {
  const Document document = Document::from_file(file, files);
  const Reader root = document.root();
  if (is_sharegpt(root)) {
    WorkloadTrace trace = workload_in_sharegpt(root);
    document.finish();
    return trace;
  }
  const Reader prompts = root.at("input_lens"), outputs = root.at("output_lens");
  const auto starts = root.find("start_times");
  const auto in = prompts.items(), out = outputs.items(), start = starts ? starts->items() : std::vector<Reader>{};
  if (in.size() != out.size() || (starts && in.size() != start.size()))
    outputs.fail("\"input_lens\", \"output_lens\" and \"start_times\" must have equal lengths");
  document.finish();
  Collector all;
  all.trace.has_arrivals = starts.has_value();
  for (std::size_t i = 0; i < in.size(); ++i)
    all.add(starts ? start[i].number() : 0, in[i].positive_int(kMostRecorded), out[i].positive_int(kMostRecorded),
            i + 1, [&](const std::string& what) { out[i].fail(what); });
  document.finish();
  return std::move(all.trace);
}

WorkloadTrace from_metrics(const std::filesystem::path& file, const Files& files) {
  WorkloadTrace trace = workload_in_metrics(files.text(file));
  if (trace.requests.empty())
    throw InputErrors(file.string() +
                      ": contains no histograms of lengths; they are in the /metrics of vLLM, SGLang and TGI");
  return trace;
}

}  // namespace

WorkloadTrace read_workload_trace(const std::filesystem::path& file, const Files& files) {
  std::filesystem::path name = file;
  if (name.extension() == ".gz") name.replace_extension();
  WorkloadTrace trace;
  if (name.extension() == ".jsonl") trace = LinesReader(file, files).read();
  else if (name.extension() == ".json") trace = from_json(file, files);
  else if (name.extension() == ".csv") trace = from_csv(Csv::from_file(file, kMostBytes, files), file);
  else if (name.extension() == ".txt" || name.extension() == ".prom") trace = from_metrics(file, files);
  else if (name.extension() == ".parquet") throw InputErrors(parquet_hint(file));
  else throw InputErrors(file.string() + ": must be a .csv, .jsonl, .json or .txt file, optionally with .gz");
  trace.file = file;
  if (trace.requests.empty()) throw InputErrors(file.string() + ": contains no requests");
  return trace;
}

}  // namespace draftline
