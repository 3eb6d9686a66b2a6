// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/early_stop.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/int_indexed.h"

namespace draftline::methods {

Tensor chain_rows(Ops& ops, const std::vector<int>& rows_each, int sequences, const std::string& name) {
  std::vector<int> index;
  for (int q = 0; q < sequences; ++q)
    for (int j = 0; j < rows_each[at(q)]; ++j) index.push_back(j * sequences + q);
  return ops.input(name, index);
}

StoppedChain draft_until(Ops& ops, const Session& s, const EarlyStop& stop,
                         const std::function<Tensor(int, Tensor)>& network,
                         const std::function<void(int, Tensor)>& after_last) {
  const auto b = at(s.sequences);
  // A host read ends a tape and its temporaries, so drafts are stored in persistent buffers.
  const auto token_buffer = [&](int j) { return s.state(ops, "draft.token." + std::to_string(j), 1, 1, DType::int32); };
  const Tensor sureness = s.state(ops, "draft.sureness", 1, 1, DType::fp32);
  std::vector<Tensor> tokens{s.root}, distributions;
  StoppedChain chain;
  chain.lengths.assign(b, 0);
  std::vector<int> going(b, 1);
  int drafted = 0;
  while (drafted < stop.most) {
    const Tensor logits = network(drafted, tokens.back());
    const TopK best = ops.top_k(logits, 1);
    Tensor token = best.ids;
    if (!s.sampling.greedy()) {
      const auto drawn = ops.sample(logits, s.slots, s.sampling, drafted + 1);
      token = drawn.tokens;
      const Tensor q = s.state(ops, "draft.q." + std::to_string(drafted), 1, logits.cols, DType::fp32);
      ops.store(q, drawn.q);
      distributions.push_back(q);
    }
    ops.store(token_buffer(drafted), token);
    tokens.push_back(token_buffer(drafted));
    ops.store(sureness, best.log_probs);
    ++drafted;
    std::vector<int> usual = going;
    if (drafted == stop.usual && !stop.drop_unsure) std::fill(usual.begin(), usual.end(), 0);
    const auto before = going;
    going = ops.decide(
        sureness,
        [&](std::span<const int> raw) {
          std::vector<int> go(b, 0);
          for (std::size_t i = 0; i < b; ++i)
            go[i] = before[i] != 0 && stop.goes_on(i, drafted, std::exp(std::bit_cast<float>(raw[i])));
          return go;
        },
        usual);
    for (std::size_t i = 0; i < b; ++i)
      if (before[i] != 0 && (going[i] != 0 || !stop.drop_unsure)) chain.lengths[i] = drafted;
    if (std::none_of(going.begin(), going.end(), [](int g) { return g != 0; })) break;
  }
  const int longest = *std::max_element(chain.lengths.begin(), chain.lengths.end());
  if (after_last) after_last(drafted, tokens.back());

  std::vector<int> each;
  for (const int n : chain.lengths) each.push_back(n + 1);
  chain.proposal.rows = ops.ragged("stopped.rows", each);
  chain.proposal.parents = ops.input("stopped.parents", chain_parents(each));
  chain.proposal.depth = longest;
  chain.proposal.tokens = ops.gather(ops.concat_rows(tokens), chain_rows(ops, each, s.sequences, "stopped.index"));
  if (!distributions.empty() && longest > 0)
    chain.proposal.q =
        ops.gather(ops.concat_rows(distributions), chain_rows(ops, chain.lengths, s.sequences, "stopped.q_index"));
  return chain;
}

std::optional<Method::Answers> stopping_answers(const std::vector<int>& drafts, int most, bool drop_unsure) {
  const auto [least, longest] = std::ranges::minmax(drafts);
  if (least < (drop_unsure ? 0 : 1) || longest > most) return std::nullopt;
  Method::Answers answers;
  const int passes = drop_unsure ? std::min(longest + 1, most) : longest;
  for (int drafted = 1; drafted <= passes; ++drafted) {
    std::vector<int>& go = answers.emplace_back();
    for (const int n : drafts) go.push_back(drop_unsure ? n >= drafted : n > drafted);
  }
  return answers;
}

std::optional<double> fitted_threshold(std::vector<JudgedDraft> drafts) {
  constexpr std::size_t kTooFew = 5;
  constexpr double kMissCosts = 3;
  int accepted = 0;
  for (const JudgedDraft& d : drafts) accepted += d.accepted;
  const int rejected = count(drafts) - accepted;
  if (drafts.size() <= kTooFew || accepted == 0 || rejected == 0) return std::nullopt;
  std::sort(drafts.begin(), drafts.end(), [](const auto& a, const auto& b) { return a.probability > b.probability; });
  double best = 0, least = 2 + kMissCosts;
  int kept = 0, alarms = 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    ++(drafts[i].accepted ? kept : alarms);
    if (i + 1 < drafts.size() && drafts[i + 1].probability == drafts[i].probability) continue;
    const double cost = 1.0 * alarms / rejected + kMissCosts * (1 - 1.0 * kept / accepted);
    if (cost < least) {
      least = cost;
      best = drafts[i].probability;
    }
  }
  return best;
}

}  // namespace draftline::methods
