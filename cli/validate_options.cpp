// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_options.h"

#include <iostream>

#include "cli/options.h"

namespace draftline::cli {

void add_validate_options(CLI::App& verb, ValidateOptions& o) {
  verb.add_option("--device", o.device, "what to validate")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--out", o.out, "folder for the files of all parts; an interrupted run is continued from it")
      ->capture_default_str();
  verb.add_option("--measured", o.measured, "calibrate from this measured file instead of probing")
      ->check(CLI::ExistingFile);
  verb.add_option("--steps", o.steps,
                  "compare with the steps of this file instead of decoding; with --measured no device is needed")
      ->check(CLI::ExistingFile);
  verb.add_option("--datasheet", o.datasheet,
                  "the GPU: a name of `list devices` or a device file (a datasheet is sufficient)");
  verb.add_option("--parts", o.parts, "some of probe, calibrate, decode, serving; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"probe", "calibrate", "decode", "serving"}));
  verb.add_flag("--full", o.full, "the whole grid, without a time limit");
  verb.add_option("--grid", o.grid, "small: a few cells, for a quick test")
      ->check(CLI::IsMember({"standard", "small"}))
      ->capture_default_str();
  verb.add_option("--methods", o.methods, "only these methods' cells")->delimiter(',');
  verb.add_option("--networks", o.networks, "only these networks' cells")->delimiter(',');
  verb.add_option("--batch-sizes", o.batches, "only these batch sizes")->delimiter(',')->check(CLI::Range(1, 4096));
  verb.add_option(kRateOption, o.asked_rate,
                  "acceptance rate of a draft, an input of measurement and prediction; default: 0.7")
      ->check(between(0.0, 1.0));
  verb.add_option("--turns", o.turns, "number of measurements of each cell and each live server")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--time-budget", o.time_budget, "approximate seconds per measurement")
      ->check(between(1e-4, 60.0))
      ->capture_default_str();
  verb.add_option_function<double>("--patience",
                                   [&o](double seconds) {
                                     std::cerr << "--patience is now called --time-budget; the old name still works\n";
                                     o.time_budget = seconds;
                                   })
      ->check(between(1e-4, 60.0))
      ->group("");
  verb.add_option("--probe-seconds", o.probe_seconds,
                  "approximate time of probing; default: 60 on the CPU, 140 on a GPU")
      ->check(between(0.1, 3600.0));
  verb.add_option("--seconds", o.seconds,
                  "approximate time of decoding; default: 290 on the CPU, 180 on a GPU,\nno limit with --full")
      ->check(between(0.1, 1e6));
  verb.add_option("--serving-seconds", o.serving_seconds,
                  "approximate time of the live servers; default: 60 on a GPU, no limit on the CPU or with --full")
      ->check(between(0.1, 1e6));
  verb.add_option("--wait", o.wait,
                  "longest total wait for other programs to leave a CPU core;\n"
                  "default: 100, or 0 on the small grid")
      ->check(between(0.0, 1e5));
  verb.add_option("--requests", o.requests, "number of requests to the live server")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  verb.add_flag("--json", o.json, "one JSON document on standard output");
  verb.add_option("--markdown", o.markdown, "also writes the report, with all cells, as Markdown to this file");
  verb.add_option("--html", o.html, "also writes the report, with charts, as HTML to this file");
}

}  // namespace draftline::cli
