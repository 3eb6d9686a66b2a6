// SPDX-License-Identifier: Apache-2.0
// How fast: a sweep of 100,000 points with its JSON streamed away, and what its parts cost. Figures are medians of several
// rounds of one run; machines are shared, so compare within a run.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <ostream>
#include <streambuf>

#include "model/kernel_time.h"
#include "reports/run_report.h"
#include "sim/serving.h"

using namespace draftline;

namespace {

class Away : public std::streambuf {  // counts what is written
 public:
  std::size_t bytes = 0;

 protected:
  int overflow(int c) override { return ++bytes, c; }
  std::streamsize xsputn(const char*, std::streamsize n) override { return bytes += static_cast<std::size_t>(n), n; }
};

template <class F>
double seconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class F>
double median_of(int rounds, F f) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(seconds(f));
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The event loop on the peers' work (docs/simulator.md): Llama-2-70B on two A100s, Poisson arrivals of 1 request/s, chunks of
// 512, at most 128 sequences; lengths of the Azure conversation trace where it is at hand, else drawn with its moments.
void serve(const std::string& root, std::int64_t requests, const std::string& method, const char* name) {
  const std::string trace = std::string(DRAFTLINE_REFERENCE_DATA) + "/workloads/splitwise_conv.csv";
  const std::string lengths = std::filesystem::exists(trace)
                                  ? R"({"trace": ")" + trace + R"("})"
                                  : R"({"prompt": {"distribution": "lognormal", "mean": 1155, "variation": 0.96},
                "output": {"distribution": "lognormal", "mean": 211, "variation": 0.77}})";
  const Document scenario = Document::from_text(
      R"({"device": "a100-sxm", "tensor_parallel": 2, "transformer": "llama-2-70b", "engine": "vllm", "method": )" +
          method + R"(, "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "lengths": )" + lengths +
          R"(, "requests": )" + std::to_string(requests) +
          R"(}, "scheduler": {"max_batch_size": 128, "max_batched_tokens": 512}})",
      root + "/bench.json");
  ServingSweep sweep(scenario, root + "/data");
  sweep.validate();
  const double before = peak_memory_mib();
  const auto point = sweep.prepare(point_at(sweep.scenario(), 0));
  std::vector<double> loops;
  double pricing = 0;
  std::int64_t steps = 0;
  for (int i = 0; i < (requests > 100'000 ? 1 : 5); ++i) {
    const ServingRun run = point->run(0, {});
    loops.push_back(run.wall_time.value);
    pricing = std::max(pricing, run.pricing_time.value);
    steps = run.figures.steps;
  }
  std::nth_element(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(loops.size() / 2), loops.end());
  const double loop = loops[loops.size() / 2];
  std::printf(
      "serving, %s: %9lld requests, %9lld steps in %.4f s: %.0f requests/s, %.0f ns a step; prices %.3f s; "
      "peak memory +%.0f MiB\n",
      name, static_cast<long long>(requests), static_cast<long long>(steps), loop, static_cast<double>(requests) / loop,
      1e9 * loop / static_cast<double>(steps), pricing, peak_memory_mib() - before);
}

}  // namespace

int main() {
  const std::string root = DRAFTLINE_SOURCE_DIR;
  const std::string file = root + "/tests/bench/sweep.json";
  const double start_mib = peak_memory_mib();
  std::size_t points = 0, bytes = 0;
  const double sweep = median_of(5, [&] {
    Away away;
    std::ostream out(&away);
    Sweep s(file, root + "/data");
    s.validate();
    RunReport report({out, Format::json, {"run", root + "/data"}}, s.scenario());
    points = s.scenario().points();
    for (std::size_t i = 0; i < points; ++i) report.add(s.at(i));
    report.finish();
    bytes = away.bytes;
  });
  std::printf("sweep: %zu points in %.2f s on one core, %.1f us a point, %.0f MB of JSON; peak memory +%.0f MiB\n",
              points, sweep, 1e6 * sweep / static_cast<double>(points), static_cast<double>(bytes) / 1e6,
              peak_memory_mib() - start_mib);

  Catalogue catalogue(root + "/data");
  const Document name = Document::from_text("\"h100-sxm\"", "bench");
  const auto device = catalogue.device(name.root());
  constexpr int kTimes = 20000;
  volatile double sink = 0;
  const double gemm = median_of(5, [&] {
    for (int i = 0; i < kTimes; ++i) sink = kernel_time(*device, Gemm{1 + i % 1024, 4096, 14336}).value;
  });
  const double attention = median_of(5, [&] {
    for (int i = 0; i < kTimes; ++i)
      sink = kernel_time(*device, Attention{8, 8, 1, 32, 8, 128}, Span{8.0 * (i % 4096), 8.0 * (i % 4096)}).value;
  });
  std::printf("kernel times: a GEMM %.0f ns, an attention %.0f ns\n", 1e9 * gemm / kTimes, 1e9 * attention / kTimes);
  static_cast<void>(sink);
  const std::string plain = R"({"name": "autoregressive"})",
                    eagle = R"({"name": "eagle3", "draft_length": 4, "acceptance": {"rates": [0.8, 0.75, 0.7, 0.65]}})";
  for (const std::int64_t requests : {1'000, 10'000, 100'000, 1'000'000, 8'000'000}) {
    serve(root, requests, plain, "plain         ");
    serve(root, requests, eagle, "EAGLE-3, k = 4");
  }
}
