// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/step_price.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "model/kernel_time.h"

namespace draftline {

namespace {

// What an engine makes of an op: looked up once per kind, not per op.
class CostTable {
 public:
  explicit CostTable(const Engine& e) : engine_(e) {}
  const OpCost& operator()(const Op& op, const Tape& tape, Phase phase) {
    const std::string_view key = op_key(op, tape);
    const auto* attend = std::get_if<Attend>(&op);
    const int kv_heads = attend ? attend->cache.kv_heads : 1,
              heads = attend ? attend->q.cols / attend->cache.head_dim : 1;
    const bool drafting = phase == Phase::draft;
    for (const Known& k : known_)
      if (k.key.data() == key.data() && k.drafting == drafting && k.heads == heads && k.kv_heads == kv_heads)
        return k.cost;
    return known_
        .emplace_back(Known{key, drafting, heads, kv_heads, engine_.cost_of(key, drafting).of_heads(heads, kv_heads)})
        .cost;
  }

 private:
  struct Known {
    std::string_view key;
    bool drafting;
    int heads, kv_heads;
    OpCost cost;
  };
  const Engine& engine_;
  std::deque<Known> known_;
};

// Since some bytes were met, `ours` of the step's `all` went by, and as much of its time.
Between between(const Device& d, Bytes ours, Bytes all, Seconds step) {
  return {ours, std::isfinite(ours.value) && all.value > 0 ? (ours / all) * (d.cpu->inflow * step) : Bytes{}};
}

Seconds product_time(const Device& d, const Gemm& k, double weight_traffic, const Between& since) {
  Seconds t = cpu_time(*d.cpu, k, since);
  if (weight_traffic > 1)  // dequantised through memory
    t += (weight_traffic - 1) * weight_bytes(k.weights, static_cast<double>(k.in) * k.out) /
         (d.fits.copy.bandwidth_share * d.bandwidth);
  return t;
}

// The time of a step of a processor, `time` of how long it takes: longer, the longer others fill the last cache meanwhile.
template <class Time>
Seconds settled(const Device& d, Time time) {
  constexpr int kMost = 100;
  constexpr double kClose = 1e-10;
  Seconds t = time(Seconds{});
  if (!d.cpu) return t;
  for (int i = 0; i < kMost; ++i) {
    const Seconds next = time(t);
    if (std::abs((next - t).value) <= kClose * next.value) return next;
    t = next;
  }
  return t;
}

// Device time of the ops whose time does not depend on the context. Walks a step in order, so that weights met again
// within L2's reach are read from L2. On a processor, whose caches may hold a small network from step to step, the walk
// starts where the step before it ended; activations lie where those before them lay, so they push nothing out.
class KernelPricer {
 public:
  KernelPricer(const Device& d, const Engine& e, std::span<const SegmentRun> steps) : device_(d), engine_(e) {
    if (!device_.cpu) return;
    for (const SegmentRun& run : steps)
      for (const Op& op : run.tape->ops)
        if (const auto weight = streamed_weight(op)) note(*weight);
    for (auto& [weight, at] : last_use_) at = at - moved_;
    step_ = moved_;
    moved_ = {};
  }
  Bytes step_weights() const { return step_; }  // met by a step of a processor

  Seconds operator()(const Op& op, const Kernel& kernel, const OpCost& cost) {
    const double hot = streamed(op, kernel);
    return std::visit([&](const auto& k) { return time(k, cost, hot); }, kernel) + extra_launches(cost);
  }
  Seconds extra_launches(const OpCost& cost) const { return (cost.launches - 1) * device_.fits.copy.fixed; }

  // On a processor: bytes of weights met since this op's were, its own included; infinite where it has none.
  Bytes met_since(const Op& op) {
    const auto weight = streamed_weight(op);
    if (!weight) return Bytes{INFINITY};
    const Bytes met = moved_ - last_use_.at(weight->id) + own_bytes(*weight);
    note(*weight);
    return met;
  }
  Gemm padded(Gemm k) const {
    const auto it = std::lower_bound(engine_.graph_sizes.begin(), engine_.graph_sizes.end(), k.rows);
    if (it != engine_.graph_sizes.end()) k.rows = *it;
    return k;
  }

