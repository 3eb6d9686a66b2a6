// SPDX-License-Identifier: Apache-2.0
#include "measure/compare_serving.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/build_info.h"
#include "core/int_indexed.h"
#include "core/text_file.h"
#include "measure/live_server.h"
#include "model/devices/fit_quality.h"
#include "sim/serving.h"
#include "trace/trace.h"

namespace draftline::measure {

namespace {

struct Means {
  double throughput = 0, ttft = 0, tpot = 0;
};
Means means(const std::vector<LiveRequest>& requests, const std::vector<LiveServed>& served) {
  Means m;
  double tokens = 0, end = 0;
  const double n = count(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    m.ttft += (served[i].first - requests[i].arrival) / n;
    m.tpot += (served[i].last - served[i].first) / (requests[i].output - 1) / n;
    tokens += requests[i].output;
    end = std::max(end, served[i].last);
  }
  m.throughput = tokens / (end - requests.front().arrival);
  return m;
}

class Comparing {
 public:
  Comparing(const ServingAsked& asked, const Networks& networks, ValidationDevice& on, Validation& validation)
      : asked_(asked), load_(asked.load), networks_(networks), on_(on) {
    constexpr double kPrefillFactor = 1.3;  // by which prefills between steps lengthen the time from step to step
    const Seconds step =
        validation.expected(asked.network, MethodSpec(), load_.max_batch_size, load_.prompt + load_.output / 2);
    const double rate = load_.load * load_.max_batch_size / (load_.output * step.value * kPrefillFactor);
    offered_ = live_requests(asked.requests, rate, load_.prompt, load_.output, 1);
    std::string csv = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
    for (const LiveRequest& r : offered_)
      csv += significant(r.arrival, 12) + "," + std::to_string(r.prompt) + "," + std::to_string(r.output) + "\n";
    write_text_file(arrivals(), csv);
  }

