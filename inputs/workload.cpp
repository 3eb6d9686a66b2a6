// SPDX-License-Identifier: Apache-2.0
#include "inputs/workload.h"

#include <array>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>

namespace draftline {

namespace {

constexpr int kMostDrawn = 1 << 24;

double gamma_shape(double cv) { return 1 / (cv * cv); }

double gamma_draw(Rng& rng, double shape, double scale) {
  return boost::math::quantile(boost::math::gamma_distribution<>(shape, scale), rng.uniform());
}

// Sets mean and deviation to those of a trace's column, or of its logarithms.
void fit(Lengths& lengths, const WorkloadTrace& trace, int RecordedRequest::*column) {
  double n = 0, sum = 0, squares = 0;
  for (const RecordedRequest& r : trace.requests) {
    const double x = lengths.kind == Lengths::Kind::lognormal ? std::log(r.*column) : r.*column;
    ++n, sum += x, squares += x * x;
  }
  lengths.mean = sum / n;
  lengths.deviation = std::sqrt(std::max(0.0, squares / n - lengths.mean * lengths.mean));
}

Lengths read_lengths(const Reader& in, const WorkloadTrace* fitted, int RecordedRequest::*column) {
  Lengths out;
  if (!in.is_object()) {
    out.mean = in.positive_int(kMostDrawn);
    return out;
  }
  for (const char* key : {"least", "most", "mean", "cv"}) in.has(key);  // of one distribution or another
  static constexpr std::array<std::string_view, 4> names{"uniform", "exponential", "gamma", "lognormal"};
  out.kind = static_cast<Lengths::Kind>(1 + in.at("distribution").choice(names));
  if (out.kind == Lengths::Kind::uniform) {
    out.mean = in.at("least").positive_int(kMostDrawn);
    out.deviation = in.at("most").integer(static_cast<int>(out.mean), kMostDrawn);
  } else if (fitted != nullptr && !in.has("mean")) {
    fit(out, *fitted, column);
  } else {
    out.mean = in.at("mean").number(1, kMostDrawn);
    if (out.kind == Lengths::Kind::exponential) {
      out.deviation = out.mean;
    } else {
      const double cv = in.at("cv", "variation").number(1e-3, 100);
      out.deviation = cv * out.mean;
      if (out.kind == Lengths::Kind::lognormal) {
        const double s2 = std::log1p(cv * cv);
        out.mean = std::log(out.mean) - s2 / 2;
        out.deviation = std::sqrt(s2);
      }
    }
  }
  in.done();
  return out;
}

// The lengths of prompts and outputs. A side that is not given is the trace's, row by row, whatever is drawn for the
// other; without a trace it is the scenario's.
void read_both_lengths(const Reader& in, Workload& w, Catalogue& catalogue) {
  if (in.is_string()) {
    static constexpr std::array<std::string_view, 1> words{"acceptance_trace"};
    in.choice(words);
    w.lengths_of_acceptance = true;
    w.prompt.kind = w.output.kind = Lengths::Kind::trace;
    return;
  }
  in.has("order");
  if (const auto trace = in.find("trace")) w.length_trace = catalogue.workload(*trace);
  const auto prompt = in.find("prompt"), output = in.find("output");
  if (!prompt && !output && !w.length_trace) in.fail("give a \"trace\", or \"prompt\" and \"output\"");
  const auto side = [&](const std::optional<Reader>& given, int RecordedRequest::*column) {
    if (given) return read_lengths(*given, w.length_trace.get(), column);
    return w.length_trace ? Lengths{Lengths::Kind::trace, 0, 0} : Lengths{};
  };
  w.prompt = side(prompt, &RecordedRequest::prompt);
  w.output = side(output, &RecordedRequest::output);
  if (in.has("trace") && (!prompt || !output))
    if (const auto order = in.find("order")) {
      static constexpr std::array<std::string_view, 2> names{"file", "random"};
      w.lengths_in_order = order->choice(names) == 0;
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
    static constexpr std::array<std::string_view, 4> names{"closed", "poisson", "gamma", "on_off"};
    a.kind = static_cast<ArrivalProcess::Kind>(in.at("process").choice(names));
    if (in.failed()) return;
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

int Lengths::draw(Rng& rng) const {
  double x = mean;
  switch (kind) {
    case Kind::uniform:
      return static_cast<int>(mean) +
             static_cast<int>(rng.below(static_cast<std::uint64_t>(deviation - mean) + 1));  // both ends included
    case Kind::exponential: x = mean * rng.exponential(); break;
    case Kind::gamma:
      if (deviation > 0) x = gamma_draw(rng, gamma_shape(deviation / mean), mean / gamma_shape(deviation / mean));
      break;
    case Kind::lognormal: x = std::exp(mean + deviation * rng.normal()); break;
    case Kind::fixed:
    case Kind::trace: break;
  }
  return static_cast<int>(std::clamp(std::round(x), 1.0, static_cast<double>(kMostDrawn)));
}

Workload read_workload(const Reader& in, Catalogue& catalogue) {
  Workload w;
  read_arrivals(in.at("arrivals"), w, catalogue);
  if (const auto lengths = in.find("lengths")) {
    read_both_lengths(*lengths, w, catalogue);
  } else if (w.arrival_trace) {
    w.length_trace = w.arrival_trace;
    w.prompt.kind = w.output.kind = Lengths::Kind::trace;
  }
  const auto recorded = [](const auto& trace) { return static_cast<std::int64_t>(trace->requests.size()); };
  if (const auto requests = in.find("requests")) {
    w.requests = requests->long_integer(1, 1'000'000'000);
    if (w.arrival_trace && w.requests > recorded(w.arrival_trace))
      requests->fail("the trace has " + std::to_string(recorded(w.arrival_trace)) + " requests");
  } else if (w.arrival_trace || w.length_trace) {
    w.requests = recorded(w.arrival_trace ? w.arrival_trace : w.length_trace);
  } else {
    w.requests = 1000;
  }
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
      const double last = w.arrival_trace->requests[static_cast<std::size_t>(w.requests - 1)].arrival;
      return last > 0 ? a.scale * static_cast<double>(w.requests) / last : 0;
    }
    case ArrivalProcess::Kind::poisson:
    case ArrivalProcess::Kind::gamma: break;
  }
  return a.rate;
}

static double mean_of(const Lengths& l, const Workload& w, int RecordedRequest::*tokens) {
  switch (l.kind) {
    case Lengths::Kind::uniform: return (l.mean + l.deviation) / 2;
    case Lengths::Kind::lognormal: return std::exp(l.mean + l.deviation * l.deviation / 2);
    case Lengths::Kind::trace: {
      const auto& trace = w.length_trace ? w.length_trace : w.arrival_trace;
      if (!trace) return 0;
      double sum = 0;
      for (const RecordedRequest& r : trace->requests) sum += r.*tokens;
      return sum / static_cast<double>(trace->requests.size());
    }
    case Lengths::Kind::fixed:
    case Lengths::Kind::exponential:
    case Lengths::Kind::gamma: break;
  }
  return l.mean;
}
double mean_prompt(const Workload& w) { return mean_of(w.prompt, w, &RecordedRequest::prompt); }
double mean_output(const Workload& w) { return mean_of(w.output, w, &RecordedRequest::output); }

bool is_recorded(const Workload& w) { return w.arrival_trace || w.lengths_of_acceptance; }

bool draws_lengths(const Workload& w) {
  const auto drawn = [](const Lengths& l) { return l.kind != Lengths::Kind::fixed && l.kind != Lengths::Kind::trace; };
  return drawn(w.prompt) || drawn(w.output);
}

Workload at_rate(Workload w, double factor) {
  w.arrivals.scale *= factor;
  w.arrivals.rate *= factor;
  w.arrivals.on /= factor;
  w.arrivals.off /= factor;
  return w;
}

Requests::Requests(const Workload& w, std::uint64_t seed)
    : workload_(w),
      gaps_(seed, "arrivals"),
      prompts_(seed, "prompt lengths"),
      outputs_(seed, "output lengths"),
      rows_(seed, "rows of a trace") {
  if (w.drawn == nullptr || w.requests > DrawnRequests::kMostRequests) return;
  kept_prompts_ = w.drawn->prompts.stream(w.prompt, seed, "prompt lengths");
  kept_outputs_ = w.drawn->outputs.stream(w.output, seed, "output lengths");
  if (w.arrivals.kind == ArrivalProcess::Kind::gamma)
    kept_gaps_ = w.drawn->gaps.stream(gamma_shape(w.arrivals.cv), seed, "arrivals");
}

double Requests::gamma_gap() {
  const ArrivalProcess& a = workload_.arrivals;
  const double shape = gamma_shape(a.cv), scale = 1 / a.rate / shape;
  const auto unit = [&](Rng& rng) { return gamma_draw(rng, shape, 1); };
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

std::optional<Request> Requests::next() {
  const Workload& w = workload_;
  if (made_ == w.requests) return std::nullopt;
  if (w.arrival_trace) time_ = w.arrival_trace->requests[static_cast<std::size_t>(made_)].arrival / w.arrivals.scale;
  else time_ += gap();
  if (time_ > kLongestTime.value)
    throw InputErrors("request " + std::to_string(made_) + " arrives after more than " + to_text(kLongestTime) +
                      ": beyond simulated time");
  Request r{made_, to_ticks({time_}), 0, 0, nullptr};
  const RecordedRequest* row = nullptr;
  if (w.length_trace && (w.prompt.kind == Lengths::Kind::trace || w.output.kind == Lengths::Kind::trace)) {
    const std::size_t rows = w.length_trace->requests.size();
    row = &w.length_trace->requests[w.lengths_in_order ? static_cast<std::size_t>(made_) % rows : rows_.below(rows)];
  }
  if (row != nullptr && !w.length_trace->prefix_hashes.empty() && w.prompt.kind == Lengths::Kind::trace)
    r.prefix_hashes = &w.length_trace->prefix_hashes[static_cast<std::size_t>(row - w.length_trace->requests.data())];
  const auto length = [&](const Lengths& lengths, const auto& kept, Rng& own) {
    if (!kept) return lengths.draw(own);
    return kept->at(made_, [&](Rng& rng) { return lengths.draw(rng); });
  };
  r.prompt = w.prompt.kind == Lengths::Kind::trace ? row->prompt : length(w.prompt, kept_prompts_, prompts_);
  r.output = w.output.kind == Lengths::Kind::trace ? row->output : length(w.output, kept_outputs_, outputs_);
  ++made_;
  return r;
}

std::string Requests::place(const Request& r) const {
  const auto& trace = workload_.length_trace;
  const bool by_row = trace && workload_.lengths_in_order && workload_.prompt.kind == Lengths::Kind::trace;
  if (!by_row || trace->requests.front().line == 0) return "request " + std::to_string(r.id);
  const auto row = static_cast<std::size_t>(r.id) % trace->requests.size();
  return trace->file.string() + ":" + std::to_string(trace->requests[row].line);
}

}  // namespace draftline
