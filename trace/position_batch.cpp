// SPDX-License-Identifier: Apache-2.0
#include "trace/position_batch.h"

#include "core/int_indexed.h"

#include <algorithm>
#include <numeric>

namespace draftline {

// The root of sequence (text, i) of a batch is at entry i + 1 behind the text's committed entries.
Pass PositionBatch::pass(Pass p) {
  const int n = p.rows.each.front(), all = texts_ * each_;
  const bool alike = std::ranges::all_of(p.rows.each, [&](int rows) { return rows == n; });
  if (p.tree_mask || !p.causal || !p.ahead.empty() || !alike || p.rows.sequences() != all) throw NotByRank{};
  Pass whole{ops_.uniform(texts_, each_ * n), p.slots};
  if (!drafting_) {
    if (p.tail != 0 || n != 1) throw NotByRank{};
    return whole;
  }
  if (blocks_.empty()) tail_ = p.tail;
  const int own =
      std::accumulate(blocks_.begin(), blocks_.end(), 0, [](int sum, const Block& b) { return sum + b.rows; });
  if (tail_ < -1 || tail_ > 0 || p.tail != tail_ + own) throw NotByRank{};
  whole.tail = each_ * (1 + own);
  blocks_.push_back({whole.tail, n});
  const int words = (whole.tail + each_ * n + 31) / 32;
  std::vector<std::uint32_t> bits(at(each_ * n * words));
  for (int i = 0; i < each_; ++i)
    for (int r = 0; r < n; ++r) {
      std::uint32_t* row = bits.data() + (i * n + r) * words;
      const auto attend_to = [&](int entry) { row[entry / 32] |= std::uint32_t{1} << (entry % 32); };
      for (int entry = 0; entry <= i + tail_; ++entry) attend_to(entry);
      for (const Block& b : blocks_)
        for (int k = 0; k < (&b == &blocks_.back() ? r + 1 : b.rows); ++k) attend_to(b.first + i * b.rows + k);
    }
  whole.tree_mask = ops_.constant({bits.begin(), bits.end()}, words, texts_);
  return whole;
}

void PositionBatch::record(const std::vector<Text>& texts, int first_id, int positions, int at_once,
                           std::vector<TracedPrompt*> to) {
  texts_ = count(texts);
  first_id_ = first_id;
  std::vector<std::vector<int>> prompts;
  std::vector<int> ids(texts.size()), lengths;
  std::iota(ids.begin(), ids.end(), first_id);
  for (const Text& t : texts) {
    prompts.emplace_back(t.tokens.begin(), t.tokens.begin() + t.prompt);
    lengths.push_back(t.prompt - 1);  // the prompt's last row is computed again, as the first position follows it
  }
  generator_.join(prompts, ids);
  ops_.upload(generator_.session().slots.lengths, lengths);
  for (int from = 0; from < positions; from += each_) {
    each_ = std::min(at_once, positions - from);
    take(texts, from, to);
  }
  for (int slot = texts_; slot-- > 0;) generator_.leave(slot);
}

void PositionBatch::take(const std::vector<Text>& texts, int from, const std::vector<TracedPrompt*>& to) {
  const BatchSlots& slots = generator_.session().slots;
  const int all = texts_ * each_;
  std::vector<int> fed, roots, rows(at(all));
  std::vector<std::vector<int>> truth;
  std::vector<TracedPrompt*> prompt_of;
  std::iota(rows.begin(), rows.end(), 0);
  Session s;
  s.sequences = all;
  s.slots = slots;
  bool doubted = false;
  for (std::size_t t = 0; t < texts.size(); ++t)
    for (int i = 0; i < each_; ++i) {
      const auto root = texts[t].tokens.begin() + texts[t].prompt + from + i;
      fed.push_back(root[-1]);
      roots.push_back(*root);
      truth.emplace_back(root + 1, root + 1 + depth_);
      prompt_of.push_back(to[t]);
      s.lengths.push_back(texts[t].prompt + from + i);
      s.ids.push_back(count(s.ids));
      s.text.emplace_back();
      doubted = doubted || from + i < texts[t].given;
    }
  s.root = ops_.upload(s.state(ops_, "root", 1, 1, DType::int32), roots);

  ops_.phase = Phase::verify;
  Committed c;
  c.prefill = true;
  c.fed = ops_.input("forced.tokens", fed);
  c.rows = ops_.uniform(all, 1);
  c.path = c.last = c.last_row = ops_.constant(rows);
  c.next = c.bonus = s.root;
  Stream x{target_.embed(ops_, c.fed)};
  TargetStates states = target_pass(ops_, target_, method_, x, ops_.pass({ops_.uniform(texts_, each_), slots}));
  c.auxiliary_states = std::move(states.auxiliary);
  std::optional<Tensor> predicted;
  if (doubted) {
    predicted = ops_.persistent("forced.predicted", all, 1, DType::int32);
    ops_.store(*predicted, ops_.argmax(target_.logits(ops_, states.normed)));
  }
  ops_.phase = Phase::draft;
  drafting_ = false;
  taught([&] { method_.extend(ops_, s, c); });
  drafting_ = true;
  blocks_.clear();
  give(std::move(truth));
  const Proposal p = propose(method_, s);
  if (p.hidden && p.first_layer == 0)
    throw NotByRank{};  // the method's drafts come from its own rows in the target's pass
  ops_.phase = Phase::commit;
  ops_.advance(slots.lengths, ops_.constant({each_}, 1, texts_));
  note(prompt_of);
  if (!predicted) return;
  const auto own = ops_.fetch(*predicted);
  for (int q = 0; q < all; ++q) check_given(texts[at(q / each_)], first_id_ + q / each_, from + q % each_, own[at(q)]);
}

void check_given(const PositionBatch::Text& text, int id, int position, int own) {
  if (position >= text.given) return;
  const int token = text.tokens[at(text.prompt + position)];
  if (token != own)
    throw InputErrors("the given text of prompt " + std::to_string(id) + " is not the target's: its token " +
                      std::to_string(position) + " is " + std::to_string(token) + ", the target says " +
                      std::to_string(own));
}

}  // namespace draftline
