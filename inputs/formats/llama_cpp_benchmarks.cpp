// SPDX-License-Identifier: Apache-2.0
// llama.cpp: llama-bench (-o json or jsonl), llama-batched-bench (--output-format jsonl), and
// tools/engines/llama_cpp_steps.py. Rows that only read prompts have no steps.
#include "core/int_indexed.h"
#include "inputs/formats/served_figures.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

constexpr double kNanosecond = 1e-9;

std::string place_of(const Reader& in) {  // a line's place is its file's name
  const std::string place = in.place();
  return place.ends_with('#') ? in.file().string() : place;
}

// "n_gen" tokens behind "n_depth" tokens of text and "n_prompt" tokens that are read in the same time.
std::vector<ServedRun> read_tests(const ServedValues& values, const ServedArguments&) {
  std::vector<ServedRun> runs;
  for (const Reader& test : values) {
    const double generated = test.at("n_gen").number(0, kMostServedLength),
                 prompt = test.at("n_prompt").number(0, kMostServedLength),
                 depth = number_at(test, "n_depth", 0, kMostServedLength).value_or(0);
    if (generated < 1) continue;
    ServedRun& run = runs.emplace_back();
    run.place = place_of(test);
    run.time = kNanosecond * Seconds{test.at("avg_ns").number(1, 1e18)};
    run.steps = generated;
    run.prompt_tokens = static_cast<int>(prompt);
    run.context = depth + prompt + generated / 2;
    if (const auto model = test.find("model_filename"); model && model->is_string()) run.model_id = model->text();
  }
  return runs;
}

// "pl" sequences, each of "pp" tokens of prompt and "tg" generated tokens, whose prompts are timed apart.
std::vector<ServedRun> read_batched_tests(const ServedValues& values, const ServedArguments&) {
  std::vector<ServedRun> runs;
  for (const Reader& test : values) {
    const double generated = test.at("tg").number(0, kMostServedLength);
    if (generated < 1) continue;
    ServedRun& run = runs.emplace_back();
    run.place = place_of(test);
    run.batch_size = test.at("pl").number(1, kMostServedSequences);
    run.time = Seconds{test.at("t_tg").number(1e-9, 1e9)};
    run.steps = generated;
    run.context = test.at("pp").number(0, kMostServedLength) + generated / 2;
  }
  return runs;
}

// Steps of the target with one sequence, whose rows all have logits; one is sampled.
std::vector<ServedRun> read_steps(const ServedValues& values, const ServedArguments&) {
  std::vector<ServedRun> runs;
  for (const Reader& value : values)
    for (const Reader& step : value.at("steps").items()) {
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

}  // namespace

ServedFormat llama_bench() {
  return {"llama-bench (-o json, -o jsonl)", [](const Reader& in) { return in.find("n_gen") && in.find("avg_ns"); },
          read_tests};
}
ServedFormat llama_batched_bench() {
  return {"llama-batched-bench (--output-format jsonl)",
          [](const Reader& in) { return in.find("t_tg") && in.find("pl"); }, read_batched_tests};
}
ServedFormat llama_cpp_steps() {
  return {"llama_cpp_steps.py", [](const Reader& in) { return in.find("steps").has_value(); }, read_steps};
}

}  // namespace draftline
