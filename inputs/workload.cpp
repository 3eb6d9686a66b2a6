// SPDX-License-Identifier: Apache-2.0
#include "inputs/workload.h"

#include <algorithm>
#include <array>

#include "core/int_indexed.h"

namespace draftline {

namespace {

double gamma_shape(double cv) { return 1 / (cv * cv); }

bool has_recorded_prefixes(const Workload& w) {
  return w.length_trace && !w.length_trace->prefix_hashes.empty() && is_recorded(w.prompt);
}

// The lengths of prompts and outputs. A side that is not given is the trace's, row by row, whatever is drawn for the
// other; without a trace it is the scenario's.
void read_both_lengths(const Reader& in, Workload& w, Catalogue& catalogue) {
  if (in.is_string()) {
    static constexpr std::array<std::string_view, 1> words{"acceptance_trace"};
    in.word(words);
    w.lengths_of_acceptance = true;
    w.prompt = w.output = RecordedLength{};
    return;
  }
  in.suggest({"order"});
  if (const auto trace = in.find("trace")) w.length_trace = catalogue.workload(*trace);
  const auto prompt = in.find("prompt"), output = in.find("output"), shared = in.find("shared_prefix");
  if (!prompt && !output && !w.length_trace) {
    if (shared) w.length_trace = w.arrival_trace;
    else in.fail("give a \"trace\", or \"prompt\" and \"output\"");
  }
  const auto side = [&](const std::optional<Reader>& given, int RecordedRequest::*column) {
    if (given) return read_lengths(*given, w.length_trace.get(), column);
    return w.length_trace ? Lengths{RecordedLength{}} : Lengths{};
  };
  w.prompt = side(prompt, &RecordedRequest::prompt);
  w.output = side(output, &RecordedRequest::output);
  if (in.has("trace") && (!prompt || !output))
    if (const auto order = in.find("order")) {
      static constexpr std::array<std::string_view, 2> names{"file", "random"};
      w.lengths_in_order = order->word(names) == "file";
    }
  if (shared) {
    if (has_recorded_prefixes(w))
      shared->fail("the prompts of " + w.length_trace->file.string() + " have prefix blocks of their own");
    w.shared_prefix = read_shared_prefix(*shared);
  }
  in.done();
}

void read_arrivals(const Reader& in, Workload& w, Catalogue& catalogue) {
  ArrivalProcess& a = w.arrivals;
  for (const char* key : {"process", "rate", "cv", "on", "off", "concurrency", "rate_scale"}) in.has(key);
  if (const auto trace = in.find("trace")) {
    a.kind = ArrivalProcess::Kind::trace;
    w.arrival_trace = catalogue.workload(*trace);
    if (w.arrival_trace && !w.arrival_trace->has_arrivals) trace->fail("that file has no arrival times");
    if (const auto scale = in.find("rate_scale")) a.scale = scale->number(1e-6, 1e6);
  } else {
    using Kind = ArrivalProcess::Kind;
    static constexpr NamedValues<Kind, 4> kProcesses{
        {{"closed", Kind::closed}, {"poisson", Kind::poisson}, {"gamma", Kind::gamma}, {"on_off", Kind::on_off}}};
    const Reader process = in.at("process");
    a.kind = process.value_in(kProcesses);
    if (!process.is_named_in(kProcesses)) return;
    if (a.kind == ArrivalProcess::Kind::closed) a.concurrency = in.at("concurrency").positive_int(1 << 20);
    else a.rate = in.at("rate").quantity<PerSecond>().value;
    if (a.kind == ArrivalProcess::Kind::gamma) a.cv = in.at("cv", "variation").number(0.01, 30);
    if (a.kind == ArrivalProcess::Kind::on_off) {
      a.on = in.at("on").quantity<Seconds>().value;
      a.off = in.at("off").quantity<Seconds>().value;
      if (a.rate * a.on < 0.01) in.fail("fewer than one arrival in a hundred phases that are on");
    }
  }
  in.done();
}

}  // namespace

std::optional<SharedPrefix> read_shared_prefix(const Reader& in) {
  constexpr std::int64_t kMostInAll = std::int64_t{1} << 28;  // tokens; each block of them may get a name
  SharedPrefix shared;
  if (in.is_object()) {
    shared.tokens = in.at("tokens").integer(0, kLongestText);
    if (const auto groups = in.find("groups")) shared.groups = groups->positive_int(1 << 20);
    in.done();
  } else {
    shared.tokens = in.integer(0, kLongestText);
  }
  if (std::int64_t{shared.tokens} * shared.groups > kMostInAll)
    in.fail("all its groups together must have at most " + std::to_string(kMostInAll) + " tokens");
  return shared.tokens > 0 ? std::optional(shared) : std::nullopt;
}

Workload read_workload(const Reader& in, Catalogue& catalogue) {
  Workload w;
  read_arrivals(in.at("arrivals"), w, catalogue);
  if (const auto lengths = in.find("lengths")) {
    read_both_lengths(*lengths, w, catalogue);
  } else if (w.arrival_trace) {
    w.length_trace = w.arrival_trace;
    w.prompt = w.output = RecordedLength{};
  }
  const auto recorded = [](const auto& trace) -> std::int64_t { return std::ssize(trace->requests); };
  if (const auto requests = in.find("requests")) {
    w.requests = requests->long_integer(1, 1'000'000'000);
    if (w.arrival_trace && w.requests > recorded(w.arrival_trace))
      requests->fail("the trace has " + std::to_string(recorded(w.arrival_trace)) + " requests");
  } else if (w.arrival_trace || w.length_trace) {
    w.requests = recorded(w.arrival_trace ? w.arrival_trace : w.length_trace);
  } else {
    w.requests = 1000;
  }
  const bool drawn = w.arrivals.kind != ArrivalProcess::Kind::trace;
  const double rate = drawn ? mean_rate(w) : 0, seconds = rate > 0 ? static_cast<double>(w.requests) / rate : 0;
  if (seconds > kLongestTime.value)
    in.fail(std::to_string(w.requests) + " requests arrive in " + to_text(Seconds{seconds}) +
            ", simulated time ends after " + to_text(kLongestTime));
  if (const auto warm_up = in.find("warm_up")) w.warm_up = warm_up->long_integer(0, w.requests - 1);
  in.done();
  return w;
}

double mean_rate(const Workload& w) {
  const ArrivalProcess& a = w.arrivals;
  switch (a.kind) {
    case ArrivalProcess::Kind::closed: return 0;
    case ArrivalProcess::Kind::on_off: return a.rate * a.on / (a.on + a.off);
    case ArrivalProcess::Kind::trace: {
      const double last = w.arrival_trace->requests[at(w.requests - 1)].arrival;
      return last > 0 ? a.scale * static_cast<double>(w.requests) / last : 0;
    }
    case ArrivalProcess::Kind::poisson:
    case ArrivalProcess::Kind::gamma: break;
  }
  return a.rate;
}

static double mean_of(const Lengths& l, const Workload& w, int RecordedRequest::*tokens) {
  if (!is_recorded(l)) return mean_length(l);
  const auto& trace = w.length_trace ? w.length_trace : w.arrival_trace;
  if (!trace) return 0;
  double sum = 0;
  for (const RecordedRequest& r : trace->requests) sum += r.*tokens;
  return sum / count(trace->requests);
}
double mean_prompt(const Workload& w) { return mean_of(w.prompt, w, &RecordedRequest::prompt); }
double mean_output(const Workload& w) { return mean_of(w.output, w, &RecordedRequest::output); }

bool is_recorded(const Workload& w) { return w.arrival_trace || w.lengths_of_acceptance; }

int prefix_block(const Workload& w) { return w.shared_prefix ? w.shared_prefix->block : kPrefixBlockTokens; }

bool draws_lengths(const Workload& w) { return is_drawn(w.prompt) || is_drawn(w.output); }

Workload at_rate(Workload w, double factor) {
  w.arrivals.scale *= factor;
  w.arrivals.rate *= factor;
  w.arrivals.on /= factor;
  w.arrivals.off /= factor;
  return w;
}

Workload one_by_one(Workload w) {
  w.arrivals = {ArrivalProcess::Kind::closed};
  w.arrivals.concurrency = 1;
  w.arrival_trace = nullptr;
  return w;
}

Requests::Requests(const Workload& w, std::uint64_t seed)
    : workload_(w),
      gaps_(seed, "arrivals"),
      prompts_(seed, "prompt lengths"),
      outputs_(seed, "output lengths"),
      rows_(seed, "rows of a trace"),
      groups_(seed, "shared prefixes") {
  if (w.drawn == nullptr || w.requests > DrawnRequests::kMostRequests) return;
  kept_prompts_ = w.drawn->prompts.stream(w.prompt, seed, "prompt lengths");
  kept_outputs_ = w.drawn->outputs.stream(w.output, seed, "output lengths");
  if (w.arrivals.kind == ArrivalProcess::Kind::gamma)
    kept_gaps_ = w.drawn->gaps.stream(gamma_shape(w.arrivals.cv), seed, "arrivals");
}

double Requests::gamma_gap() {
  const ArrivalProcess& a = workload_.arrivals;
  const double shape = gamma_shape(a.cv), scale = 1 / a.rate / shape;
  const auto unit = [&](Rng& rng) { return gamma_variate(rng, shape, 1); };
  return (kept_gaps_ ? kept_gaps_->at(made_, unit) : unit(gaps_)) * scale;
}

// Seconds to the next arrival.
double Requests::gap() {
  const ArrivalProcess& a = workload_.arrivals;
  switch (a.kind) {
    case ArrivalProcess::Kind::poisson: return gaps_.exponential() / a.rate;
    case ArrivalProcess::Kind::gamma: return gamma_gap();
    case ArrivalProcess::Kind::on_off: {
      double left = gaps_.exponential() / a.rate, passed = 0;  // left: time in on phases until the arrival
      if (made_ == 0) on_left_ = a.on * gaps_.exponential();   // the first phase is on
      while (left > on_left_) {
        left -= on_left_;
        passed += on_left_ + a.off * gaps_.exponential();
        on_left_ = a.on * gaps_.exponential();
      }
      on_left_ -= left;
      return passed + left;
    }
    case ArrivalProcess::Kind::closed:
    case ArrivalProcess::Kind::trace: break;
  }
  return 0;
}

// Only whole blocks have names: one in which a prefix ends is no other prompt's.
const std::vector<int>* Requests::draw_prefix(int prompt) {
  const SharedPrefix& shared = *workload_.shared_prefix;
  const int group = static_cast<int>(groups_.below(at(shared.groups)));
  const int first = group * (shared.tokens / shared.block), blocks = std::min(shared.tokens, prompt) / shared.block;
  std::vector<int>& names = prefixes_[group];
  for (int i = count(names); i < blocks; ++i) names.push_back(first + i);
  return &names;
}

std::optional<Request> Requests::next() {
  const Workload& w = workload_;
  if (made_ == w.requests) return std::nullopt;
  if (w.arrival_trace) time_ = w.arrival_trace->requests[at(made_)].arrival / w.arrivals.scale;
  else time_ += gap();
  if (time_ > kLongestTime.value)
    throw InputErrors("request " + std::to_string(made_) + " arrives after more than " + to_text(kLongestTime) +
                      ": beyond simulated time");
  Request r{made_, to_ticks({time_}), 0, 0, nullptr};
  const RecordedRequest* row = nullptr;
  if (w.length_trace && (is_recorded(w.prompt) || is_recorded(w.output))) {
    const std::size_t rows = w.length_trace->requests.size();
    row = &w.length_trace->requests[w.lengths_in_order ? at(made_) % rows : rows_.below(rows)];
  }
  if (row != nullptr && has_recorded_prefixes(w))
    r.prefix_hashes = &w.length_trace->prefix_hashes[at(row - w.length_trace->requests.data())];
  const auto length = [&](const Lengths& lengths, const auto& kept, Rng& own) {
    if (!kept) return draw_length(lengths, own);
    return kept->at(made_, [&](Rng& rng) { return draw_length(lengths, rng); });
  };
  r.prompt = is_recorded(w.prompt) ? row->prompt : length(w.prompt, kept_prompts_, prompts_);
  r.output = is_recorded(w.output) ? row->output : length(w.output, kept_outputs_, outputs_);
  if (w.shared_prefix) r.prefix_hashes = draw_prefix(r.prompt);
  ++made_;
  return r;
}

std::string Requests::place(const Request& r) const {
  const auto& trace = workload_.length_trace;
  const bool by_row = trace && workload_.lengths_in_order && is_recorded(workload_.prompt);
  if (!by_row || trace->requests.front().line == 0) return "request " + std::to_string(r.id);
  const auto row = at(r.id) % trace->requests.size();
  return trace->file.string() + ":" + std::to_string(trace->requests[row].line);
}

}  // namespace draftline
