// SPDX-License-Identifier: Apache-2.0
#include "sim/step_table.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/int_indexed.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

namespace {

// Adds the wall time between its construction and destruction to a sum.
class ScopedTimer {
 public:
  explicit ScopedTimer(Seconds& sum) : sum_(sum) {}
  ~ScopedTimer() { sum_ += Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()}; }

 private:
  Seconds& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

StepTable::StepTable(Pricer& pricer, const Setup& setup, std::vector<const MethodChoice*> by_drafts,
                     const MethodChoice& prompts, int stages)
    : pricer_(pricer),
      setup_(setup),
      by_drafts_(std::move(by_drafts)),
      chunks_(
          [this, prompts = pricer.of(setup, prompts)](int tokens, std::optional<int> rows) {
            const ScopedTimer running(pricing_time_);
            return prompts->prompt_price(tokens, rows);
          },
          setup.engine->prompt_graphs),
      token_(to_ticks(setup.engine->token)),
      stages_(stages),
      batches_(by_drafts_.size()) {}

void StepTable::allow(int sequences) const {
  step_ticks(sequences * to_double(by_drafts_.size()) * setup_.engine->token);  // of a step's tokens
}

StepTable::Batch& StepTable::batch(int sequences, int drafts) {
  auto& of_drafts = batches_[at(drafts)];
  if (of_drafts.size() <= at(sequences)) of_drafts.resize(at(sequences) + 1);
  Batch& b = of_drafts[at(sequences)];
  if (!b.priced) {
    const ScopedTimer running(pricing_time_);
    const MethodChoice* choice = by_drafts_[at(drafts)];
    check(choice != nullptr, "no method drafts so many");
    const auto method = pricer_.of(setup_, *choice);
    b.priced = method->step(sequences, choice->acceptance.draft_counts({choice->spec, method->method()}));
  }
  return b;
}

StepCost::Line StepTable::line(const Batch& b, int sequences, std::size_t cell) const {
  const std::int64_t from = context_node(cell), to = context_node(cell + 1);
  const StepTiming first = b.price().timing(to_double(from));
  const Seconds handing_on = pipeline_transfer(mean_rows(b.price().rows()));
  const Ticks start = step_ticks(first.step.time + handing_on), end = step_ticks(b.price()(to_double(to)) + handing_on);
  const std::int64_t tokens = sequences * (to - from);
  return {.from = sequences * from,
          .to = sequences * to,
          .start = start,
          .per_token = (end - start + tokens / 2) / tokens,
          .host = step_ticks(first.step.host()),
          .slack = step_ticks(b.price().idle(first.step)),
          .host_slack = step_ticks(first.host_idle),
          .drafting = step_ticks(first.step.of(Phase::draft))};
}

StepCost::Line StepTable::decode(const DecodeBatch& decoding) {
  const int sequences = decoding.sequences;
  if (sequences == 0) {
    const HostTime host = chunks_.host(0);
    const Ticks alone = step_ticks(host.alone);
    return {.to = kForever, .start = alone, .host = alone, .slack = alone - step_ticks(host.least)};
  }
  Batch& b = batch(sequences, decoding.drafts);
  const std::size_t cell = context_cell(decoding.context / sequences);
  if (b.cells.size() <= cell) b.cells.resize(cell + 1);
  if (!b.cells[cell]) b.cells[cell] = line(b, sequences, cell);
  return *b.cells[cell];
}

Ticks StepTable::after_prompts(const DecodeBatch& decoding, Ticks prompts, int fresh) {
  if (!setup_.device->caches_outlast_steps()) return 0;
  const ExpectedStep& price = batch(decoding.sequences, decoding.drafts).price();
  const double length = to_double(decoding.context) / decoding.sequences;
  const PromptsBetween between{Seconds{to_double(prompts) / kTicksPerSecond}, 1 - 1.0 * fresh / decoding.sequences};
  return step_ticks(std::max(Seconds{}, price(length, between) - price(length)));
}

// The time of passing the hidden states of so many rows through all stages.
Seconds StepTable::pipeline_transfer(double rows) const {
  if (stages_ == 1) return {};
  const Bytes states = bytes_of(setup_.precision.activations, rows * setup_.transformer->hidden);
  EngineLinks in_turn = setup_.engine->links;  // a stage waits for nobody but the one before it
  in_turn.rank_skew = {};
  const CollectiveCall hop{Collective::all_reduce, states, 2};
  return (stages_ - 1) * collective_time(setup_.device->links, in_turn, hop, setup_.device->name);
}

const VerifiedRows& StepTable::rows(int sequences, int drafts) {
  static const VerifiedRows none;
  return sequences == 0 ? none : batch(sequences, drafts).price().rows();
}

// Between the nodes of the context on a line, as a decode step is.
Seconds StepTable::extra_attention(const DecodeBatch& decoding) {
  if (decoding.sequences == 0) return {};
  Batch& b = batch(decoding.sequences, decoding.drafts);
  if (!b.mixed) {
    const ScopedTimer running(pricing_time_);
    const auto priced = pricer_.of(setup_, *by_drafts_[at(decoding.drafts)]);
    b.mixed.emplace(priced->mixed_attention(decoding.sequences, attention_of(setup_)));
  }
  const std::optional<MixedAttention>& mixed = *b.mixed;
  if (!mixed) return {};
  const auto at_node = [&](std::size_t node) {
    if (b.extra_attention.size() <= node) b.extra_attention.resize(node + 1);
    std::optional<Seconds>& known = b.extra_attention[node];
    if (!known) {
      const auto attention = [&](const StepPrice& price) {
        return price.breakdown(to_double(context_node(node))).of(Phase::verify, KernelKind::attention);
      };
      known = attention(mixed->mixed) - attention(mixed->separate) - mixed->launches;
    }
    return *known;
  };
  const std::int64_t length = decoding.context / decoding.sequences;
  const std::size_t cell = context_cell(length);
  const Seconds low = at_node(cell);
  const auto from = to_double(context_node(cell)), to = to_double(context_node(cell + 1));
  return low + (to_double(length) - from) / (to - from) * (at_node(cell + 1) - low);
}

StepCost::Prompts StepTable::prefill(const DecodeBatch& decoding, std::span<const Chunk> chunks) {
  int tokens = 0;
  Seconds attention = chunks.empty() ? Seconds{} : extra_attention(decoding);
  for (const Chunk& c : chunks) {
    tokens += c.tokens;
    attention += chunks_.attention_time(c);
  }
  const VerifiedRows& verified = rows(decoding.sequences, decoding.drafts);
  const HostTime more = chunks_.extra_host(mean_rows(verified) + tokens);
  const Seconds device = chunks_.gemm_growth(verified, tokens) + attention + pipeline_transfer(tokens) + more.least;
  return {step_ticks(prompt_factor_ * std::max(Seconds{}, device)),
          step_ticks(prompt_factor_ * std::max(Seconds{}, more.alone))};
}

// Neither experts nor their exchange depend on the context.
Ticks StepTable::shared_time(const StepLoad& load) {
  Seconds time = prompt_factor_ * chunks_.shared_growth(rows(load.sequences, load.drafts), load.prompt_tokens);
  if (load.sequences > 0) {
    Batch& b = batch(load.sequences, load.drafts);
    if (!b.shared_time) b.shared_time = draftline::shared_time(b.price().breakdown(0));
    time += *b.shared_time;
  }
  return step_ticks(std::max(Seconds{}, time));
}

}  // namespace draftline
