// SPDX-License-Identifier: Apache-2.0
// The options of `draftline decode`.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"
#include "decoder/sampling.h"
#include "model/transformers/dtype.h"

namespace draftline::cli {

struct DecodeOptions {
  std::string transformer, method = "autoregressive", prompt_file, drafter_weights;
  std::vector<std::string> prompts;
  int random_prompts = 4, prompt_tokens = 16, batch_size = 4, new_tokens = 64;
  std::vector<int> end_of_text;
  Sampling sampling;
  std::uint64_t seed = 0;
  double draft_noise = 0.15;
  bool json = false;
  std::string trace, task, continuations;
  int trace_depth = 8;
  std::string device = "cpu", precision, limits, accept_trace, algorithms;
  bool no_graphs = false, random_drafter = false;
  int warm_up = -1;  // steps; -1: the default of the device
  std::vector<double> accept;
  bool cuda() const { return device == "cuda"; }
  bool forced() const { return !accept.empty() || !accept_trace.empty(); }
  DType format() const { return precision.empty() ? (cuda() ? DType::bf16 : DType::fp32) : *dtype_named(precision); }
};

void add_decode_options(CLI::App& verb, DecodeOptions&);  // the options outlive the verb

}  // namespace draftline::cli