  std::vector<ComparedServing> all() {
    const std::vector<MethodSpec> methods{MethodSpec(), load_.method};
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const MethodSpec& method = methods[m];
      std::unique_ptr<Decoding> decoding;
      std::unique_ptr<LiveServer> server;
      for (const Batching batching : {Batching::prefill_first, Batching::static_batching}) {
        if (asked_.interrupted()) return std::move(all_);
        ComparedServing c{.batching = batching,
                          .method = std::string(method.name()),
                          .requests = offered_.size(),
                          .figures = {},
                          .skipped = {}};
        until_ = 0.25 * to_double(2 * m + (batching == Batching::static_batching ? 2 : 1));
        try {
          if (elapsed() > 1) c.skipped = "the time for live servers was over";
          else if (!server) {
            decoding = on_.server(asked_.network, method, load_.max_batch_size, 2 * load_.prompt + 2 * load_.output);
            server = std::make_unique<LiveServer>(*decoding, load_.max_batch_size, load_.prompt / 2 + load_.prompt,
                                                  asked_.interrupted);
          }
          if (server && c.skipped.empty()) compare(c, *decoding, *server, method);
        } catch (const OutOfDeviceMemory& e) {
          server.reset();
          decoding.reset();
          c.skipped = e.what();
        }
        all_.push_back(std::move(c));
      }
    }
    return std::move(all_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::filesystem::path arrivals() const { return asked_.out / "arrivals.csv"; }
  // The share of the time that has passed; 0 if there is no limit.
  double elapsed() const {
    return asked_.time ? std::chrono::duration<double>(Clock::now() - start_).count() / asked_.time->value : 0;
  }

  void compare(ComparedServing& c, Decoding& decoding, LiveServer& server, const MethodSpec& method) {
    constexpr int kFewestTries = 3;  // runs to try until one is warm, even when time is over
    std::vector<Means> runs;
    std::vector<LiveServed> served;
    for (int i = 0; c.runs < asked_.runs && i < 2 * asked_.runs + kFewestTries; ++i) {
      if (elapsed() > until_ && (c.runs > 0 || i >= kFewestTries)) break;
      asked_.ready();
      auto now = server.serve(offered_, c.batching);
      if (asked_.interrupted()) return;
      if (!asked_.undisturbed() && i < asked_.runs) continue;
      if (!server.warm()) continue;
      served = std::move(now);
      runs.push_back(means(offered_, served));
      ++c.runs;
    }
    if (runs.empty()) {
      c.skipped = "in each of its runs something ran for the first time: what was timed is how graphs are made";
      return;
    }
    double steps = 0, emitted = 0;
    for (const LiveServed& s : served) {
      steps += count(s.steps);
      emitted += std::accumulate(s.steps.begin(), s.steps.end(), 0.0);
    }
    if (steps > 0) c.acceptance_length = emitted / steps;
    const Means predicted = simulated(decoding, served, method, c.batching);
    const auto of_runs = [&](double Means::*figure) {
      std::vector<double> values;
      for (const Means& m : runs) values.push_back(m.*figure);
      return compared(predicted.*figure, values);
    };
    c.figures = {{"throughput", of_runs(&Means::throughput)},
                 {"ttft_mean", of_runs(&Means::ttft)},
                 {"tpot_mean", of_runs(&Means::tpot)}};
  }

  // Simulates the same requests; each accepts what the live run accepted.
  Means simulated(Decoding& decoding, const std::vector<LiveServed>& served, const MethodSpec& method,
                  Batching batching) const {
    MethodChoice choice{method};
    ServingChoice serving;
    Workload& workload = serving.workload;
    workload.arrival_trace = std::make_shared<const WorkloadTrace>(read_workload_trace(arrivals()));
    workload.arrivals.kind = ArrivalProcess::Kind::trace;
    workload.requests = std::ssize(offered_);
    workload.prompt = workload.output = RecordedLength{};
    if (decoding.method().depth() > 0) {
      const std::filesystem::path file = asked_.out / (std::string(method.name()) + ".trace.gz");
      record(file, decoding, served, method);
      choice.acceptance = Acceptance(Acceptance::Traced{std::make_shared<const Trace>(Trace::read(file)), {}});
      workload.lengths_of_acceptance = true;
    } else {
      workload.length_trace = workload.arrival_trace;
    }
    serving.limits.max_num_seqs = load_.max_batch_size;
    serving.limits.prefix_caching = false;
    serving.limits.batching = batching;

    Catalogue catalogue(asked_.data);
    Scenario s;
    s.devices = {catalogue.device((asked_.out / "device.json").string())};
    s.engines = {catalogue.engine((asked_.out / "engine.json").string())};
    s.transformers = {catalogue.transformer(std::filesystem::absolute(networks_.file(asked_.network)).string())};
    s.precisions = {{.weights = std::string(name(on_.format()))}};
    s.methods = {choice};
    s.parallel = {Parallelism{}};
    s.batch_sizes = {1};
    s.prompt_tokens = {load_.prompt};
    s.output_tokens = {load_.output};
    s.serving.emplace().choices = {serving};
    ServingSweep sweep(std::move(s), asked_.data);
    sweep.validate();
    ServingSweep::Options options;
    options.oracle = false;
    const ServingOutcome outcome = sweep.at(0, options);
    if (const auto* why = std::get_if<std::string>(&outcome.result)) throw InputErrors("simulating: " + *why);
    const ServingFigures& f = std::get<ServingResult>(outcome.result).runs.front().figures;
    return {f.throughput().value, f.ttft.mean().value, f.tpot.mean().value};
  }

  void record(const std::filesystem::path& trace, Decoding& decoding, const std::vector<LiveServed>& served,
              const MethodSpec& method) const {
    TraceHeader h;
    h.target = asked_.network;
    h.weights = "random";
    h.fingerprint = target_fingerprint(networks_.at(asked_.network), h.weights);
    h.method = method.object().dump();
    h.steps_because = "recorded by a live server";
    h.depth = decoding.method().depth();
    h.commit = build_commit();
    std::vector<TracedPrompt> prompts;
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      TracedPrompt p;
      p.prompt_tokens = offered_[i].prompt;
      p.tokens.assign(at(offered_[i].output), 1);
      p.steps = served[i].steps;
      prompts.push_back(std::move(p));
    }
    write_trace(trace, h, prompts);
  }

  const ServingAsked& asked_;
  const ServingLoad& load_;
  const Networks& networks_;
  ValidationDevice& on_;
  std::vector<LiveRequest> offered_;
  Clock::time_point start_ = Clock::now();
  double until_ = 1;  // the share of the time after which the current server stops
  std::vector<ComparedServing> all_;
};

}  // namespace

std::vector<ComparedServing> compare_serving(const ServingAsked& asked, const Networks& networks, ValidationDevice& on,
                                             Validation& validation) {
  return Comparing(asked, networks, on, validation).all();
}

}  // namespace draftline::measure
