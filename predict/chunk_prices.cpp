// SPDX-License-Identifier: Apache-2.0
#include "predict/chunk_prices.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/int_indexed.h"

namespace draftline {

namespace {

// Nodes of the prompt tokens: every number up to 16, then eight per doubling.
int token_node(std::size_t i) {
  if (i <= 16) return static_cast<int>(i);
  const auto e = (i - 16) / 8, j = (i - 16) % 8;
  return static_cast<int>((16U << e) + j * (2U << e));
}
std::size_t token_cell(int tokens) {
  if (tokens <= 16) return at(tokens);
  const auto n = static_cast<unsigned>(tokens);
  const auto e = static_cast<std::size_t>(std::bit_width(n) - 5);
  return 16 + 8 * e + ((n >> (e + 1)) & 7);
}

Seconds interpolated(Seconds low, Seconds high, double share) { return low + share * (high - low); }

}  // namespace

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

Seconds shared_time(const StepBreakdown& step) {
  Seconds time = step.communication();
  for (const Phase phase : {Phase::draft, Phase::verify, Phase::commit}) time += step.of(phase, KernelKind::experts);
  return time;
}

// The host issues the same kernels however many tokens they are for.
const HostTime& ChunkPrices::host_of(Launching how) {
  constexpr int kPromptRows = 256;  // so many that an engine treats them as a prompt, not as drafts
  std::optional<HostTime>& known = hosts_[static_cast<std::size_t>(how)];
  if (!known) {
    std::optional<int> rows;
    if (how == Launching::captured) rows = prompt_graphs_;
    if (how == Launching::one_by_one) rows = prompt_graphs_ + 1;
    const StepPrice price = price_(kPromptRows, rows);
    known = {price.host_alone(), price.host_least()};
  }
  return *known;
}

HostTime ChunkPrices::extra_host(double rows) {
  const HostTime &with = host_of(launching(rows)), &without = host_of(Launching::as_decoding);
  return {with.alone - without.alone, with.least - without.least};
}

ChunkPrices::Prompt& ChunkPrices::prompt(int tokens, std::size_t place) {
  if (prompts_.size() <= place) prompts_.resize(place + 1);
  Prompt& p = prompts_[place];
  if (!p.price) {
    p.price = std::make_unique<StepPrice>(price_(tokens, tokens));
    const StepBreakdown first = p.price->breakdown(0);
    p.gemms = {first.of(Phase::verify) - first.of(Phase::verify, KernelKind::attention) + first.communication(),
               first.of(Phase::verify, KernelKind::experts) + first.communication()};
  }
  return p;
}

ChunkPrices::Between ChunkPrices::between(int tokens) {
  const std::size_t node = token_cell(tokens);
  const int low = token_node(node), high = token_node(node + 1);
  if (tokens == low) {
    Prompt& here = prompt(low, 2 * node);
    return {here, here, 0};
  }
  Prompt &behind = prompt(low + 1, 2 * node + 1), &next = prompt(high, 2 * node + 2);
  return {behind, next, (tokens - low - 1.0) / (high - low - 1)};
}

Seconds ChunkPrices::gemm_time(int rows) {
  if (rows == 0) return {};
  constexpr int kMostCached = 1 << 16;  // only static batches of long prompts have more rows
  if (rows > kMostCached) return gemms_between(rows).all;
  const std::size_t known = at(rows);
  if (known >= gemm_times_.size()) gemm_times_.resize(known + 1);
  if (!gemm_times_[known]) gemm_times_[known] = gemms_between(rows).all;
  return *gemm_times_[known];
}

Seconds ChunkPrices::shared_time(int rows) { return rows == 0 ? Seconds{} : gemms_between(rows).shared; }

ChunkPrices::GemmTime ChunkPrices::gemms_between(int rows) {
  const auto [low, high, share] = between(rows);
  return {interpolated(low.gemms.all, high.gemms.all, share), interpolated(low.gemms.shared, high.gemms.shared, share)};
}

Seconds ChunkPrices::growth(Seconds (ChunkPrices::*part)(int rows), const VerifiedRows& others, int tokens) {
  if (others.empty()) return (this->*part)(tokens);
  Seconds mean;
  for (const auto& [rows, share] : others) mean += share * ((this->*part)(rows + tokens) - (this->*part)(rows));
  return mean;
}

Seconds ChunkPrices::attention_at(Prompt& p, std::size_t node) {
  if (p.attention.size() <= node) p.attention.resize(node + 1);
  std::optional<Seconds>& known = p.attention[node];
  if (!known) {
    const Seconds device = p.price->breakdown(static_cast<double>(context_node(node))).device();
    known = std::max(Seconds{}, device - p.gemms.all);
  }
  return *known;
}

Seconds ChunkPrices::attention_time(const Chunk& c) {
  const std::size_t cell = context_cell(c.context);
  const auto low = context_node(cell), high = context_node(cell + 1);
  const double share = static_cast<double>(c.context - low) / static_cast<double>(high - low);
  const auto at_context = [&](Prompt& p) {
    const Seconds at_low = attention_at(p, cell);
    return share == 0 ? at_low : interpolated(at_low, attention_at(p, cell + 1), share);  // 0: a prompt's first chunk
  };
  const Between tokens = between(c.tokens);
  const Seconds at_low = at_context(tokens.low);
  return tokens.share == 0 ? at_low : interpolated(at_low, at_context(tokens.high), tokens.share);
}

}  // namespace draftline
