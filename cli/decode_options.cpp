// SPDX-License-Identifier: Apache-2.0
#include "cli/decode_options.h"

#include "cli/options.h"

namespace draftline::cli {

void add_decode_options(CLI::App& verb, DecodeOptions& o) {
  verb.add_option(
          "--transformer", o.transformer,
          "a Hugging Face folder (\"./llama\"); or with random weights a name of\n`list transformers` or a config.json")
      ->required();
  verb.add_option(
          "--method", o.method,
          "a name, or as in a scenario: '{\"name\": \"eagle3\", \"draft_length\": 3}'; a trained drafter's\nfolder "
          "is its \"checkpoint\": '{\"name\": \"eagle3\", \"checkpoint\": \"./drafter\"}'")
      ->capture_default_str();
  verb.add_option("--prompt", o.prompts, "token ids, \"1 2 3\"; may be given many times");
  verb.add_option("--prompts", o.random_prompts, "random prompts, if none is given")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  verb.add_option("--prompt-tokens", o.prompt_tokens, "their length")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb.add_option("--new-tokens", o.new_tokens, "most new tokens of a text")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb.add_option("--batch-size", o.batch_size, "sequences that step together")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb.add_option("--end-of-text", o.end_of_text, "token ids that end a text");
  verb.add_option("--temperature", o.sampling.temperature, "0: greedy")
      ->check(between(0.0, 100.0))
      ->capture_default_str();
  verb.add_option("--top-k", o.sampling.top_k, "0: all")->check(CLI::Range(0, 1 << 30))->capture_default_str();
  verb.add_option("--top-p", o.sampling.top_p, "1: all")->check(between(1e-6, 1.0))->capture_default_str();
  add_seed(verb, o.seed, "of weights, prompts and sampling")->capture_default_str();
  verb.add_option("--draft-noise", o.draft_noise,
                  "a draft model of the target's shape is the target with noise of this size")
      ->check(between(0.0, 100.0))
      ->capture_default_str();
  verb.add_flag("--random-drafter", o.random_drafter,
                "beside a Hugging Face folder: drafters without weights of their own get random ones");
  verb.add_option("--trace", o.trace, "records the acceptance of every position to this file (gzip of JSON lines)");
  verb.add_option("--trace-depth", o.trace_depth, "levels recorded, where the method has as many")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->needs("--trace");
  verb.add_option(
          "--continuations", o.continuations,
          "with --trace: the target's own greedy text, a line of ids per prompt as\ndecode prints it; checked, and "
          "not decoded again")
      ->needs("--trace");
  verb.add_option("--task", o.task, "what the prompts are, for the trace's header")->needs("--trace");
  verb.add_option("--device", o.device, "where to decode")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--precision", o.precision, "of weights and activations; bf16 on cuda, fp32 on the cpu if not given")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  verb.add_flag("--no-graphs", o.no_graphs, "on cuda: every op launched by itself, so that phases are told apart");
  verb.add_option("--algorithms", o.algorithms,
                  "on cuda: a file of the algorithms that matrix products were timed to want; read if it is there, and "
                  "written with what was timed anew, so that the next run has the same bits");
  verb.add_option("--accept", o.accept,
                  "forces acceptance by these rates, one for each draft in turn: all is drafted\nand verified, the "
                  "decision is theirs. For timings with random weights")
      ->delimiter(',')
      ->excludes("--trace");  // which says what is accepted, and times nothing
  verb.add_option("--accept-trace", o.accept_trace, "forces the acceptance of a recorded trace instead")
      ->excludes("--accept")
      ->excludes("--trace");
  verb.add_option("--warm-up", o.warm_up, "first steps that are not timed; 4 on cuda, 0 on the cpu if not given")
      ->check(CLI::Range(0, 1 << 20))
      ->excludes("--trace");
  verb.add_option("--limits", o.limits, "a device of `list devices` whose datasheet the timings are set against")
      ->excludes("--trace");
  verb.add_flag("--json", o.json, "texts, steps and timings as one JSON document");
}

}  // namespace draftline::cli
