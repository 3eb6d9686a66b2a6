// SPDX-License-Identifier: Apache-2.0
// How fast the program is: a sweep of 100,000 points with its JSON streamed away, the prices of a plan's
// configurations, a plan of a thousand options, the event loop, and suffix decoding's trees. Figures are medians of
// several rounds of one run; machines are shared, so compare within a run. `--short` runs a small part of each, for the
// tests.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string_view>

#include "core/rng.h"
#include "methods/drafting/suffix_tree.h"
#include "model/kernels/kernel_time.h"
#include "reports/run_report.h"
#include "sim/advice_sweep.h"
#include "sim/capacity.h"

using namespace draftline;

namespace {

struct Bench {
  std::string scenarios = DRAFTLINE_SOURCE_DIR "/tests/bench", data = DRAFTLINE_SOURCE_DIR "/data";
  bool brief = false;
  int rounds() const { return brief ? 1 : 5; }
};

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

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

template <class F>
double median_of(int rounds, F f) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(seconds(f));
  return median(std::move(times));
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void sweep(const Bench& bench) {
  const double before = peak_memory_mib();
  std::size_t points = 0, bytes = 0;
  const double time = median_of(bench.rounds(), [&] {
    Away away;
    std::ostream out(&away);
    Sweep s(bench.scenarios + "/sweep.json", bench.data);
    s.validate();
    RunReport report({out, Format::json, {"run", bench.data}}, s.scenario());
    points = s.scenario().points() / (bench.brief ? 10 : 1);
    for (std::size_t i = 0; i < points; ++i) report.add(s.at(i));
    report.finish();
    bytes = away.bytes;
  });
  std::printf("sweep: %zu points in %.2f s on one core, %.1f us a point, %.0f MB of JSON; peak memory +%.0f MiB\n",
              points, time, 1e6 * time / static_cast<double>(points), static_cast<double>(bytes) / 1e6,
              peak_memory_mib() - before);
}

void kernel_times(const Bench& bench) {
  Catalogue catalogue(bench.data);
  const Document name = Document::from_text("\"h100-sxm\"", "bench");
  const auto device = catalogue.device(name.root());
  if (!device) name.finish();
  constexpr int kTimes = 20000;
  volatile double sink = 0;
  const double gemm = median_of(5, [&] {
    for (int i = 0; i < kTimes; ++i) sink = kernel_time(*device, Gemm{1 + i % 1024, 4096, 14336}).value;
  });
  const double attention = median_of(5, [&] {
    for (int i = 0; i < kTimes; ++i)
      sink = kernel_time(*device, Attention{8, 8, 1, 32, 8, 128}, Span{8.0 * (i % 4096), 8.0 * (i % 4096)}).value;
  });
  static_cast<void>(sink);
  std::printf("kernel times: a GEMM %.0f ns, an attention %.0f ns\n", 1e9 * gemm / kTimes, 1e9 * attention / kTimes);
}

// What it takes to price a configuration (device, ranks, precision, method) for the event loop: what is found out
// before the first run, and the prices of the batches and chunks that the run meets.
void prices(const Bench& bench) {
  ServingSweep sweep(bench.scenarios + "/plan.json", bench.data);
  sweep.validate();
  const std::size_t choices = sweep.scenario().serving->choices.size(), all = sweep.scenario().points() / choices;
  const std::size_t stride = bench.brief ? 24 : 4;
  double prepared = 0, priced = 0;
  int configurations = 0;
  for (std::size_t i = 0; i < all; i += stride, ++configurations) {
    std::unique_ptr<ServingPoint> point;
    prepared += seconds([&] { point = sweep.prepare(point_at(sweep.scenario(), i * choices + choices / 2)); });
    priced += point->run(0, {}).pricing_time.value;
  }
  std::printf("prices: %d configurations, %.2f ms each: %.2f ms before the first run, %.2f ms in it\n", configurations,
              1e3 * (prepared + priced) / configurations, 1e3 * prepared / configurations,
              1e3 * priced / configurations);
}

void plan(const Bench& bench) {
  ServingSweep sweep(bench.scenarios + "/plan.json", bench.data);
  sweep.validate();
  const Prices prices{sweep.scenario().serving->prices};
  const std::size_t options = bench.brief ? 12 : sweep.scenario().points();
  int feasible = 0;
  const double time = seconds([&] {
    for (std::size_t i = 0; i < options; ++i) feasible += !smallest_fleet(sweep, i, prices, 1024, 0).obstacle ? 1 : 0;
  });
  std::printf("plan: %zu options, %d of them feasible, in %.2f s on one core, %.1f ms each\n", options, feasible, time,
              1e3 * time / static_cast<double>(options));
}

// The event loop on the peers' work (docs/explanation/simulator.md): Llama-2-70B on two A100s, Poisson arrivals of 1
// request/s, chunks of 512, at most 128 sequences; lengths of the Azure conversation trace where it is at hand, else
// drawn with its moments. The short form draws them and has a small KV pool, so that some requests are refused.
void serve(const Bench& bench, std::int64_t requests, const std::string& method, const char* name) {
  const std::string trace = std::string(DRAFTLINE_REFERENCE_DATA) + "/workloads/splitwise_conv.csv";
  const std::string lengths = !bench.brief && std::filesystem::exists(trace)
                                  ? R"({"trace": ")" + trace + R"("})"
                                  : R"({"prompt": {"distribution": "lognormal", "mean": 1155, "cv": 0.96},
                "output": {"distribution": "lognormal", "mean": 211, "cv": 0.77}})";
  const Document scenario = Document::from_text(
      R"({"device": "a100-sxm", "tensor_parallel": 2, "transformer": "llama-2-70b", "engine": "vllm", "method": )" +
          method + R"(, "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "lengths": )" + lengths +
          R"(, "requests": )" + std::to_string(requests) +
          R"(}, "scheduler": {"max_num_seqs": 128, "max_num_batched_tokens": 512)" +
          (bench.brief ? R"(, "kv_blocks": 400}})" : "}}"),
      bench.scenarios + "/serving.json");
  ServingSweep sweep(scenario, bench.data);
  sweep.validate();
  const double before = peak_memory_mib();
  const auto point = sweep.prepare(point_at(sweep.scenario(), 0));
  std::vector<double> loops;
  double pricing = 0;
  std::int64_t steps = 0, refused = 0;
  for (int i = 0; i < (requests > 100'000 ? 1 : bench.rounds()); ++i) {
    const ServingRun run = point->run(static_cast<std::uint64_t>(i), {});  // a seed again would find its draws kept
    loops.push_back(run.wall_time.value);
    pricing = std::max(pricing, run.pricing_time.value);
    steps = run.figures.steps;
    refused = run.figures.refused;
  }
  const double loop = median(std::move(loops));
  std::printf(
      "serving, %s: %9lld requests, %lld refused, %9lld steps in %.4f s: %.0f requests/s, %.0f steps/s, %.0f ns a "
      "step; ",
      name, static_cast<long long>(requests), static_cast<long long>(refused), static_cast<long long>(steps), loop,
      static_cast<double>(requests) / loop, static_cast<double>(steps) / loop, 1e9 * loop / static_cast<double>(steps));
  std::printf("prices %.3f s; peak memory +%.0f MiB\n", pricing, peak_memory_mib() - before);
}

