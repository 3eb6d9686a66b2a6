// SPDX-License-Identifier: Apache-2.0
// The fold: a step's price as a function of the context.
#include "decoder/priced/step_price.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/priced/cpu_pricer.h"
#include "decoder/priced/engine_time.h"
#include "decoder/priced/pricer.h"

namespace draftline {

StepPrice::StepPrice(const StepOutline& outline, const Device& d, const Engine& e, Speculation speculation)
    : device_(d), base_(host_base(e, speculation, outline)), sync_(e.sync), host_alone_(base_), host_least_(base_) {
  const std::unique_ptr<Pricer> price = pricer(d, e, outline);
  step_weights_ = price->step_weights();
  Issue issue(e);
  const LayerTime of_layer(e, outline);
  std::vector<Issued> ops;
  ByAccess known;
  for (const StepOutline::Segment& run : outline.segments) {
    issue.start_segment(run.ops().size());
    ops.reserve(run.ops().size());
    // An attention is most often equal to the one before it, of the layer before. Only where caches keep data between
    // steps do their times differ.
    std::optional<StepOutline::Op> attended;
    std::size_t its_shape = 0;
    for (const StepOutline::Op& op : run.ops()) {
      const auto& [kernel, key, phase, access, heads, kv_heads, window] = outline.kind(op);
      const OpCost& cost = price->cost(op);
      const Seconds before = issue.issued();
      Issued line{.before = before,
                  .issue = issue.before(op.pass, phase, cost),
                  .kind = kind_of(kernel),
                  .drafts = phase == Phase::draft && e.overlap};
      PhaseKernels& same_phase = phases_[phase];
      if (attended && attended->kind == op.kind && attended->pass == op.pass) {
        line.shape = its_shape;
      } else if (price->varies(op)) {
        Shape shape{.op = price->varying(op), .kind = line.kind};
        if (line.kind == KernelKind::attention) {
          const PassSpan& span = run.spans[at(op.pass)];
          shape.window = window;
          if (!shape.window.reads_all()) {
            shape.span = span;
          } else {
            const Span one = span.at(1);
            shape.empty = span.at(0);
            shape.per_length = {one.pairs - shape.empty.pairs, one.keys - shape.empty.keys};
          }
        }
        line.shape = its_shape = shape_index(shape, known);
        if (!d.caches_outlast_steps()) attended = op;
      } else {
        line.own = price->time(op);
      }
      line.own += of_layer(kernel, phase);
      if (line.shape) {
        same_phase.counts.resize(std::max(same_phase.counts.size(), *line.shape + 1));
        ++same_phase.counts[*line.shape];
      }
      if (line.kind != KernelKind::attention) constant_work_ += outline.work_of(op);
      same_phase.constant[line.kind] += line.own;
      line.constant = line.own + issue.exposed(cost);
      kernels_ += cost.launches;
      ops.push_back(line);
      for (int w = 0; w < cost.waits; ++w) {
        close(ops, issue.issued());
        issue.meet();
      }
    }
    check(run.waits, "every segment of a step ends in a read");
    close(ops, issue.issued());
    issue.meet();
  }
  if (e.step_mode().overlapped) between_ = host_between(e, speculation, outline) + issue.all();
}

// On a CPU a network of many layers may have as many shapes as ops.
std::size_t StepPrice::shape_index(const Shape& s, ByAccess& known) {
  const auto* on_cpu = std::get_if<VaryingOnCpu>(&s.op);
  const double access = on_cpu != nullptr ? on_cpu->last_access.weights.value : 0;
  const auto [first, last] = known.equal_range(access);
  const auto same = std::find_if(first, last, [&](const auto& entry) { return shapes_[entry.second] == s; });
  if (same != last) return same->second;
  known.emplace(access, shapes_.size());
  shapes_.push_back(s);
  return shapes_.size() - 1;
}

// Ends a segment.
void StepPrice::close(std::vector<Issued>& ops, Seconds issued) {
  host_alone_ += issued + sync_;
  host_least_ += (ops.empty() ? issued : ops.front().issue) + sync_;
  segments_.push_back(fold(ops, issued));
  find_draft_runs(ops);
  ops.clear();
}

void StepPrice::find_draft_runs(std::span<const Issued> ops) {
  const auto drafts = [](const Issued& op) { return op.drafts; };
  for (auto first = std::find_if(ops.begin(), ops.end(), drafts); first != ops.end();) {
    const auto last = std::find_if_not(first, ops.end(), drafts);
    DraftRun run{fold({ops.begin(), first}, first->before), fold({ops.begin(), last}, {}), {}};
    run.kernels.counts.resize(shapes_.size());
    for (auto op = first; op != last; ++op) {
      run.kernels.constant += op->own;
      if (op->shape) ++run.kernels.counts[*op->shape];
    }
    draft_runs_.push_back(std::move(run));
    first = std::find_if(last, ops.end(), drafts);
  }
}

// Suffix sums over ops. A line that begins earlier in the segment counts all that a later one counts, and so beats it
// wherever its constant is larger: from the first op to the last only lines stay whose constant is none below any
// before. Counts, of which a step on a CPU may need as many as it has ops, are made for these alone.
StepPrice::Segment StepPrice::fold(std::span<const Issued> ops, Seconds issued) const {
  struct Candidate {
    std::size_t first;  // op from which on it sums; ops.size(): the host alone
    Seconds issue, constant;
    KindTimes of_kind;
    Seconds fixed() const { return issue + constant; }
  };
  std::vector<Candidate> all{{ops.size(), issued, {}, {}}};  // from the last op to the first
  Seconds constant;
  KindTimes of_kind{};
  for (std::size_t i = ops.size(); i-- > 0;) {
    const Issued& op = ops[i];
    constant += op.constant;
    of_kind[op.kind] += op.own;
    if (op.shape) all.push_back({i, op.issue, constant, of_kind});
    else if (all.back().fixed() < op.issue + constant)  // with the same counts: the largest stays
      all.back() = {all.back().first, op.issue, constant, of_kind};
  }
  std::vector<Candidate> kept;  // from the first op to the last
  for (auto line = all.rbegin(); line != all.rend(); ++line)
    if (kept.empty() || !(line->fixed() < kept.back().fixed())) kept.push_back(*line);
  Segment lines;
  std::vector<int> counts(shapes_.size());
  std::size_t from = ops.size();
  for (auto line = kept.rbegin(); line != kept.rend(); ++line) {
    while (from > line->first)
      if (const auto& shape = ops[--from].shape) ++counts[*shape];
    lines.push_back({line->issue, line->constant, counts, line->of_kind});
  }
  return lines;
}

Seconds StepPrice::longest(const Segment& lines, const ShapeTimes& times) {
  Seconds longest;
  for (const Line& line : lines) longest = std::max(longest, line.at(times));
  return longest;
}

StepPrice::ShapeTimes StepPrice::shape_times(double length, const PromptsBetween& prompts) const {
  ShapeTimes times(shapes_.size());
  StepOnCpu step{.weights = step_weights_, .prompts = prompts};
  const auto price = [&] {
    for (std::size_t g = 0; g < shapes_.size(); ++g)
      times[g] = time_of(device_, shapes_[g].op, shapes_[g].at(length), step);
  };
  if (!device_.caches_outlast_steps()) {
    price();
    return times;
  }
  step.caches = cache_bytes(length);
  fixed_point([&](Seconds time) {
    step.time = time;
    price();
    return evaluate(times);
  });
  return times;
}

Bytes StepPrice::cache_bytes(double length) const {
  Bytes accessed;
  for (const PhaseKernels& phase : phases_)
    for (std::size_t g = 0; g < phase.counts.size(); ++g) accessed += phase.counts[g] * shapes_[g].cache_bytes(length);
  return accessed;
}

Seconds StepPrice::evaluate(const ShapeTimes& times) const {
  Seconds total = base_;
  for (const Segment& segment : segments_) total += longest(segment, times) + sync_;
  return std::max(total, between_);
}

Seconds StepPrice::operator()(double length, const PromptsBetween& between) const {
  return evaluate(shape_times(length, between));
}

StepBreakdown StepPrice::breakdown(double length) const {
  const ShapeTimes times = shape_times(length);
  StepBreakdown b;
  b.time = base_;
  for (const Segment& segment : segments_) {
    const Line* winner = nullptr;
    Seconds most;
    for (const Line& line : segment)
      if (const Seconds t = line.at(times); winner == nullptr || most < t) winner = &line, most = t;
    b.time += most + sync_;
    for (std::size_t k = 0; k < kKernelKinds; ++k) b.waited[k] += winner->of_kind[k];
    for (std::size_t g = 0; g < winner->counts.size(); ++g) b.waited[shapes_[g].kind] += winner->counts[g] * times[g];
  }
  if (b.time < between_) b.time = between_, b.waited = {};
  for (const DraftRun& run : draft_runs_)
    b.drafting += longest(run.end, times) - longest(run.begin, times) - run.kernels.at(times);
  for (std::size_t p = 0; p < kPhases; ++p) {
    b.kernels[p] = phases_[p].constant;
    for (std::size_t g = 0; g < phases_[p].counts.size(); ++g)
      b.kernels[p][shapes_[g].kind] += phases_[p].counts[g] * times[g];
  }
  return b;
}

std::vector<Window> StepPrice::windows() const {
  std::vector<Window> all;
  for (const Shape& s : shapes_)
    if (s.window.tokens > 0 && std::find(all.begin(), all.end(), s.window) == all.end()) all.push_back(s.window);
  return all;
}

Work StepPrice::work(double length) const {
  Work total = constant_work_;
  for (const PhaseKernels& phase : phases_)
    for (std::size_t g = 0; g < phase.counts.size(); ++g)
      if (const auto* k = shapes_[g].attention(); k != nullptr && phase.counts[g] > 0) {
        const Work one = draftline::work(*k, shapes_[g].at(length));
        total += Work{phase.counts[g] * one.flops, phase.counts[g] * one.read, phase.counts[g] * one.written};
      }
  return total;
}

}  // namespace draftline
