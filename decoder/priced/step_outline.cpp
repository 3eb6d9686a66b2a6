// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/step_outline.h"

#include <algorithm>
#include <utility>

namespace draftline {

namespace {

template <class O>
constexpr Accesses accesses_of() {
  if constexpr (requires { O::accesses; }) return O::accesses;
  else return Accesses::nothing;
}

Accesses accesses(const Op& op) {
  return std::visit([](const auto& o) { return accesses_of<std::decay_t<decltype(o)>>(); }, op);
}

StepOutline::Kind kind_of(const Op& op, const Tape& tape, Phase phase) {
  StepOutline::Kind k{kernel_of(op, tape), op_key(op, tape), phase, accesses(op), 1, 1, window_of(op)};
  const auto* attention = std::get_if<Attention>(&k.kernel);
  if (attention != nullptr && !attention->scores() && k.access == Accesses::entries) {
    k.kv_heads = attention->kv_heads;
    k.heads = attention->heads;
  }
  return k;
}

// Counts weights and layers in the order in which a step first accesses them.
class AccessCounter {
 public:
  int operator()(const Op& op) {
    return std::visit(
        [this](const auto& o) {
          if constexpr (requires { o.w; } && accesses_of<std::decay_t<decltype(o)>>() == Accesses::weight)
            return number(weights_, o.w.id, weights);
          else if constexpr (requires { o.held_layer(); }) return layer(o.cache.id, o.held_layer());
          else if constexpr (requires { o.cache, o.layer; }) return layer(o.cache.id, o.layer);
          else return 0;
        },
        op);
  }
  int weights = 0, layers = 0;

 private:
  static int number(std::vector<int>& known, int id, int& count) {
    if (draftline::count(known) <= id) known.resize(at(2 * id + 1), -1);
    int& mine = known[at(id)];
    return mine < 0 ? mine = count++ : mine;
  }
  int layer(int cache, int index) {
    if (count(layers_) <= cache) layers_.resize(at(cache + 1));
    return number(layers_[at(cache)], index, layers);
  }
  std::vector<int> weights_;              // by their ids, which a store counts from 0
  std::vector<std::vector<int>> layers_;  // by cache and layer
};

// Finds an op's kind: most often the one that followed the last op's kind before.
class Kinds {
 public:
  explicit Kinds(StepOutline& o) : o_(o) {}
  int operator()(const StepOutline::Kind& k) {
    int& guess = last_ < 0 ? first_ : next_[at(last_)];
    if (guess < 0 || o_.kinds[at(guess)] != k) guess = find(k);
    last_ = guess;
    if (next_.size() < o_.kinds.size()) next_.resize(o_.kinds.size(), -1);
    return last_;
  }

 private:
  int find(const StepOutline::Kind& k) {
    const auto it = std::find(o_.kinds.begin(), o_.kinds.end(), k);
    const int at = steps(o_.kinds.begin(), it);
    if (it == o_.kinds.end()) {
      o_.kinds.push_back(k);
      o_.work.push_back(std::holds_alternative<Attention>(k.kernel) ? Work{} : work(k.kernel, {}));
    }
    return at;
  }
  StepOutline& o_;
  std::vector<int> next_;
  int last_ = -1, first_ = -1;
};

}  // namespace

StepOutline::StepOutline(std::span<const SegmentRun> runs) {
  Kinds kind(*this);
  AccessCounter accessed;
  for (const SegmentRun& run : runs) {
    const Tape& tape = *run.tape;
    Segment& s = segments.emplace_back();
    s.waits = run.waits;
    std::vector<Op> ops;
    ops.reserve(tape.ops.size());
    for (std::size_t i = 0; i < tape.ops.size(); ++i)
      ops.push_back(
          {kind(kind_of(tape.ops[i], tape, tape.phases[i])), pass_of(tape.ops[i]).index, accessed(tape.ops[i])});
    s.shared_ops = std::make_shared<const std::vector<Op>>(std::move(ops));
    s.spans.reserve(tape.passes.size());
    for (int i = 0; i < count(tape.passes); ++i) s.spans.emplace_back(run, i);
    texts += tape.texts;
    trees += tape.trees;
    verified_rows = std::max(verified_rows, draftline::verified_rows(run));
    for (const Pass& pass : tape.passes) widest_pass = std::max(widest_pass, pass.rows.widest);
  }
  weights = accessed.weights;
  layers = accessed.layers;
}

void StepOutline::share_ops(const StepOutline& other) {
  for (std::size_t i = 0; i < std::min(segments.size(), other.segments.size()); ++i)
    if (segments[i].ops() == other.segments[i].ops()) segments[i].shared_ops = other.segments[i].shared_ops;
}

std::size_t StepOutline::bytes() const {
  std::size_t bytes = kinds.size() * (sizeof(Kind) + sizeof(Work));
  for (const Segment& s : segments) {
    bytes += sizeof(Segment) + s.spans.size() * sizeof(PassSpan);
    if (s.shared_ops.use_count() == 1) bytes += s.ops().size() * sizeof(Op);
  }
  return bytes;
}

StepOutline StepOutline::part(Part of) const {
  StepOutline own = *this;
  for (Segment& s : own.segments) {
    auto kept = std::make_shared<std::vector<Op>>(s.ops());
    std::erase_if(*kept, [&](const Op& op) { return (kind(op).phase == Phase::draft) != (of == Part::drafter); });
    s.shared_ops = std::move(kept);
  }
  std::erase_if(own.segments, [](const Segment& s) { return s.ops().empty(); });
  if (of == Part::drafter) own.texts = own.trees = 0;
  return own;
}

}  // namespace draftline
