// SPDX-License-Identifier: Apache-2.0
#include "sim/step_table.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "model/kernel_time.h"

namespace draftline {

namespace {

double picoseconds(Seconds t) { return t.value * kTicksPerSecond; }

// Nodes of the context: 0, 64, then four per doubling.
std::int64_t context_node(std::size_t i) {
  if (i == 0) return 0;
  const auto e = (i - 1) / 4, q = (i - 1) % 4;
  return (std::int64_t{64} << e) + static_cast<std::int64_t>(q) * (std::int64_t{16} << e);
}
std::size_t context_cell(std::int64_t length) {
  if (length < 64) return 0;
  const auto e = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)) - 7);
  return 1 + 4 * e + static_cast<std::size_t>((length >> (e + 4)) & 3);
}

// Nodes of the prompt tokens: every number up to 16, then eight per doubling.
int token_node(std::size_t i) {
  if (i <= 16) return static_cast<int>(i);
  const auto e = (i - 16) / 8, j = (i - 16) % 8;
  return static_cast<int>((16U << e) + j * (2U << e));
}
std::size_t token_cell(int tokens) {
  if (tokens <= 16) return static_cast<std::size_t>(tokens);
  const auto n = static_cast<unsigned>(tokens);
  const auto e = static_cast<std::size_t>(std::bit_width(n) - 5);
  return 16 + 8 * e + ((n >> (e + 1)) & 7);
}

// Adds the wall time between its construction and destruction to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(Seconds& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()}; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Seconds& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

StepTable::StepTable(Predictor& predictor, const Setup& setup, std::vector<const MethodChoice*> by_drafts,
                     const MethodChoice& prompts, int stages)
    : predictor_(predictor),
      setup_(setup),
      by_drafts_(std::move(by_drafts)),
      prompts_(prompts),
      token_(to_ticks(setup.engine->token)),
      stages_(stages),
      batches_(by_drafts_.size()),
      rows_(by_drafts_.size()) {}

void StepTable::allow(int sequences) const {
  step_ticks(sequences * static_cast<double>(by_drafts_.size()) * setup_.engine->token);  // of a step's tokens
}

StepTable::Batch& StepTable::batch(int sequences, int drafts) {
  auto& of_drafts = batches_[static_cast<std::size_t>(drafts)];
  const auto n = static_cast<std::size_t>(sequences);
  if (of_drafts.size() <= n) of_drafts.resize(n + 1);
  Batch& b = of_drafts[n];
  if (!b.price) {
    const Stopwatch running(pricing_time_);
    const MethodChoice* method = by_drafts_[static_cast<std::size_t>(drafts)];
    check(method != nullptr, "no method drafts so many");
    Setup s = setup_;
    s.batch_size = sequences;
    b.price = std::make_unique<ExpectedStep>(predictor_.expected_step(s, *method));
  }
  return b;
}

StepCost::Line StepTable::decode(int sequences, int drafts, std::int64_t context) {
  if (sequences == 0) {
    constexpr int kPromptRows = 256;  // so many that an engine treats them as a prompt, not as drafts
    // Short prompts may be replayed as graphs, but steps of prompts alone are most often long.
    const int rows = std::max(kPromptRows, 2 * setup_.engine->prompt_graphs.value_or(0));
    const StepPrice& price = *prompt(token_cell(rows)).price;
    const Ticks alone = step_ticks(price.host_alone());
    return {0, kForever, alone, 0, alone, alone - step_ticks(price.host_least())};
  }
  Batch& b = batch(sequences, drafts);
  const std::size_t cell = context_cell(context / sequences);
  if (b.cells.size() <= cell) b.cells.resize(cell + 1);
  Line& line = b.cells[cell];
  if (line.to == 0) {
    const std::int64_t from = context_node(cell), to = context_node(cell + 1);
    const StepBreakdown first = b.price->breakdown(static_cast<double>(from));
    const Seconds handing_on = hops(sequences * rows(drafts));
    const Ticks start = step_ticks(first.time + handing_on),
                end = step_ticks((*b.price)(static_cast<double>(to)) + handing_on);
    const std::int64_t tokens = sequences * (to - from);
    line = {sequences * from,
            sequences * to,
            start,
            (end - start + tokens / 2) / tokens,
            step_ticks(first.host()),
            std::max<Ticks>(0, step_ticks(first.host() - b.price->host_least()))};
  }
  return line;
}

// Only a CPU's caches keep data from step to step; a GPU's L2 is smaller than the data of a step.
Ticks StepTable::after_prompts(int sequences, int drafts, std::int64_t context, Ticks prompts, int fresh) {
  if (setup_.device->cpu() == nullptr) return 0;
  const ExpectedStep& price = *batch(sequences, drafts).price;
  const double length = static_cast<double>(context) / sequences;
  const PromptsBetween between{Seconds{static_cast<double>(prompts) / kTicksPerSecond}, 1 - 1.0 * fresh / sequences};
  return step_ticks(std::max(Seconds{}, price(length, between) - price(length)));
}

