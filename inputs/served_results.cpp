// SPDX-License-Identifier: Apache-2.0
// Results of serving benchmarks: those of a server and those of one batch at a time (served_formats.h).
#include <algorithm>
#include <array>

#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "core/quantity_text.h"
#include "core/reader.h"
#include "core/text_file.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

constexpr double kLeastMilliseconds = 1e-6, kMostMilliseconds = 1e9, kMillisecond = 1e-3;

std::optional<double> number(const Reader& in, std::string_view key, double least, double most) {
  const auto found = in.find(key);
  if (!found || found->is_null()) return std::nullopt;
  return found->number(least, most);
}

// How many sequences decoded together, from a result request by request ("start_times", "ttfts", "itls", lengths).
struct DecodingTogether {
  double batch_size;   // sequences that decode while a token is emitted, on average over tokens
  double context;      // tokens of the text before a token, on average over tokens
  Seconds median_gap;  // between two emissions of a sequence
};
// None if the result has no such lists. Lists of different lengths, or without a decoding request, are mistakes.
std::optional<DecodingTogether> decoding_together(const Reader& result) {
  constexpr double kMostSeconds = 1e9;
  constexpr std::array keys{"start_times", "ttfts", "itls", "input_lens"};
  for (const char* key : keys)
    if (const auto list = result.find(key); !list || !list->is_array()) return std::nullopt;
  const auto starts = result.at("start_times").items(), firsts = result.at("ttfts").items(),
             gaps = result.at("itls").items(), prompts = result.at("input_lens").items();
  if (starts.size() != firsts.size() || starts.size() != gaps.size() || starts.size() != prompts.size()) {
    result.at("itls").fail("\"start_times\", \"ttfts\", \"itls\" and \"input_lens\" must have equal lengths");
    return std::nullopt;
  }
  struct Change {
    double at;
    int by;
  };
  std::vector<Change> changes;
  std::vector<double> all;
  double text = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto own = gaps[i].items();
    if (own.empty()) continue;  // it failed, or has one token
    double end = starts[i].number(-kMostSeconds, 10 * kMostSeconds) + firsts[i].number(0, kMostSeconds);
    changes.push_back({end, 1});
    for (const Reader& gap : own) all.push_back(gap.number(0, kMostSeconds)), end += all.back();
    changes.push_back({end, -1});
    const double tokens = count(own);
    text += tokens * (prompts[i].number(0, 1 << 24) + tokens / 2);
  }
  if (all.empty()) {
    result.at("itls").fail("no request has a second token");
    return std::nullopt;
  }
  // While n sequences decode, they emit n times as many tokens as one does.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  double once = 0, squared = 0, n = 0, last = changes.front().at;
  for (const Change& c : changes) {
    once += n * (c.at - last);
    squared += n * n * (c.at - last);
    last = c.at;
    n += c.by;
  }
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::nth_element(all.begin(), middle, all.end());
  if (once <= 0 || *middle <= 0) {
    result.at("itls").fail("half of the gaps between tokens are 0");
    return std::nullopt;
  }
  return DecodingTogether{std::max(1.0, squared / once), text / count(all), Seconds{*middle}};
}

