// SPDX-License-Identifier: Apache-2.0
#include "measure/live_server.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/int_indexed.h"
#include "core/rng.h"
#include "probes/samples.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

namespace {

// Runs of the same step until it is warm: op by op, captured, replayed; memory may grow once.
constexpr int kMostWarmUpRuns = 4;

std::vector<int> prompt_of(int request, int tokens, int vocabulary) {
  std::vector<int> prompt;
  for (int i = 0; i < tokens; ++i) prompt.push_back((request * 37 + i * 101 + 5) % vocabulary);
  return prompt;
}

}  // namespace

std::vector<LiveRequest> live_requests(int n, double rate, int prompt, int output, std::uint64_t seed) {
  Rng rng(seed, "live requests");
  const auto around = [&](int middle) { return middle / 2 + to_int(rng.below(at(middle))); };
  std::vector<LiveRequest> all;
  double t = 0;
  for (int i = 0; i < n; ++i) {
    const int tokens = around(prompt);
    all.push_back({t, tokens, around(output)});
    t -= std::log(1 - rng.uniform()) / rate;
  }
  return all;
}

LiveServer::LiveServer(Decoding& decoding, int max_batch_size, int longest_prompt, std::function<bool()> interrupted)
    : decoding_(decoding),
      generator_(decoding.generator()),
      limit_(at(max_batch_size)),
      interrupted_(std::move(interrupted)) {
  const int vocabulary = decoding.target().vocabulary;
  constexpr int kShort = 2;
  const auto join = [&](int n, int tokens) {
    std::vector<std::vector<int>> prompts;
    std::vector<int> ids;
    for (int i = 0; i < n; ++i) {
      prompts.push_back(prompt_of(i, tokens, vocabulary));
      ids.push_back(i);
    }
    generator_.join(prompts, ids);
  };
  empty();
  join(max_batch_size, longest_prompt);  // needs the most memory, so that it grows only once
  empty();
  for (int slots = 1; slots <= max_batch_size && !interrupted_(); ++slots) {
    join(1, kShort);
    for (int attempt = 1; attempt <= kMostWarmUpRuns; ++attempt)
      if (timed([&] { generator_.step(); })) break;
  }
}

void LiveServer::empty() {
  while (generator_.session().sequences > 0) generator_.leave(generator_.session().sequences - 1);
  who_.clear();
  left_.clear();
}

template <class Work>
bool LiveServer::timed(const Work& work) {
  StepMeter& meter = decoding_.meter();
  meter.first_of_its_kind();  // forgets earlier work
  const double before = meter.pace();
  const Stopwatch watch;
  work();
  const Seconds took = meter.time(watch);
  now_ += TimedSample{.took = took.value, .before = before, .after = meter.pace()}.normalised(usual_, typical_);
  return !meter.first_of_its_kind();
}

// Few prompts have the same shape. One whose shape is new leaves and joins again, so that its time is a warm one.
void LiveServer::join(const std::vector<LiveRequest>& requests, std::size_t n) {
  std::vector<std::vector<int>> prompts;
  std::vector<int> ids;
  for (std::size_t i = next_; i < next_ + n; ++i) {
    ids.push_back(to_int(i));
    prompts.push_back(prompt_of(ids.back(), requests[i].prompt, decoding_.target().vocabulary));
  }
  const double before = now_;
  for (int attempt = 1; !timed([&] { generator_.join(prompts, ids); }); ++attempt) {
    if (attempt == kMostWarmUpRuns) {
      warm_ = false;
      break;
    }
    now_ = before;
    for (std::size_t i = 0; i < n; ++i) generator_.leave(generator_.session().sequences - 1);
  }
  for (std::size_t i = 0; i < n; ++i, ++next_) {
    served_[next_].first = served_[next_].last = now_;
    who_.push_back(next_);
    left_.push_back(requests[next_].output - 1);
  }
}

void LiveServer::step() {
  std::vector<int> emitted;
  warm_ = timed([&] { emitted = generator_.step(); }) && warm_;
  for (std::size_t s = 0; s < who_.size(); ++s) {
    if (left_[s] <= 0) continue;
    left_[s] -= emitted[s];
    served_[who_[s]].last = now_;
    served_[who_[s]].steps.push_back(emitted[s]);
  }
}

void LiveServer::leave_done(Batching batching) {
  const bool all_done = std::ranges::all_of(left_, [](int n) { return n <= 0; });
  for (std::size_t s = who_.size(); s-- > 0;) {
    if (left_[s] > 0 || (batching == Batching::static_batching && !all_done)) continue;
    const double before = now_;
    if (!timed([&] { generator_.leave(to_int(s)); })) now_ = before + move_;
    else if (s + 1 < who_.size()) move_ = now_ - before;
    who_[s] = who_.back();
    left_[s] = left_.back();
    who_.pop_back();
    left_.pop_back();
  }
}

std::vector<LiveServed> LiveServer::serve(const std::vector<LiveRequest>& requests, Batching batching) {
  check(batching != Batching::continuous, "a live server computes no chunks of prompts beside decoding");
  empty();
  served_.assign(requests.size(), {});
  next_ = 0;
  now_ = 0;
  warm_ = true;
  usual_ = decoding_.meter().usual_pace();
  typical_ = decoding_.meter().typical_pace();
  while ((next_ < requests.size() || !who_.empty()) && !interrupted_()) {
    std::size_t waiting = 0;
    while (next_ + waiting < requests.size() && requests[next_ + waiting].arrival <= now_) ++waiting;
    std::size_t joining = std::min(waiting, limit_ - who_.size());
    const std::size_t whole = std::min(limit_, requests.size() - next_);  // a static batch
    if (batching == Batching::static_batching) joining = who_.empty() && waiting >= whole ? whole : 0;
    if (joining == 0 && who_.empty()) {
      now_ = std::max(now_, requests[next_ + (batching == Batching::static_batching ? whole - 1 : 0)].arrival);
      continue;
    }
    if (joining > 0) join(requests, joining);
    else step();
    leave_done(batching);
  }
  return served_;
}

}  // namespace draftline::measure
