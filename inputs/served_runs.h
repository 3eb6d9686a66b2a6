// SPDX-License-Identifier: Apache-2.0
// Step times from benchmarks of a server: the results of their programs in JSON (inputs/served_formats), and a table of
// our own (CSV); also *.gz.
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
  double batch_size = 1;               // mean number of sequences that decode together
  double context = 0;                  // tokens of a sequence's text, averaged over its steps
  Seconds time;                        // time of `steps` steps and, if prompt_tokens > 0, of the prefill before them
  double steps = 1;                    // decode steps in `time`
  int prompt_tokens = 0;               // of each sequence, if `time` contains the prefill; else 0
  int rows = 1;                        // of each sequence in a step without drafting, as in a verify step
  double tokens_per_step = 1;          // per sequence: the acceptance length of a speculative run, bonus token included
  bool of_drafting_steps = false;      // whether that counts only the steps that verified drafts, as vLLM does
  std::optional<double> draft_length;  // of a speculative run, if in the file
  double request_prompt = 0, request_output = 0;      // mean tokens of a request; 0: `time` is not of whole requests
  std::optional<Seconds> ttft;                        // median time to the first token, if in the file
  std::optional<std::string> model_id;                // what the server calls its checkpoint, if in the file
  std::optional<std::string> transformer, precision;  // if in the file
  std::optional<int> tensor_parallel;
  std::vector<std::string> notes;  // causes of additional uncertainty, each with its place

  bool speculates() const { return tokens_per_step > 1; }
  Speculation speculation() const { return speculates() ? Speculation::on : Speculation::off; }
};

// The runs of "FILE" or "FILE@key=value,...". The keys set values that are not in the file: batch, context, prompt,
// output, transformer, precision, tensor_parallel, acceptance_length. Throws InputErrors with file, line and key.
std::vector<ServedRun> read_served_runs(const std::string& argument);
std::filesystem::path served_file(const std::string& argument);  // without the "@" and the keys after it

}  // namespace draftline
