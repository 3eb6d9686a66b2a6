// SPDX-License-Identifier: Apache-2.0
#include "cli/decode_options.h"

#include "cli/options.h"

namespace draftline::cli {

void add_decode_options(CLI::App& verb, DecodeOptions& o) {
  verb.add_option("--transformer", o.transformer,
                  "a Hugging Face folder (\"./llama\") or a GGUF file; for random weights a\nname of `list "
                  "transformers` or a config.json")
      ->required();
  verb.add_option(
          "--method", o.method,
          "a name, or an object as in a scenario: '{\"name\": \"eagle3\", \"draft_length\": 3}'; \"checkpoint\" gives\n"
          "the folder of a trained drafter: '{\"name\": \"eagle3\", \"checkpoint\": \"./drafter\"}'")
      ->capture_default_str();
  verb.add_option("--prompt", o.prompts, "token ids, \"1 2 3\"; may be repeated");
  verb.add_option("--prompt-file", o.prompt_file,
                  "a file with a line of token ids for each prompt; - is standard input")
      ->excludes("--prompt");
  verb.add_option("--prompts", o.random_prompts, "number of random prompts, without --prompt and --prompt-file")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  verb.add_option("--prompt-tokens", o.prompt_tokens, "length of random prompts")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb.add_option("--new-tokens", o.new_tokens, "limit on the new tokens of a text")
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
  add_seed(verb, o.seed, "seed of weights, prompts and sampling")->capture_default_str();
  verb.add_option("--draft-noise", o.draft_noise,
                  "relative noise of a draft model without checkpoint, which is a copy of the target")
      ->check(between(0.0, 100.0))
      ->capture_default_str();
  verb.add_flag("--random-drafter", o.random_drafter,
                "with a Hugging Face folder: use random weights for drafters without a checkpoint");
  verb.add_option("--drafter-weights", o.drafter_weights,
                  "a folder with the trained weights of a method for which no format is published, Clover or\n"
                  "SpecFormer: model.safetensors with the decoder's names")
      ->excludes("--random-drafter");
  verb.add_option("--trace", o.trace, "records the acceptance of every position to this file (gzip of JSON lines)");
  verb.add_option("--trace-depth", o.trace_depth, "limit on the recorded levels")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->needs("--trace");
  verb.add_option("--continuations", o.continuations,
                  "with --trace: the target's greedy text, a line of ids per prompt, as decode prints it;\n"
                  "it is checked instead of decoded again")
      ->needs("--trace");
  verb.add_option("--task", o.task, "kind of the prompts, for the trace's header")->needs("--trace");
  verb.add_option("--device", o.device, "where to decode")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--precision", o.precision, "format of weights and activations; default: bf16 on cuda, else fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  verb.add_flag("--no-graphs", o.no_graphs, "on cuda: launch every op individually, so that phases can be timed");
  verb.add_option("--algorithms", o.algorithms,
                  "on cuda: a file of the fastest algorithms of matrix products; it is read if it exists, and new\n"
                  "timings are written to it, so that the next run has the same bits");
  verb.add_option("--accept", o.accept,
                  "forces acceptance with these rates, one per draft position: drafting and verification run as\n"
                  "usual, but the rates decide the acceptance. For timings with random weights")
      ->delimiter(',')
      ->excludes("--trace");  // a trace records the real acceptance and times nothing
  verb.add_option("--accept-trace", o.accept_trace, "forces the acceptance of a recorded trace instead")
      ->excludes("--accept")
      ->excludes("--trace");
  verb.add_option("--warm-up", o.warm_up, "number of first steps that are not timed; default: 4 on cuda, 1 on the cpu")
      ->check(CLI::Range(0, 1 << 20))
      ->excludes("--trace");
  verb.add_option("--limits", o.limits, "a device of `list devices` with whose datasheet the timings are compared")
      ->excludes("--trace");
  verb.add_flag("--json", o.json, "texts, steps and timings as one JSON document");
}

}  // namespace draftline::cli