// Texts of phrases that recur, as an agent's: prompts of 1000 tokens, outputs of 500, two tokens a step. Engine
// profiles have the sum as "search".
void suffix_trees(const Bench& bench) {
  constexpr int kDepth = 24, kPrompt = 1000, kOutput = 500, kStep = 2;
  Rng rng(1, "suffix trees");
  const auto word = [&] { return static_cast<int>(std::min(32e3, std::pow(rng.uniform() + 1e-6, -1.1))); };
  std::vector<std::vector<int>> phrases(400);
  for (auto& phrase : phrases)
    for (auto n = 4 + rng.below(40); n > 0; --n) phrase.push_back(word());
  const auto text = [&](std::size_t size) {
    std::vector<int> tokens;
    while (tokens.size() < size) {
      std::vector<int> fresh(8);
      std::generate(fresh.begin(), fresh.end(), word);
      const auto& next = rng.below(2) == 0 ? fresh : phrases[static_cast<std::size_t>(word() % 400)];
      tokens.insert(tokens.end(), next.begin(), next.end());
    }
    tokens.resize(size);
    return tokens;
  };
  methods::SuffixTree outputs(kDepth);
  std::vector<double> kept, searched;
  std::size_t drafted = 0;
  for (int request = 0; request < (bench.brief ? 4 : 40); ++request) {
    methods::SuffixTree own(kDepth);
    const auto whole = text(kPrompt + kOutput);
    own.extend(0, std::span(whole).first(kPrompt));
    for (std::size_t at = kPrompt; at < whole.size(); at += kStep) {
      const auto fresh = std::span(whole).subspan(at, kStep),
                 context = std::span(whole).subspan(at + kStep - kDepth, kDepth);
      kept.push_back(seconds([&] { own.extend(0, fresh), outputs.extend(request, fresh); }));
      searched.push_back(seconds([&] {
        const auto of_own = own.speculate(context, {}), of_all = outputs.speculate(context, {});
        drafted += (of_own.score >= of_all.score ? of_own : of_all).tokens.size();
      }));
    }
  }
  const double steps = static_cast<double>(kept.size());
  std::printf("suffix trees: %.2f us to keep and %.2f us to search a sequence's in a step, %.1f drafts\n",
              1e6 * median(std::move(kept)), 1e6 * median(std::move(searched)), static_cast<double>(drafted) / steps);
}

