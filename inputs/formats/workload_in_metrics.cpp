// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "core/rng.h"
#include "inputs/formats/exposition.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/workload_files.h"

namespace draftline {

namespace {

constexpr std::array<std::string_view, 3> kPrompts{"vllm:request_prompt_tokens", "sglang:prompt_tokens_histogram",
                                                   "tgi_request_input_length"},
    kOutputs{"vllm:request_generation_tokens", "sglang:generation_tokens_histogram", "tgi_request_generated_tokens"};
constexpr std::array<std::string_view, 2> kQueried{"vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"},
    kFound{"vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"};

struct Histogram {
  std::map<double, double> below;  // by upper bound: requests of at most as many tokens
  double sum = 0, count = 0;

  void subtract(const Histogram& before) {
    for (const auto& [bound, requests] : before.below) below[bound] -= requests;
    sum -= before.sum;
    count -= before.count;
  }
};

struct Scrape {
  std::optional<double> time;  // seconds
  Histogram prompts, outputs;
  double queried = 0, found = 0;  // tokens that were sought in the prefix cache

  bool add_to(Histogram& h, std::string_view of, const MetricSample& sample) {
    if (!sample.name.starts_with(of)) return false;
    const std::string_view part = sample.name.substr(of.size());
    if (part == "_sum") h.sum += sample.value;
    if (part == "_count") h.count += sample.value;
    if (part != "_bucket") return true;
    const auto bound = label_of(sample.labels, "le");
    double le = std::numeric_limits<double>::infinity();
    if (bound && *bound != "+Inf") std::from_chars(bound->data(), bound->data() + bound->size(), le);
    h.below[le] += sample.value;
    return true;
  }
  void add(const MetricSample& sample) {
    for (const std::string_view name : kPrompts) add_to(prompts, name, sample);
    for (const std::string_view name : kOutputs) add_to(outputs, name, sample);
    std::string_view name = sample.name;
    if (name.ends_with("_total")) name.remove_suffix(6);
    if (std::ranges::find(kQueried, name) != kQueried.end()) queried += sample.value;
    if (std::ranges::find(kFound, name) != kFound.end()) found += sample.value;
  }
};

// A line that is one number is the time of the scrape behind it.
std::optional<double> time_of(std::string_view line) {
  double t = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), t);
  const std::string_view rest(end, static_cast<std::size_t>(line.data() + line.size() - end));
  if (error != std::errc() || rest.find_first_not_of(" \r") != rest.npos) return std::nullopt;
  return t;
}

std::vector<Scrape> read_scrapes(std::string_view text) {
  std::vector<Scrape> all(1);
  while (const auto line = next_line(text)) {
    if (const auto time = time_of(*line)) {
      if (all.back().prompts.count > 0) all.emplace_back();
      all.back().time = time;
    } else if (const auto sample = metric_sample(*line)) {
      all.back().add(*sample);
    }
  }
  return all;
}

// The length below which the share `u` of requests lies: linear within a bucket, and up to twice the last bound.
double quantile_of(const Histogram& h, double u) {
  double lower = 0, under = 0;
  for (const auto& [bound, requests] : h.below) {
    const double upper = std::isfinite(bound) ? bound : 2 * lower;
    if (requests >= u * h.count && requests > under)
      return lower + (upper - lower) * std::clamp((u * h.count - under) / (requests - under), 0.0, 1.0);
    lower = upper;
    under = requests;
  }
  return lower;
}

// As many lengths with the histogram's shares and mean, in random order.
std::vector<int> lengths_of(const Histogram& h, int many, Rng rng) {
  std::vector<double> drawn;
  double sum = 0;
  for (int i = 0; i < many; ++i) sum += drawn.emplace_back(quantile_of(h, (i + 0.5) / many));
  const double mean = h.sum / h.count, scale = sum > 0 && mean > 0 ? mean * many / sum : 1;
  std::vector<int> lengths;
  for (const double length : drawn)
    lengths.push_back(static_cast<int>(std::clamp(std::round(scale * length), 1.0, 1.0 * kMostRecorded)));
  for (std::size_t i = lengths.size(); i > 1; --i) std::swap(lengths[i - 1], lengths[rng.below(i)]);
  return lengths;
}

}  // namespace

WorkloadTrace workload_in_metrics(std::string_view text) {
  constexpr int kRequests = 1000;
  std::vector<Scrape> scrapes = read_scrapes(text);
  Scrape& last = scrapes.back();
  WorkloadTrace trace;
  trace.has_arrivals = false;
  std::optional<double> seconds;
  if (scrapes.size() > 1) {
    const Scrape& first = scrapes.front();
    if (first.time && last.time) seconds = *last.time - *first.time;
    last.prompts.subtract(first.prompts);
    last.outputs.subtract(first.outputs);
    last.queried -= first.queried;
    last.found -= first.found;
  }
  if (!(last.prompts.count > 0) || !(last.outputs.count > 0)) return trace;
  const auto prompts = lengths_of(last.prompts, kRequests, Rng(1, "prompts of a scrape")),
             outputs = lengths_of(last.outputs, kRequests, Rng(1, "outputs of a scrape"));
  for (int i = 0; i < kRequests; ++i) trace.requests.push_back({0, prompts[at(i)], outputs[at(i)], 0});
  trace.notes.push_back(significant(last.prompts.count) + " requests in histograms, of " +
                        significant(last.prompts.sum / last.prompts.count) + " and " +
                        significant(last.outputs.sum / last.outputs.count) +
                        " tokens on average; prompt and output of a request are drawn independently");
  if (seconds && *seconds > 0)
    trace.notes.push_back(significant(last.prompts.count / *seconds) +
                          " requests/s between the scrapes: \"arrivals\": {\"process\": \"poisson\", \"rate\": \"" +
                          significant(last.prompts.count / *seconds) + " /s\"}");
  else trace.notes.emplace_back("a scrape has no rate: give two, each behind a line with its time (date +%s)");
  if (last.queried > 0)
    trace.notes.push_back(
        significant(100 * last.found / last.queried, 3) +
        " % of the prompts' tokens were found in the prefix cache; a like saving: \"shared_prefix\": " +
        significant(std::round(last.found / last.queried * last.prompts.sum / last.prompts.count)));
  return trace;
}

}  // namespace draftline