// vLLM's `bench serve`, SGLang's bench_serving: one load, summed up; perhaps request by request.
ServedRun of_serving(const Reader& in, const ServedArguments& arguments) {
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
  const bool plain = !run.speculates() && !arguments.text("acceptance_length");
  if (plain && gap) run.time = *gap;
  else if (median || mean) run.time = run.tokens_per_step * median.value_or(mean.value_or(Seconds{}));
  else if (in.find("median_tpot_ms") || in.find("mean_tpot_ms"))
    in.fail("contains no step time: \"median_tpot_ms\" or \"mean_tpot_ms\" must be above 0");
  else in.at("median_tpot_ms").number();

  const auto most = number(in, "max_concurrency", 1, kMostServedSequences), duration = number(in, "duration", 0, 1e9);
  const Seconds decoding = (output - 1) * mean.value_or(run.time / run.tokens_per_step);
  const Seconds waiting = ms("mean_ttft_ms").value_or(Seconds{});
  if (const auto detailed = decoding_together(in)) {
    run.batch_size = detailed->batch_size;
    run.context = detailed->context;
    if (plain) run.time = detailed->median_gap;
  } else if (duration && *duration > 0) {  // Little's law
    const double decodes = requests * decoding.value / *duration,
                 stays = decodes + requests * waiting.value / *duration;
    run.batch_size = std::clamp(most ? std::min(stays, *most) : decodes, 1.0, kMostServedSequences);
    if (most && decodes < 0.7 * run.batch_size && !arguments.text("batch"))
      run.notes.push_back(in.place() + ": requests wait for at least a third of their time, so the batch is between " +
                          significant(decodes) + " and " + significant(run.batch_size) + "; give it with @batch=");
  } else if (most) {
    run.batch_size = *most;
  } else if (!arguments.text("batch")) {
    in.fail("has neither \"duration\" nor \"max_concurrency\": give the batch with @batch=");
  }
  return run;
}

// vLLM's `bench latency` times whole batches and says neither how large nor how long they are.
ServedRun of_latency(const Reader& in, const ServedArguments& arguments) {
  const auto batch = arguments.number("batch", 1, kMostServedSequences),
             prompt = arguments.number("prompt", 1, kMostServedLength),
             output = arguments.number("output", 2, kMostServedLength);
  ServedRun run;
  if (!batch || !prompt || !output) {
    in.fail("contains times of batches without their size: write FILE@batch=8,prompt=32,output=128");
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
  run.batch_size = std::max(1.0, figure("request_concurrency", "total", "mean", 0, kMostServedSequences));
  run.request_prompt = figure("prompt_token_count", "successful", "mean", 0, kMostServedLength);
  run.request_output = figure("output_token_count", "successful", "mean", 1, kMostServedLength);
  run.context = run.request_prompt + run.request_output / 2;
  return run;
}

// tools/engines/llama_cpp_steps.py: steps of the target with one sequence, whose rows all have logits; one is sampled.
std::vector<ServedRun> of_steps(const Reader& in) {
  std::vector<ServedRun> runs;
  for (const Reader& step : in.at("steps").items()) {
    if (step.at("network").text() != "target") continue;
    ServedRun& run = runs.emplace_back();
    run.place = step.place();
    run.rows = static_cast<int>(step.at("rows").number(1, kMostServedRows));
    run.context = step.at("context").number(0, kMostServedLength);
    run.time = kMillisecond * Seconds{step.at("step_ms").number(kLeastMilliseconds, kMostMilliseconds) +
                                      step.at("sample_ms").number(0, kMostMilliseconds)};
  }
  return runs;
}

std::vector<ServedRun> of_document(const Document& document, const ServedArguments& arguments) {
  const Reader root = document.root();
  std::vector<ServedRun> runs;
  if (const auto loads = root.find("benchmarks")) {
    for (const Reader& load : loads->items()) {
      runs.push_back(of_guidellm(load));
      runs.back().place = load.place();
    }
  } else if (root.find("steps")) {
    runs = of_steps(root);
  } else {
    const bool latency = root.find("avg_latency").has_value();
    if (!latency && !root.find("completed"))
      root.fail(
          "is not a known benchmark result; known: vLLM (bench serve, bench latency), SGLang, guidellm, "
          "llama_cpp_steps.py");
    else runs.push_back(latency ? of_latency(root, arguments) : of_serving(root, arguments));
    if (!runs.empty()) runs.back().place = root.file().string();
  }
  document.finish();
  return runs;
}

}  // namespace

std::vector<ServedRun> read_served_results(const std::filesystem::path& file, bool lines,
                                           const ServedArguments& arguments) {
  const std::string text = read_text_file(file);
  if (!lines && text.find("}\n{") == std::string::npos) return of_document(Document::from_text(text, file), arguments);
  std::vector<ServedRun> runs;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    for (ServedRun& run :
         of_document(Document::from_text(line, file.string() + ":" + std::to_string(number)), arguments))
      runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace draftline
