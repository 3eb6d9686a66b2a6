// SPDX-License-Identifier: Apache-2.0
#include "cli/live_server.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/build_info.h"
#include "core/rng.h"
#include "core/text_file.h"
#include "decoder/trace.h"
#include "model/fit_quality.h"
#include "probes/stopwatch.h"
#include "sim/serving.h"

namespace draftline::cli {

namespace {

constexpr const char* kNetwork = "cpu-small";
constexpr const char* kPlain = R"({"name":"autoregressive"})";
constexpr const char* kDrafting = R"({"draft_length":3,"exit":2,"name":"layerskip"})";
constexpr int kPrompt = 48, kOutput = 48, kMaxBatch = 8;
constexpr float kLateLayers = 0.35F;  // so that some drafts are right and some are not

std::vector<int> prompt_of(int request, int tokens, int vocabulary) {
  std::vector<int> prompt;
  for (int i = 0; i < tokens; ++i) prompt.push_back((request * 37 + i * 101 + 5) % vocabulary);
  return prompt;
}

struct Means {
  double throughput = 0, ttft = 0, tpot = 0;
};
Means means(const std::vector<LiveRequest>& requests, const std::vector<LiveServed>& served) {
  Means m;
  double tokens = 0, end = 0;
  const auto n = static_cast<double>(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    m.ttft += (served[i].first - requests[i].arrival) / n;
    m.tpot += (served[i].last - served[i].first) / (requests[i].output - 1) / n;
    tokens += requests[i].output;
    end = std::max(end, served[i].last);
  }
  m.throughput = tokens / (end - requests.front().arrival);
  return m;
}

}  // namespace

std::vector<LiveRequest> live_requests(int n, double rate, std::uint64_t seed) {
  Rng rng(seed, "live requests");
  std::vector<LiveRequest> all;
  double t = 0;
  for (int i = 0; i < n; ++i) {
    all.push_back(
        {t, kPrompt / 2 + static_cast<int>(rng.below(kPrompt)), kOutput / 2 + static_cast<int>(rng.below(kOutput))});
    t -= std::log(1 - rng.uniform()) / rate;
  }
  return all;
}

std::vector<LiveServed> serve_live(CpuDecoding& decoding, const std::vector<LiveRequest>& requests, int max_batch_size,
                                   LiveBatching batching) {
  Generator& g = decoding.generator();
  const int vocabulary = decoding.target().vocabulary;
  while (g.session().sequences > 0) g.leave(g.session().sequences - 1);
  std::vector<LiveServed> served(requests.size());
  std::vector<std::size_t> who;  // request of each seat
  std::vector<int> left;         // tokens still to come, of each seat; of a static batch also of those that are done
  std::size_t next = 0;
  double now = 0;
  const auto arrived = [&] {
    std::size_t n = next;
    while (n < requests.size() && requests[n].arrival <= now) ++n;
    return n - next;
  };
  const auto limit = static_cast<std::size_t>(max_batch_size);
  while (next < requests.size() || !who.empty()) {
    const std::size_t waiting = arrived();
    std::size_t joining = std::min(waiting, limit - std::min(limit, who.size()));
    if (batching == LiveBatching::fixed) {
      const std::size_t wanted = std::min(limit, requests.size() - next);
      joining = who.empty() && waiting >= wanted ? wanted : 0;
    }
    if (joining == 0 && who.empty()) {
      const std::size_t until = batching == LiveBatching::fixed ? std::min(limit, requests.size() - next) - 1 : 0;
      now = std::max(now, requests[next + until].arrival);
      continue;
    }
    const Stopwatch watch;
    std::vector<int> emitted;
    if (joining > 0) {
      std::vector<std::vector<int>> prompts;
      std::vector<int> ids;
      for (std::size_t i = 0; i < joining; ++i) {
        const int id = static_cast<int>(next + i);
        prompts.push_back(prompt_of(id, requests[next + i].prompt, vocabulary));
        ids.push_back(id);
      }
      g.join(prompts, ids);
      now += watch.elapsed().value;
      for (std::size_t i = 0; i < joining; ++i, ++next) {
        served[next].first = served[next].last = now;
        who.push_back(next);
        left.push_back(requests[next].output - 1);
      }
    } else {
      emitted = g.step();
      now += watch.elapsed().value;
      for (std::size_t s = 0; s < who.size(); ++s) {
        if (left[s] <= 0) continue;
        left[s] -= emitted[s];
        served[who[s]].last = now;
        served[who[s]].steps.push_back(emitted[s]);
      }
    }
    const bool all_done = std::all_of(left.begin(), left.end(), [](int n) { return n <= 0; });
    for (std::size_t s = who.size(); s-- > 0;) {
      if (left[s] > 0 || (batching == LiveBatching::fixed && !all_done)) continue;
      const Stopwatch leaving;
      g.leave(static_cast<int>(s));
      now += leaving.elapsed().value;
      who[s] = who.back();
      left[s] = left.back();
      who.pop_back();
      left.pop_back();
    }
  }
  return served;
}

std::vector<ComparedServing> compare_serving(const ServingFolder& folder, const Networks& networks,
                                             Validation& validation, int requests, Yardstick& yardstick) {
  std::vector<ComparedServing> all;
  constexpr int kLongest = 2 * kPrompt + 2 * kOutput, kRuns = 5;
  constexpr double kLoad = 0.6;  // of what full batches could serve
  const Seconds step = validation.expected(kNetwork, kPlain, kMaxBatch, kPrompt + kOutput / 2);
  const double rate = kLoad * kMaxBatch / (kOutput * step.value * 1.3);
  const auto offered = live_requests(requests, rate, 1);
  const auto arrivals = folder.out / "arrivals.csv";
  std::string csv = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  for (const LiveRequest& r : offered)
    csv += significant(r.arrival, 12) + "," + std::to_string(r.prompt) + "," + std::to_string(r.output) + "\n";
  write_text_file(arrivals, csv);
  for (const char* method : {kPlain, kDrafting}) {
    CpuDecoding decoding(networks, kNetwork, method, kMaxBatch, kLongest, yardstick, kLateLayers);
    const auto object = nlohmann::json::parse(method);
    for (const auto batching : {LiveBatching::prefill_first, LiveBatching::fixed}) {
      const bool fixed = batching == LiveBatching::fixed;
      serve_live(decoding, offered, kMaxBatch, batching);  // tapes are recorded and weights made
      std::vector<Means> runs;
      std::vector<LiveServed> served;
      for (int i = 0; i < kRuns; ++i) {
        served = serve_live(decoding, offered, kMaxBatch, batching);
        runs.push_back(means(offered, served));
      }
      const std::filesystem::path trace = folder.out / (object["name"].get<std::string>() + ".trace.gz");
      nlohmann::json in_scenario = object;
      nlohmann::json workload{{"arrivals", {{"trace", arrivals.string()}}}, {"requests", requests}};
      double steps = 0, emitted = 0;
      for (const LiveServed& s : served) {
        steps += static_cast<double>(s.steps.size());
        emitted += std::accumulate(s.steps.begin(), s.steps.end(), 0.0);
      }
      if (decoding.method().depth() > 0) {
        TraceHeader h;
        h.target = kNetwork;
        h.weights = "random";
        h.fingerprint = target_fingerprint(networks.at(kNetwork), h.weights);
        h.method = object.dump();
        h.steps_because = "recorded by a live server";
        h.depth = decoding.method().depth();
        h.commit = build_commit();
        std::vector<TracedPrompt> prompts;
        for (std::size_t i = 0; i < offered.size(); ++i) {
          TracedPrompt p;
          p.prompt_tokens = offered[i].prompt;
          p.tokens.assign(static_cast<std::size_t>(offered[i].output), 1);
          p.steps = served[i].steps;
          prompts.push_back(std::move(p));
        }
        write_trace(trace, h, prompts);
        in_scenario["acceptance"] = {{"trace", trace.string()}};
        workload["lengths"] = "acceptance_trace";
      }
      nlohmann::json scenario{
          {"device", (folder.out / "device.json").string()},
          {"engine", (folder.out / "engine.json").string()},
          {"transformer", (folder.data / "validation" / (std::string(kNetwork) + ".json")).string()},
          {"precision", "fp32"},
          {"method", in_scenario},
          {"workload", workload},
          {"scheduler", {{"max_batch_size", kMaxBatch}, {"prefix_caching", false}}}};
      scenario["scheduler"][fixed ? "static_batching" : "chunked_prefill"] = fixed;
      ServingSweep sweep(Document::from_text(scenario.dump(), "live.json"), folder.data);
      sweep.validate();
      const ServingOutcome outcome = sweep.at(0, {0, false, nullptr, {}});
      if (const auto* why = std::get_if<std::string>(&outcome.result)) throw InputErrors("simulating: " + *why);
      const ServingFigures& f = std::get<ServingResult>(outcome.result).runs.front().figures;
      const auto compared = [&](double predicted, double Means::*figure) {
        std::vector<double> values;
        for (const Means& m : runs) values.push_back(m.*figure);
        const double middle = quantile(values, 0.5);  // a queue amplifies what disturbs a run
        return Compared{predicted, middle, {}, 0.5 * (quantile(values, 0.75) - quantile(values, 0.25)) / middle};
      };
      all.push_back({fixed ? "static" : "continuous",
                     object["name"],
                     offered.size(),
                     steps > 0 ? emitted / steps : 1,
                     {{"throughput", compared(f.throughput().value, &Means::throughput)},
                      {"ttft_mean", compared(f.ttft.mean().value, &Means::ttft)},
                      {"tpot_mean", compared(f.tpot.mean().value, &Means::tpot)}}});
    }
  }
  return all;
}

}  // namespace draftline::cli