StepTable::Prompt& StepTable::prompt(std::size_t node) {
  if (prompt_.size() <= node) prompt_.resize(node + 1);
  Prompt& p = prompt_[node];
  if (!p.price) {
    const Stopwatch running(pricing_time_);
    p.price = std::make_unique<StepPrice>(predictor_.prefill_price(setup_, prompts_, token_node(node)));
    const StepBreakdown first = p.price->breakdown(0);
    p.products =
        picoseconds(first.of(Phase::verify) - first.of(Phase::verify, KernelKind::attention) + first.communication());
  }
  return p;
}

double StepTable::products(int rows) {
  if (rows == 0) return 0;
  constexpr int kMostKept = 1 << 20;  // only static batches of long prompts have more rows
  if (rows > kMostKept) return products_between(rows);
  const auto known = static_cast<std::size_t>(rows);
  if (known >= products_.size()) products_.resize(known + 1, -1);
  if (products_[known] < 0) products_[known] = products_between(rows);
  return products_[known];
}

double StepTable::products_between(int rows) {
  const std::size_t cell = token_cell(rows);
  const int low = token_node(cell), high = token_node(cell + 1);
  const double at_low = prompt(cell).products;
  if (rows == low) return at_low;
  return at_low + (prompt(cell + 1).products - at_low) * (rows - low) / (high - low);
}

double StepTable::rest_at(std::size_t tokens_node, std::size_t node) {
  if (tokens_node < prompt_.size() && node < prompt_[tokens_node].rest.size())
    if (const double known = prompt_[tokens_node].rest[node]; known >= 0) return known;
  Prompt& p = prompt(tokens_node);
  if (p.rest.size() <= node) p.rest.resize(node + 1, -1);
  if (p.rest[node] < 0) {
    const Seconds device = p.price->breakdown(static_cast<double>(context_node(node))).device();
    p.rest[node] = std::max(0.0, picoseconds(device) - p.products);
  }
  return p.rest[node];
}

double StepTable::rest(const Chunk& c) {
  const std::size_t t = token_cell(c.tokens), k = context_cell(c.context);
  const double x = static_cast<double>(c.tokens - token_node(t)) / (token_node(t + 1) - token_node(t));
  const auto low = context_node(k), high = context_node(k + 1);
  const double y = static_cast<double>(c.context - low) / static_cast<double>(high - low);
  if (y == 0) {  // a prompt's first chunk
    const double at_low = rest_at(t, k);
    return x == 0 ? at_low : at_low + (rest_at(t + 1, k) - at_low) * x;
  }
  const auto along = [&](std::size_t node) {
    const double at_low = rest_at(node, k);
    return at_low + (rest_at(node, k + 1) - at_low) * y;
  };
  const double at_low = along(t);
  return x == 0 ? at_low : at_low + (along(t + 1) - at_low) * x;
}

// The time of passing the hidden states of so many rows through all stages.
Seconds StepTable::hops(int rows) const {
  if (stages_ == 1) return {};
  const Bytes states = bytes_of(setup_.precision.activations, static_cast<double>(rows) * setup_.transformer->hidden);
  EngineLinks in_turn = setup_.engine->links;  // a stage waits for nobody but the one before it
  in_turn.rank_skew = {};
  return (stages_ - 1) *
         collective_time(setup_.device->links, in_turn, Collective::all_reduce, 2, states, setup_.device->name);
}

int StepTable::rows(int drafts) {
  int& rows = rows_[static_cast<std::size_t>(drafts)];
  if (rows == 0) rows = predictor_.verified_rows(setup_, *by_drafts_[static_cast<std::size_t>(drafts)]);
  return rows;
}

// Between the nodes of the context on a line, as a decode step is.
double StepTable::beside_prompt(int sequences, int drafts, std::int64_t context) {
  if (sequences == 0) return 0;
  Batch& b = batch(sequences, drafts);
  if (!b.beside) {
    const Stopwatch running(pricing_time_);
    Setup s = setup_;
    s.batch_size = sequences;
    b.beside.emplace(predictor_.beside_prompt(s, *by_drafts_[static_cast<std::size_t>(drafts)]));
  }
  if (!*b.beside) return 0;
  const auto at_node = [&](std::size_t node) {
    const auto [known, fresh] = b.more.try_emplace(node);
    if (fresh) {
      const auto attention = [&](const StepPrice& price) {
        return price.breakdown(static_cast<double>(context_node(node))).of(Phase::verify, KernelKind::attention);
      };
      const BesidePrompt& p = **b.beside;
      known->second = picoseconds(attention(p.beside) - attention(p.apart) - p.launches);
    }
    return known->second;
  };
  const std::int64_t length = context / sequences;
  const std::size_t cell = context_cell(length);
  const double low = at_node(cell), from = static_cast<double>(context_node(cell));
  return low + (at_node(cell + 1) - low) * (static_cast<double>(length) - from) /
                   (static_cast<double>(context_node(cell + 1)) - from);
}

Ticks StepTable::prefill(int sequences, int drafts, std::int64_t context, std::span<const Chunk> chunks) {
  int tokens = 0;
  double more = chunks.empty() ? 0 : beside_prompt(sequences, drafts, context);
  for (const Chunk& c : chunks) {
    tokens += c.tokens;
    more += rest(c);
  }
  const int decoding = sequences == 0 ? 0 : sequences * rows(drafts);
  more += picoseconds(hops(tokens));
  return step_ticks(std::max(0.0, products(decoding + tokens) - products(decoding) + more));
}

}  // namespace draftline