 private:
  Seconds time(const Gemm& logical, const OpCost& cost, double hot) {
    const Gemm k = padded(logical);
    for (const auto& [seen, seen_hot, t] : gemms_)
      if (seen == k && seen_hot == hot) return t;
    Seconds t = kernel_time(device_, k, hot);
    if (cost.weight_traffic > 1) {  // dequantised through memory
      const Bytes more = (cost.weight_traffic - 1) * weight_bytes(k.weights, static_cast<double>(k.in) * k.out);
      t += more / (device_.fits.copy.bandwidth_share * device_.bandwidth);
    }
    gemms_.push_back({k, hot, t});
    return t;
  }
  Seconds time(const Copy& k, const OpCost& cost, double) {
    return kernel_time(device_,
                       Copy{cost.traffic * k.read, cost.traffic * k.written, k.flops, k.op, k.elements, k.format});
  }
  Seconds time(const AllReduce& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const ExpertMlp& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const Attention&, const OpCost&, double) { return {}; }  // depends on the context: StepPrice::Shape

  static Bytes own_bytes(const Weight& w) { return bytes_of(DType::fp32, static_cast<double>(w.in) * w.out); }
  double streamed(const Op& op, const Kernel& kernel) {
    if (device_.cpu) return 0;
    const Work w =
        std::holds_alternative<Attention>(kernel) ? Work{} : work(kernel, {});  // the cache is left out: constant
    const auto weight = streamed_weight(op);
    double hot = 0;
    if (weight) {
      if (const auto it = last_use_.find(weight->id); it != last_use_.end())
        hot = l2_share_left(device_, moved_ - it->second);
    }
    moved_ += w.bytes();
    if (weight) last_use_[weight->id] = moved_;
    return hot;
  }
  void note(const Weight& w) {
    moved_ += own_bytes(w);
    last_use_[w.id] = moved_;
  }

  struct GemmTime {
    Gemm kernel;
    double hot;
    Seconds time;
  };
  const Device& device_;
  const Engine& engine_;
  std::vector<GemmTime> gemms_;
  std::unordered_map<int, Bytes> last_use_;
  Bytes moved_, step_;
};

int part_of(Phase phase, const Kernel& kernel) {
  return std::holds_alternative<AllReduce>(kernel) ? 3 : static_cast<int>(phase);
}

KernelKind kind_of(const Kernel& kernel) {
  struct Kind {
    KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
    KernelKind operator()(const ExpertMlp&) const { return KernelKind::gemm; }
    KernelKind operator()(const Attention&) const { return KernelKind::attention; }
    KernelKind operator()(const Copy&) const { return KernelKind::elementwise; }
    KernelKind operator()(const AllReduce&) const { return KernelKind::communication; }
  };
  return std::visit(Kind{}, kernel);
}

Seconds attention_time(const Device& d, const Attention& k, Span span, double launches, double cache_traffic,
                       double bytes_per_pair, const Between& since) {
  const Bytes cache = bytes_of(k.cache, 2.0 * k.kv_heads * k.head_dim * span.keys);
  const Bytes more = cache_traffic * cache + Bytes{bytes_per_pair * k.heads * span.pairs};
  return kernel_time(d, k, span, since) + (launches - 1) * d.fits.copy.fixed +
         more / (d.fits.copy.bandwidth_share * d.bandwidth);
}

// Keys and values that a step meets.
Bytes caches_met(std::span<const SegmentRun> segments, std::span<const int> lengths) {
  Bytes met;
  for (const SegmentRun& run : segments)
    for (const Op& op : run.tape->ops) {
      const Kernel kernel = kernel_of(op, *run.tape);
      if (const auto* k = std::get_if<Attention>(&kernel))
        met += cpu_cache_bytes(*k, span_of(run, pass_of(op).index, lengths));
    }
  return met;
}

// Host work of a step that no op stands for.
Seconds host_base(const Engine& e, bool speculating) {
  return speculating ? e.step_speculating + e.launches_speculating * e.issue : e.step;
}

// Host time of what precedes an op: its draft pass, its launches.
class Issue {
 public:
  explicit Issue(const Engine& e) : engine_(e) {}
  void start_segment(std::size_t ops) {
    issued_ = static_cast<double>(ops) * engine_.record;
    if (engine_.graphs || !engine_.overlap) issued_ += engine_.graph_launch;
    pass_ = -1;
  }
  Seconds before(const Op& op, Phase phase, const OpCost& cost) {
    const int pass = pass_of(op).index;
    if (pass > pass_) {
      pass_ = pass;
      if (phase == Phase::draft) issued_ += engine_.draft_pass;
    }
    if (!engine_.graphs && engine_.overlap) issued_ += (cost.launches + cost.host_launches) * engine_.issue;
    return issued_;
  }
  // What the one thread that is host and device does for an op beside running it.
  Seconds beside(const OpCost& cost) const {
    return engine_.overlap ? Seconds{} : (cost.launches + cost.host_launches) * engine_.issue;
  }
  void meet() { issued_ = {}; }  // both clocks meet: a blocking read inside a segment
  Seconds issued() const { return issued_; }

