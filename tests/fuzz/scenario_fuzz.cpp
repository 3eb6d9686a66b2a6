// SPDX-License-Identifier: Apache-2.0
// A scenario; one that can be read and is cheap is predicted at its first points, and simulated if it has a workload.
#include "sim/serving.h"
#include "tests/fuzz/figures.h"

using namespace draftline;
using namespace draftline::fuzz;

namespace {

bool is_short(const std::vector<int>& tokens) { return tokens.front() <= 4096; }

bool is_cheap(const Scenario& s) {
  const auto small = [](const auto& shape) { return is_small(*shape); };
  return s.batch_sizes.front() <= 64 && is_short(s.prompt_tokens) && is_short(s.output_tokens) &&
         s.methods.size() <= 4 && s.engines.size() <= 2 && s.transformers.size() <= 2 && s.parallel.size() <= 4 &&
         std::all_of(s.transformers.begin(), s.transformers.end(), small);
}

bool is_short(const Lengths& l) {
  if (const auto* uniform = std::get_if<UniformLength>(&l)) return uniform->most <= 1024;
  return !is_drawn(l) && !is_recorded(l) && mean_length(l) <= 1024;
}
bool is_cheap(const ServingChoice& c) {
  return c.workload.requests <= 20 && is_short(c.workload.prompt) && is_short(c.workload.output) &&
         c.fleet.replicas <= 4 && c.fleet.prefill_replicas <= 4;
}

void simulate_first(Scenario s) {
  ServingSweep sweep(std::move(s), kData);
  sweep.validate();
  const ServingOutcome o = sweep.at(0, {});
  const auto* served = std::get_if<ServingResult>(&o.result);
  if (served == nullptr) return;
  const ServingFigures& f = served->runs.front().figures;
  is_figure(f.makespan().value, "makespan");
  is_figure(f.ttft.mean().value, "ttft");
  is_figure(f.tpot.mean().value, "tpot");
  is_figure(f.e2e.mean().value, "e2e");
}

void predict_first(Scenario s) {
  constexpr std::size_t kMost = 2;
  Sweep sweep(std::move(s), kData);
  sweep.validate();
  for (std::size_t i = 0; i < std::min(kMost, sweep.scenario().points()); ++i) {
    const Outcome o = sweep.at(i, true);
    if (const auto* p = std::get_if<Prediction>(&o.result)) are_figures(*p);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Catalogue catalogue(kData);  // keeps the devices and engines that it has read
  told([&] {
    Scenario s = read_scenario(Document::from_text(text_of(data, size), "scenario.json"), catalogue);
    if (!is_cheap(s)) return;
    if (!s.serving) predict_first(std::move(s));
    else if (s.serving->replications <= 4 && is_cheap(s.serving->choices.front())) simulate_first(std::move(s));
  });
  return 0;
}
