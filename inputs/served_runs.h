// SPDX-License-Identifier: Apache-2.0
// Step times from benchmarks of a server. Formats: vLLM's `bench serve` and `bench
// latency` (JSON), SGLang's bench_serving (JSON lines), guidellm's benchmarks.json, and a table of our own (CSV); also
// *.gz.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/engines/speculation.h"

namespace draftline {

struct ServedRun {
  std::string place;                   // "c8.json", "runs.jsonl:3", "steps.csv:7"
  double batch_size = 1;               // sequences that decode together, on average
  double context = 0;                  // tokens of a sequence's text, on average over its steps
  Seconds time;                        // of `steps` steps and, if prompt_tokens > 0, of the prefill before them
  double steps = 1;                    // decode steps that `time` holds
  int prompt_tokens = 0;               // of each sequence, if `time` holds their prefill; else 0
  double tokens_per_step = 1;          // of a sequence: the acceptance length of a speculative run, bonus included
  std::optional<double> draft_length;  // of a speculative run, if the file has it
  double request_prompt = 0, request_output = 0;      // tokens of a request, mean; 0: no request is in the time
  std::optional<std::string> transformer, precision;  // if the file has them
  std::optional<int> tensor_parallel;
  std::vector<std::string> notes;  // reasons why it is less certain than it looks, each with its place

  bool speculates() const { return tokens_per_step > 1; }
  Speculation speculation() const { return speculates() ? Speculation::on : Speculation::off; }
};

// The runs of "FILE" or "FILE@key=value,...". The keys set what the file lacks: batch, context, prompt, output,
// transformer, precision, tensor_parallel, acceptance_length. Throws InputErrors with file, line and key.
std::vector<ServedRun> read_served_runs(const std::string& argument);
std::filesystem::path served_file(const std::string& argument);  // without the "@" and the keys behind it

}  // namespace draftline