 private:
  const Engine& engine_;
  Seconds issued_;
  int pass_ = -1;
};

}  // namespace

// ---- the walk

namespace {

// Times of a step's ops, one by one; on a processor, of a step that takes so long.
class OpTimes {
 public:
  OpTimes(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d, const Engine& e,
          Seconds step)
      : device_(d), lengths_(lengths), price_(d, e, segments), step_(step), weights_(price_.step_weights()) {
    if (d.cpu) since_ = {weights_ + caches_met(segments, lengths), d.cpu->inflow * step};
  }
  Seconds operator()(const SegmentRun& run, const Op& op, const Kernel& kernel, const OpCost& cost) {
    if (const auto* k = std::get_if<Attention>(&kernel))
      return attention_time(device_, *k, span_of(run, pass_of(op).index, lengths_), cost.launches, cost.cache_traffic,
                            cost.bytes_per_pair.value, since_);
    if (const auto* k = std::get_if<Gemm>(&kernel); k && device_.cpu)
      return product_time(device_, price_.padded(*k), cost.weight_traffic,
                          between(device_, price_.met_since(op), weights_, step_)) +
             price_.extra_launches(cost);
    return price_(op, kernel, cost);
  }

 private:
  const Device& device_;
  std::span<const int> lengths_;
  KernelPricer price_;
  Seconds step_;
  Bytes weights_;
  Between since_;
};

StepParts walked(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d, const Engine& e,
                 bool speculating, Seconds step) {
  Seconds host = host_base(e, speculating), device;
  std::array<Seconds, 4> sums{};
  CostTable costs(e);
  OpTimes price(segments, lengths, d, e, step);
  Issue issue(e);
  for (const SegmentRun& run : segments) {
    issue.start_segment(run.tape->ops.size());
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i) {
      const Op& op = run.tape->ops[i];
      const Kernel kernel = kernel_of(op, *run.tape);
      const OpCost& cost = costs(op, *run.tape, run.tape->phases[i]);
      const Seconds issued = host + issue.before(op, run.tape->phases[i], cost);
      const Seconds t = price(run, op, kernel, cost);
      sums[static_cast<std::size_t>(part_of(run.tape->phases[i], kernel))] += t;
      device = std::max(device, issued) + t + issue.beside(cost);
      for (int w = 0; w < cost.waits; ++w) {
        host = std::max(host + issue.issued(), device) + e.sync;
        issue.meet();
      }
    }
    host = std::max(host + issue.issued(), run.waits ? device : Seconds{}) + (run.waits ? e.sync : Seconds{});
    issue.meet();
  }
  const Seconds total = std::max(host, device);
  return {sums[0], sums[1], sums[2], sums[3], total - sums[0] - sums[1] - sums[2] - sums[3]};
}

}  // namespace

StepParts step_time(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                    const Engine& e, bool speculating) {
  StepParts parts;
  settled(d, [&](Seconds step) {
    parts = walked(segments, lengths, d, e, speculating, step);
    return parts.total();
  });
  return parts;
}

std::vector<OpPrice> op_prices(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                               const Engine& e, bool speculating) {
  std::vector<OpPrice> all;
  CostTable costs(e);
  OpTimes price(segments, lengths, d, e, step_time(segments, lengths, d, e, speculating).total());
  for (const SegmentRun& run : segments)
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i) {
      const Op& op = run.tape->ops[i];
      const OpCost& cost = costs(op, *run.tape, run.tape->phases[i]);
      all.push_back({op_key(op, *run.tape), run.tape->phases[i], price(run, op, kernel_of(op, *run.tape), cost)});
    }
  return all;
}

// ---- the fold