// Advice on long chains of a large draft network, whose steps have tens of thousands of ops.
void advise_long_chains(const Bench& bench) {
  for (const int drafts : {4, 16, 64}) {
    if (bench.brief && drafts > 4) break;
    const double time = seconds([&] {
      AdviceSweep sweep(
          Document::from_text(R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "llama-3-70b",
        "engine": "vllm", "method": {"name": "draft_model", "draft": "llama-3.1-8b", "acceptance": {"rate": 0.9},
        "draft_length": )" + std::to_string(drafts) +
                                  "}}",
                              bench.scenarios + "/advice.json"),
          bench.data, false);
      sweep.at(0, 0);
    });
    std::printf("advise: %2d drafts of an 8B network in %.2f s\n", drafts, time);
  }
}

// Long lists in a scenario: of rates, each a point, and of mistakes.
void read_long_lists(const Bench& bench) {
  const auto list = [](int n, double step) {
    std::string all = "0";
    for (int i = 1; i < n; ++i) all += "," + std::to_string(i * step);
    return all;
  };
  const auto read = [&](const std::string& rates, const std::string& batches) {
    const std::string text = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "method":
      {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": [)" +
                             rates + R"(]}}, "batch_size": [)" + batches + "]}";
    return seconds([&] {
      try {
        Sweep(Document::from_text(text, bench.scenarios + "/lists.json"), bench.data);
      } catch (const InputErrors&) {}
    });
  };
  const int rates = bench.brief ? 100 : 10'000, mistakes = bench.brief ? 1'000 : 3'000'000;
  std::printf("scenario: %d rates read in %.4f s, %d wrong batch sizes in %.4f s\n", rates,
              read(list(rates, 1.0 / rates), "1"), mistakes, read("0.5", list(mistakes, 0)));
}

void run(const Bench& bench) {
  advise_long_chains(bench);
  read_long_lists(bench);
  suffix_trees(bench);
  sweep(bench);
  kernel_times(bench);
  prices(bench);
  plan(bench);
  const std::string plain = R"({"name": "autoregressive"})",
                    eagle = R"({"name": "eagle3", "draft_length": 4, "acceptance": {"rates": [0.8, 0.75, 0.7, 0.65]}})";
  for (const std::int64_t requests : {1'000, 10'000, 100'000, 1'000'000, 8'000'000}) {
    if (bench.brief && requests > 10'000) break;
    serve(bench, requests, plain, "plain         ");
    serve(bench, requests, eagle, "EAGLE-3, k = 4");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--short") bench.brief = true;
    else if (argument == "--data" && i + 1 < argc) bench.data = argv[++i];
    else return std::fprintf(stderr, "usage: draftline_bench [--short] [--data DIR]\n"), 2;
  }
  try {
    run(bench);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "draftline_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
