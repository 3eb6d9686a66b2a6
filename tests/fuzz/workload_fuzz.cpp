// SPDX-License-Identifier: Apache-2.0
// A recorded workload in each of its forms; its requests are drawn, and served by steps of known cost.
#include "inputs/workload.h"

#include "sim/fleet.h"
#include "tests/fuzz/input_file.h"
#include "tests/sim/plain_cost.h"

using namespace draftline;
using namespace draftline::fuzz;

namespace {

bool is_cheap(const WorkloadTrace& trace) {
  std::int64_t tokens = 0;
  for (const RecordedRequest& r : trace.requests) tokens += r.prompt + r.output;
  return trace.requests.size() <= 64 && tokens <= 20'000;
}

void serve(std::shared_ptr<const WorkloadTrace> trace) {
  Workload w;
  w.arrivals.kind = ArrivalProcess::Kind::trace;
  w.prompt = w.output = RecordedLength{};
  w.requests = static_cast<std::int64_t>(trace->requests.size());
  w.arrival_trace = w.length_trace = std::move(trace);
  PlainCost cost;
  SchedulerLimits limits;
  limits.kv_blocks = 4096;
  limits.prefix_caching = true;
  const ServingRun run = Fleet({}, limits, {}, cost).run(w, 0, {});
  is_figure(run.figures.makespan().value, "makespan");
  is_figure(run.figures.ttft.mean().value, "ttft");
  is_figure(run.figures.e2e.mean().value, "e2e");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const char* name : {"workload.csv", "workload.jsonl", "workload.json"})
    told([&] {
      auto trace = std::make_shared<const WorkloadTrace>(read_workload_trace(input_file(name, text_of(data, size))));
      if (trace->has_arrivals && is_cheap(*trace)) serve(std::move(trace));
    });
  return 0;
}
