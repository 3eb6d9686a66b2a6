// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_options.h"

#include <iostream>

#include "cli/options.h"

namespace draftline::cli {

void add_validate_options(CLI::App& verb, ValidateOptions& o) {
  verb.add_option("--device", o.device, "what to validate")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--out", o.out, "folder of what each part measures; an interrupted run is completed there")
      ->capture_default_str();
  verb.add_option("--measured", o.measured, "calibrate from this measured file instead of probing")
      ->check(CLI::ExistingFile);
  verb.add_option("--steps", o.steps,
                  "compare with the steps of this file, and decode nothing: with --measured no device is needed")
      ->check(CLI::ExistingFile);
  verb.add_option("--datasheet", o.datasheet,
                  "the GPU: a name of `list devices` or a device file (a datasheet alone will do)");
  verb.add_option("--parts", o.parts, "some of probe, calibrate, decode, serving; all, if not given")
      ->delimiter(',')
      ->check(CLI::IsMember({"probe", "calibrate", "decode", "serving"}));
  verb.add_flag("--full", o.full, "the whole grid, however long it takes");
  verb.add_option("--grid", o.grid, "small: a few cells, to see that it works")
      ->check(CLI::IsMember({"standard", "small"}))
      ->capture_default_str();
  verb.add_option("--methods", o.methods, "only these methods' cells")->delimiter(',');
  verb.add_option("--networks", o.networks, "only these networks' cells")->delimiter(',');
  verb.add_option("--batch-sizes", o.batches, "only these batch sizes")->delimiter(',')->check(CLI::Range(1, 4096));
  verb.add_option(kRateOption, o.asked_rate, "of a draft, an input in both worlds; 0.7 if not given")
      ->check(between(0.0, 1.0));
  verb.add_option("--turns", o.turns, "times that each cell and each live server is measured")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--time-budget", o.time_budget, "seconds of a turn, about")
      ->check(between(1e-4, 60.0))
      ->capture_default_str();
  verb.add_option_function<double>("--patience",
                                   [&o](double seconds) {
                                     std::cerr << "--patience is called --time-budget now; the old name still works\n";
                                     o.time_budget = seconds;
                                   })
      ->check(between(1e-4, 60.0))
      ->group("");
  verb.add_option("--probe-seconds", o.probe_seconds,
                  "how long probing may take, about; 60 on the CPU, 140 on a GPU if not given")
      ->check(between(0.1, 3600.0));
  verb.add_option("--seconds", o.seconds,
                  "how long decoding may take, about; 290 on the CPU, 180 on a GPU,\nno limit with --full")
      ->check(between(0.1, 1e6));
  verb.add_option("--serving-seconds", o.serving_seconds,
                  "how long the live servers may take, about; 60 on a GPU, no limit on the CPU or with --full if not "
                  "given")
      ->check(between(0.1, 1e6));
  verb.add_option("--wait", o.wait,
                  "how long it may wait, in all, for other programs to leave a CPU's core;\n"
                  "100, none on the small grid, if not given")
      ->check(between(0.0, 1e5));
  verb.add_option("--requests", o.requests, "of the live server")->check(CLI::Range(2, 100000))->capture_default_str();
  verb.add_flag("--json", o.json, "one JSON document on standard output");
  verb.add_option("--markdown", o.markdown, "also writes the report, with all cells, to this file");
  verb.add_option("--html", o.html, "also writes it, with charts, to this file: a page for a browser");
}

}  // namespace draftline::cli