StepPrice::StepPrice(std::span<const SegmentRun> segments, int sequences, const Device& d, const Engine& e,
                     bool speculating)
    : device_(d), base_(host_base(e, speculating)), sync_(e.sync), host_alone_(base_), host_least_(base_) {
  const std::vector<int> empty(static_cast<std::size_t>(sequences)), one(static_cast<std::size_t>(sequences), 1);
  CostTable costs(e);
  KernelPricer price(d, e, segments);
  step_weights_ = price.step_weights();
  Issue issue(e);
  for (const SegmentRun& run : segments) {
    issue.start_segment(run.tape->ops.size());
    std::vector<Line> at;
    at.reserve(run.tape->ops.size());
    std::vector<std::pair<Span, Span>> spans;  // of each pass, at lengths 0 and 1
    for (int i = 0; i < static_cast<int>(run.tape->passes.size()); ++i)
      spans.emplace_back(span_of(run, i, empty), span_of(run, i, one));
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i) {
      const Op& op = run.tape->ops[i];
      const Kernel kernel = kernel_of(op, *run.tape);
      const OpCost& cost = costs(op, *run.tape, run.tape->phases[i]);
      Line line{issue.before(op, run.tape->phases[i], cost), {}, {}, {}};
      Line& sum = sums_[static_cast<std::size_t>(part_of(run.tape->phases[i], kernel))];
      const auto of_shape = [&](const Shape& shape) {
        const std::size_t g = shape_index(shape);
        line.counts.assign(g + 1, 0);
        line.counts[g] = 1;
        sum.counts.resize(std::max(sum.counts.size(), g + 1));
        ++sum.counts[g];
      };
      const auto* attention = std::get_if<Attention>(&kernel);
      const auto* product = std::get_if<Gemm>(&kernel);
      if (attention) {
        const auto& [s0, s1] = spans[static_cast<std::size_t>(pass_of(op).index)];
        of_shape({*attention,
                  {},
                  cost.launches,
                  cost.cache_traffic,
                  cost.bytes_per_pair.value,
                  s0.pairs,
                  s1.pairs - s0.pairs,
                  s0.keys,
                  s1.keys - s0.keys});
      } else {
        constant_work_ += draftline::work(kernel, {});
        if (product && d.cpu)
          of_shape({price.padded(*product), price.met_since(op), cost.launches, cost.weight_traffic});
        else line.constant = price(op, kernel, cost);
      }
      sum.constant += line.constant;
      line.of_kind[static_cast<std::size_t>(kind_of(kernel))] = line.constant;
      line.constant += issue.beside(cost);
      kernels_ += cost.launches;
      at.push_back(std::move(line));
      for (int w = 0; w < cost.waits; ++w) {
        close(at, issue.issued());
        issue.meet();
      }
    }
    check(run.waits, "every segment of a step ends in a read");
    close(at, issue.issued());
    issue.meet();
  }
}

std::size_t StepPrice::shape_index(const Shape& s) {
  auto it = std::find(shapes_.begin(), shapes_.end(), s);
  if (it == shapes_.end()) it = shapes_.insert(it, s);
  check(shapes_.size() <= kMostShapes, "too many kinds of kernels in one step");
  return static_cast<std::size_t>(it - shapes_.begin());
}

// Ends a segment: suffix sums over its ops, then only the lines that can win. Ops with equal counts of attention behind
// them differ by a constant: the largest stays.
void StepPrice::close(std::vector<Line>& ops, Seconds issued) {
  host_alone_ += issued + sync_;
  host_least_ += (ops.empty() ? issued : ops.front().issue) + sync_;
  Segment lines{{issued, {}, std::vector<int>(shapes_.size()), {}}};  // the host alone
  Line suffix{{}, {}, std::vector<int>(shapes_.size()), {}};
  for (std::size_t i = ops.size(); i-- > 0;) {
    suffix.issue = ops[i].issue;
    suffix.constant += ops[i].constant;
    for (std::size_t g = 0; g < ops[i].counts.size(); ++g) suffix.counts[g] += ops[i].counts[g];
    for (std::size_t k = 0; k < kKernelKinds; ++k) suffix.of_kind[k] += ops[i].of_kind[k];
    if (lines.back().counts == suffix.counts) {
      if (lines.back().issue + lines.back().constant < suffix.issue + suffix.constant) lines.back() = suffix;
    } else {
      lines.push_back(suffix);
    }
  }
  segments_.push_back(prune(std::move(lines)));
  ops.clear();
}

