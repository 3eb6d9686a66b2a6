// SPDX-License-Identifier: Apache-2.0
// What was measured: points of a probe, which a device is calibrated to, steps of a decoder, and benchmarks of a
// server. All readers get every input.
#include "inputs/served_runs.h"
#include "measure/validation.h"
#include "model/calibration/calibrated_files.h"
#include "model/calibration/measured.h"
#include "tests/fuzz/figures.h"
#include "tests/fuzz/input_file.h"

using namespace draftline;
using namespace draftline::fuzz;

namespace {

constexpr std::size_t kMostPoints = 32;  // that are fitted: the time of a fit grows with them

void calibrate(const Document& document) {
  const Measured m = read_whole(document, read_measured);
  if (m.points.size() > kMostPoints) return;
  CalibrationInput o;
  o.data = kData;
  o.locator = "measured.json";
  const OrderedJson device = calibrated_device(o, m).device;
  const Document written = Document::from_text(text_of(device), "device.json");
  read_whole(written, [](const Reader& in) { return read_device(in, kData / "devices"); });
}

void read_benchmark(const std::string& name, std::string_view bytes) {
  for (const ServedRun& run :
       read_served_runs(input_file(name, bytes).string() + "@batch=4,transformer=llama-3.1-8b")) {
    is_figure(run.time.value, "time");
    check(run.time.value > 0, "a step takes no time");
    is_figure(run.context, "context");
    is_figure(run.batch_size, "batch_size");
    is_figure(run.tokens_per_step, "tokens_per_step");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  told([&] { calibrate(Document::from_text(text, "measured.json")); });
  told([&] { read_whole(Document::from_text(text, "steps.json"), read_measured_steps); });
  for (const char* name : {"served.json", "served.jsonl", "served.csv"}) told([&] { read_benchmark(name, text); });
  return 0;
}
