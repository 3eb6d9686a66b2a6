// SPDX-License-Identifier: Apache-2.0
// The fold: a step's price as a function of the context.
#include "decoder/priced/step_price.h"

#include <algorithm>

#include "decoder/priced/kernel_pricer.h"

namespace draftline {

StepPrice::StepPrice(const StepOutline& outline, const Device& d, const Engine& e, bool speculating)
    : device_(d), base_(host_base(e, speculating)), sync_(e.sync), host_alone_(base_), host_least_(base_) {
  KernelPricer price(d, e, outline);
  step_weights_ = price.step_weights();
  Issue issue(e);
  std::vector<Issued> at;
  for (const StepOutline::Segment& run : outline.segments) {
    issue.start_segment(run.ops.size());
    at.reserve(run.ops.size());
    StepOutline::Op attended{-1, -1, 0};  // the last attention on a GPU, and its shape: most often the next one's too
    std::size_t its_shape = 0;
    for (const StepOutline::Op& op : run.ops) {
      const Kernel& kernel = outline.kinds[static_cast<std::size_t>(op.kind)].kernel;
      const Phase phase = outline.kinds[static_cast<std::size_t>(op.kind)].phase;
      const OpCost& cost = price.cost(op);
      Issued line{issue.before(op.pass, phase, cost), {}, {}, kind_of(kernel)};
      PhaseKernels& same_phase = phases_[static_cast<std::size_t>(phase)];
      const auto of_shape = [&](std::size_t g) {
        line.shape = static_cast<int>(g);
        same_phase.counts.resize(std::max(same_phase.counts.size(), g + 1));
        ++same_phase.counts[g];
      };
      const auto* attention = std::get_if<Attention>(&kernel);
      const auto* product = std::get_if<Gemm>(&kernel);
      const auto* copy = std::get_if<Copy>(&kernel);
      if (attention) {
        if (d.cpu || op.kind != attended.kind || op.pass != attended.pass) {
          const auto& [s0, s1] = run.spans[static_cast<std::size_t>(op.pass)];
          its_shape =
              shape_index({*attention, d.cpu ? price.last_access(op) : LastAccess{}, cost.launches, cost.cache_traffic,
                           cost.bytes_per_pair.value, s0.pairs, s1.pairs - s0.pairs, s0.keys, s1.keys - s0.keys});
          attended = op;
        }
        of_shape(its_shape);
      } else {
        constant_work_ += outline.work[static_cast<std::size_t>(op.kind)];
        if (product && d.cpu)
          of_shape(shape_index({price.padded(*product), price.last_access(op), cost.launches, cost.weight_traffic}));
        else if (copy && d.cpu && copy->old_lines.value > 0)
          of_shape(shape_index({with_traffic(*copy, cost), price.last_access(op), cost.launches, 1}));
        else line.own = price(op);
      }
      same_phase.constant[static_cast<std::size_t>(line.kind)] += line.own;
      line.constant = line.own + issue.beside(cost);
      kernels_ += cost.launches;
      at.push_back(line);
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
  return static_cast<std::size_t>(it - shapes_.begin());
}

// Ends a segment: suffix sums over its ops, then only the lines that can win. Ops with equal counts of shapes behind them
// differ by a constant: the largest stays.
void StepPrice::close(std::vector<Issued>& ops, Seconds issued) {
  host_alone_ += issued + sync_;
  host_least_ += (ops.empty() ? issued : ops.front().issue) + sync_;
  Segment lines{{issued, {}, std::vector<int>(shapes_.size()), {}}};  // the host alone
  Seconds constant;
  KindTimes of_kind{};
  for (std::size_t i = ops.size(); i-- > 0;) {
    const Issued& op = ops[i];
    constant += op.constant;
    of_kind[static_cast<std::size_t>(op.kind)] += op.own;
    if (op.shape >= 0) {
      lines.push_back({op.issue, constant, lines.back().counts, of_kind});
      ++lines.back().counts[static_cast<std::size_t>(op.shape)];
    } else if (Line& last = lines.back(); last.issue + last.constant < op.issue + constant) {
      last.issue = op.issue;
      last.constant = constant;
      last.of_kind = of_kind;
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

StepPrice::ShapeTimes StepPrice::shape_times(double length, const PromptsBetween& between) const {
  ShapeTimes times;
  fixed_point(device_, [&](Seconds step) {
    times = shape_times(length, step, between);
    return device_.cpu ? evaluate(times) : Seconds{};
  });
  return times;
}

StepPrice::ShapeTimes StepPrice::shape_times(double length, Seconds time, const PromptsBetween& between) const {
  StepOnCpu step{time, step_weights_, {}, between};
  if (device_.cpu)
    for (const PhaseKernels& phase : phases_)
      for (std::size_t g = 0; g < phase.counts.size(); ++g)
        if (const auto* k = std::get_if<Attention>(&shapes_[g].kernel))
          step.caches += phase.counts[g] * cpu_cache_bytes(*k, shapes_[g].at(length));
  const auto entries = [&](const Shape& s) {
    return device_.cpu ? distance_of_entries(device_, s.last_access, step) : ReuseDistance{};
  };
  ShapeTimes times(shapes_.size());
  for (std::size_t g = 0; g < shapes_.size(); ++g) {
    const Shape& s = shapes_[g];
    if (const auto* k = std::get_if<Attention>(&s.kernel))
      times[g] = attention_time(device_, *k, s.at(length), s.launches, s.traffic, s.bytes_per_pair, entries(s));
    else if (const auto* c = std::get_if<Copy>(&s.kernel))
      times[g] = kernel_time(device_, *c, entries(s)) + (s.launches - 1) * device_.fits.copy.fixed;
    else
      times[g] = gemm_time_on_cpu(device_, std::get<Gemm>(s.kernel), s.traffic,
                                  distance_of_weights(device_, s.last_access, step)) +
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

Seconds StepPrice::operator()(double length, const PromptsBetween& between) const {
  return evaluate(shape_times(length, between));
}

StepBreakdown StepPrice::breakdown(double length) const {
  const ShapeTimes times = shape_times(length);
  StepBreakdown b;
  b.time = base_;
  for (const Segment& segment : segments_) {
    const Line* longest = nullptr;
    Seconds most;
    for (const Line& line : segment)
      if (const Seconds t = line.at(times); longest == nullptr || most < t) longest = &line, most = t;
    b.time += most + sync_;
    for (std::size_t k = 0; k < kKernelKinds; ++k) b.waited[k] += longest->of_kind[k];
    for (std::size_t g = 0; g < longest->counts.size(); ++g)
      b.waited[static_cast<std::size_t>(shapes_[g].kind())] += longest->counts[g] * times[g];
  }
  for (std::size_t p = 0; p < kPhases; ++p) {
    b.kernels[p] = phases_[p].constant;
    for (std::size_t g = 0; g < phases_[p].counts.size(); ++g)
      b.kernels[p][static_cast<std::size_t>(shapes_[g].kind())] += phases_[p].counts[g] * times[g];
  }
  return b;
}

Work StepPrice::work(double length) const {
  Work total = constant_work_;
  for (const PhaseKernels& phase : phases_)
    for (std::size_t g = 0; g < phase.counts.size(); ++g)
      if (const auto* k = std::get_if<Attention>(&shapes_[g].kernel); k && phase.counts[g] > 0) {
        const Work one = draftline::work(*k, shapes_[g].at(length));
        total += Work{phase.counts[g] * one.flops, phase.counts[g] * one.read, phase.counts[g] * one.written};
      }
  return total;
}

}  // namespace draftline