// Drops lines that another one is never below.
StepPrice::Segment StepPrice::prune(Segment all) {
  Segment kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < all.size() && !beaten; ++j) {
      if (i == j) continue;
      const Seconds vi = all[i].issue + all[i].constant, vj = all[j].issue + all[j].constant;
      beaten = vj > vi || (vj == vi && j < i);
      for (std::size_t g = 0; beaten && g < all[i].counts.size(); ++g) beaten = all[j].counts[g] >= all[i].counts[g];
    }
    if (!beaten) kept.push_back(all[i]);
  }
  return kept;
}

StepPrice::ShapeTimes StepPrice::shape_times(double length) const {
  ShapeTimes times;
  settled(device_, [&](Seconds step) {
    times = shape_times(length, step);
    return device_.cpu ? evaluate(times) : Seconds{};
  });
  return times;
}

StepPrice::ShapeTimes StepPrice::shape_times(double length, Seconds step) const {
  Between since;
  if (device_.cpu) {
    since = {step_weights_, device_.cpu->inflow * step};
    for (const Line& sum : sums_)
      for (std::size_t g = 0; g < sum.counts.size(); ++g)
        if (const auto* k = std::get_if<Attention>(&shapes_[g].kernel))
          since.ours += sum.counts[g] * cpu_cache_bytes(*k, shapes_[g].at(length));
  }
  ShapeTimes times;
  for (std::size_t g = 0; g < shapes_.size(); ++g) {
    const Shape& s = shapes_[g];
    if (const auto* k = std::get_if<Attention>(&s.kernel))
      times[g] = attention_time(device_, *k, s.at(length), s.launches, s.traffic, s.bytes_per_pair, since);
    else
      times[g] =
          product_time(device_, std::get<Gemm>(s.kernel), s.traffic, between(device_, s.met, step_weights_, step)) +
          (s.launches - 1) * device_.fits.copy.fixed;
  }
  return times;
}

Seconds StepPrice::evaluate(const ShapeTimes& times) const {
  Seconds total = base_;
  for (const Segment& segment : segments_) {
    Seconds longest;
    for (const Line& line : segment) longest = std::max(longest, line.at(times));
    total += longest + sync_;
  }
  return total;
}

Seconds StepPrice::operator()(double length) const { return evaluate(shape_times(length)); }

StepDetail StepPrice::detail(double length) const {
  const ShapeTimes times = shape_times(length);
  StepDetail d;
  d.total = base_;
  for (const Segment& segment : segments_) {
    const Line* longest = nullptr;
    Seconds most;
    for (const Line& line : segment)
      if (const Seconds t = line.at(times); longest == nullptr || most < t) longest = &line, most = t;
    d.total += most + sync_;
    for (std::size_t k = 0; k < kKernelKinds; ++k) d.waited[k] += longest->of_kind[k];
    for (std::size_t g = 0; g < longest->counts.size(); ++g)
      d.waited[static_cast<std::size_t>(shapes_[g].kind())] += longest->counts[g] * times[g];
  }
  std::array<Seconds, 4> sums{};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = sums_[i].constant;
    for (std::size_t g = 0; g < sums_[i].counts.size(); ++g) sums[i] += sums_[i].counts[g] * times[g];
  }
  d.parts = {sums[0], sums[1], sums[2], sums[3], d.total - sums[0] - sums[1] - sums[2] - sums[3]};
  return d;
}

StepParts StepPrice::without_attention() const {
  std::array<Seconds, 4> rest;
  const ShapeTimes times = device_.cpu ? shape_times(0) : ShapeTimes{};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] = sums_[i].constant;
    for (std::size_t g = 0; g < sums_[i].counts.size(); ++g)
      if (shapes_[g].kind() == KernelKind::gemm) rest[i] += sums_[i].counts[g] * times[g];
  }
  return {rest[0], rest[1], rest[2], rest[3], {}};
}

Work StepPrice::work(double length) const {
  Work total = constant_work_;
  for (const Line& sum : sums_)
    for (std::size_t g = 0; g < sum.counts.size(); ++g)
      if (const auto* k = std::get_if<Attention>(&shapes_[g].kernel); k && sum.counts[g] > 0) {
        const Work one = draftline::work(*k, shapes_[g].at(length));
        total += Work{sum.counts[g] * one.flops, sum.counts[g] * one.read, sum.counts[g] * one.written};
      }
  return total;
}

}  // namespace draftline
