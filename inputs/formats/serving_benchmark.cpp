// SPDX-License-Identifier: Apache-2.0
// vLLM's `bench serve` and SGLang's bench_serving: one load, summed up; perhaps request by request. Older results of
// vLLM lack the tokens, which the argument then gives.
#include <algorithm>
#include <array>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "inputs/formats/served_figures.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

// From a result request by request ("start_times", "ttfts", "itls", lengths).
struct Detailed {
  DecodingTogether together;
  Seconds median_gap;  // between two emissions of a sequence
};
// None if the result has no such lists. Lists of different lengths, or without a decoding request, are mistakes.
std::optional<Detailed> read_detailed(const Reader& result) {
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
  std::vector<DecodingRequest> requests;
  std::vector<double> all;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto own = gaps[i].items();
    if (own.empty()) continue;  // it failed, or has one token
    DecodingRequest r;
    r.first = r.last = starts[i].number(-kMostSeconds, 10 * kMostSeconds) + firsts[i].number(0, kMostSeconds);
    for (const Reader& gap : own) all.push_back(gap.number(0, kMostSeconds)), r.last += all.back();
    r.tokens = count(own);
    r.prompt = prompts[i].number(0, kMostServedLength);
    requests.push_back(r);
  }
  if (all.empty()) {
    result.at("itls").fail("no request has a second token");
    return std::nullopt;
  }
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::nth_element(all.begin(), middle, all.end());
  const auto decoding = together(requests);
  if (!decoding || *middle <= 0) {
    result.at("itls").fail("half of the gaps between tokens are 0");
    return std::nullopt;
  }
  return Detailed{*decoding, Seconds{*middle}};
}

struct MeanLengths {
  double prompt = 0, output = 0;  // mean tokens of a request
};

// Of the file; where it lacks them, of the argument.
MeanLengths read_mean_lengths(const Reader& in, const ServedArguments& arguments) {
  const auto prompt = arguments.number("prompt", 0, kMostServedLength),
             output = arguments.number("output", 1, kMostServedLength);
  if (!in.find("total_output_tokens") && prompt && output) return {*prompt, *output};
  if (!in.find("completed") && !in.find("total_output_tokens")) {
    in.fail("contains no lengths of requests: write FILE@batch=8,prompt=256,output=512");
    return {0, 2};
  }
  const double requests = in.at("completed").positive_int();
  const MeanLengths l{in.at("total_input_tokens").number(0, 1e15) / requests,
                      in.at("total_output_tokens").number(1, 1e15) / requests};
  if (l.output < 2) in.at("total_output_tokens").fail("requests of one token have no steps");
  return l;
}

void read_speculation(const Reader& in, ServedRun& run) {
  for (const std::string_view key : {"spec_decode_acceptance_length", "accept_length"})
    if (const auto length = number_at(in, key, 0, 1024); length && *length > 1) {
      run.tokens_per_step = *length;
      run.of_drafting_steps = key.starts_with("spec_decode");
    }
  const auto drafts = number_at(in, "spec_decode_num_drafts", 0, 1e18),
             drafted = number_at(in, "spec_decode_draft_tokens", 0, 1e18);
  if (drafts && drafted && *drafts > 0) run.draft_length = *drafted / *drafts;
}

// A step without prompts in it is what the median gap between tokens shows; a speculating step emits several tokens.
void read_step(const Reader& in, bool plain, ServedRun& run) {
  const auto gap = milliseconds_at(in, "median_itl_ms"), median = milliseconds_at(in, "median_tpot_ms"),
             mean = milliseconds_at(in, "mean_tpot_ms");
  if (plain && gap) run.time = *gap;
  else if (median || mean) run.time = run.tokens_per_step * median.value_or(mean.value_or(Seconds{}));
  else if (in.find("median_tpot_ms") || in.find("mean_tpot_ms"))
    in.fail("contains no step time: \"median_tpot_ms\" or \"mean_tpot_ms\" must be above 0");
  else in.at("median_tpot_ms").number();
}

// Little's law, from the time that requests decode and wait.
void read_batch(const Reader& in, const ServedArguments& arguments, ServedRun& run) {
  const auto most = number_at(in, "max_concurrency", 1, kMostServedSequences),
             duration = number_at(in, "duration", 0, 1e9), completed = number_at(in, "completed", 1, 1e15);
  const Seconds mean = milliseconds_at(in, "mean_tpot_ms").value_or(run.time / run.tokens_per_step),
                decoding = (run.request_output - 1) * mean,
                waiting = milliseconds_at(in, "mean_ttft_ms").value_or(Seconds{});
  if (duration && *duration > 0 && completed) {
    const double decodes = *completed * decoding.value / *duration,
                 stays = decodes + *completed * waiting.value / *duration;
    run.batch_size = std::clamp(most ? std::min(stays, *most) : decodes, 1.0, kMostServedSequences);
    if (most && decodes < 0.7 * run.batch_size && !arguments.text("batch"))
      run.notes.push_back(in.place() + ": requests wait for at least a third of their time, so the batch is between " +
                          significant(decodes) + " and " + significant(run.batch_size) + "; give it with @batch=");
  } else if (most) {
    run.batch_size = *most;
  } else if (!arguments.text("batch")) {
    in.fail("has neither \"duration\" nor \"max_concurrency\": give the batch with @batch=");
  }
}

ServedRun read_load(const Reader& in, const ServedArguments& arguments) {
  ServedRun run;
  run.place = in.file().string();
  const MeanLengths lengths = read_mean_lengths(in, arguments);
  run.request_prompt = lengths.prompt;
  run.request_output = lengths.output;
  run.context = lengths.prompt + lengths.output / 2;
  if (const auto model = in.find("model_id"); model && model->is_string()) run.model_id = model->text();
  run.ttft = milliseconds_at(in, "median_ttft_ms");
  read_speculation(in, run);
  const bool plain = !run.speculates() && !arguments.text("acceptance_length");
  read_step(in, plain, run);
  if (const auto detailed = read_detailed(in)) {
    run.batch_size = detailed->together.batch_size;
    run.context = detailed->together.context;
    if (plain) run.time = detailed->median_gap;
  } else {
    read_batch(in, arguments, run);
  }
  return run;
}

}  // namespace

ServedFormat serving_benchmark() {
  return {"vLLM (bench serve) and SGLang (bench_serving)",
          [](const Reader& in) {
            return in.find("completed") || in.find("median_tpot_ms") || in.find("mean_tpot_ms") ||
                   in.find("median_itl_ms");
          },
          [](const ServedValues& values, const ServedArguments& arguments) {
            std::vector<ServedRun> runs;
            for (const Reader& value : values) runs.push_back(read_load(value, arguments));
            return runs;
          }};
}

}  // namespace draftline
