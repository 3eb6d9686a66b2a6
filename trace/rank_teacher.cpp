// SPDX-License-Identifier: Apache-2.0
#include "trace/rank_teacher.h"

#include "core/int_indexed.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace draftline {

void RankTeacher::give(std::vector<std::vector<int>> truth) {
  truth_ = std::move(truth);
  choices_.clear();
  next_level_ = 0;
}

void RankTeacher::taught(const std::function<void()>& record) {
  ops_.teacher = this;
  try {
    record();
  } catch (...) {
    ops_.teacher = nullptr;
    throw;
  }
  ops_.teacher = nullptr;
}

Proposal RankTeacher::propose(Method& method, Session s) {
  Proposal p;
  taught([&] { p = method.propose(ops_, s); });
  if (by_rank()) {
    if (next_level_ != depth_) throw NotByRank{};
    return p;
  }
  rows_ = p.rows.each;
  tokens_ = ops_.persistent("trace.tokens", p.rows.total, 1, DType::int32);
  parents_ = ops_.persistent("trace.parents", p.rows.total, 1, DType::int32);
  ops_.store(tokens_, p.tokens);
  ops_.store(parents_, p.parents);
  return p;
}

Tensor RankTeacher::best(Tensor logits) {
  if (!by_rank()) {
    ops_.teacher = nullptr;
    const Tensor own = ops_.argmax(logits);
    ops_.teacher = this;
    return own;
  }
  const int b = count(truth_), levels = logits.rows / b, k = std::min(kTraceCandidates, logits.cols);
  if (levels * b != logits.rows || next_level_ + levels > depth_) throw NotByRank{};
  const std::string name = "trace." + std::to_string(next_level_);
  const TopK top = ops_.top_k(logits, k);
  const Choice c{next_level_, levels, ops_.persistent(name + ".ids", logits.rows, k, DType::int32),
                 ops_.persistent(name + ".log_probs", logits.rows, k, DType::fp32)};
  ops_.store(c.ids, top.ids);
  ops_.store(c.log_probs, top.log_probs);
  std::vector<int> tokens;
  for (int q = 0; q < b; ++q)
    for (int level = next_level_; level < next_level_ + levels; ++level) tokens.push_back(truth_[at(q)][at(level)]);
  next_level_ += levels;
  choices_.push_back(c);
  return ops_.input(name, tokens);
}

// The given token is an id of the target's vocabulary already, while the candidates are ids of the drafter's.
Tensor RankTeacher::mapped(Tensor ids, Weight offsets) {
  ops_.teacher = nullptr;
  if (by_rank()) {
    const Choice& c = choices_.back();
    const Tensor flat = reshape(c.ids, c.ids.rows * c.ids.cols, 1);
    ops_.store(flat, ops_.map_ids(flat, offsets));
  } else {
    ids = ops_.map_ids(ids, offsets);
  }
  ops_.teacher = this;
  return ids;
}

void RankTeacher::note(const std::vector<TracedPrompt*>& prompt_of) {
  if (by_rank()) note_ranks(prompt_of);
  else note_lengths(prompt_of);
}

// The lengths that greedy verification would accept, as the target's tokens are known.
void RankTeacher::note_lengths(const std::vector<TracedPrompt*>& prompt_of) {
  const auto tokens = ops_.fetch(tokens_), parents = ops_.fetch(parents_);
  std::size_t first = 0;
  for (std::size_t q = 0; q < prompt_of.size(); ++q) {
    std::vector<int> reached(at(rows_[q]), -1);  // drafts on the path to a row, if all are the target's
    int length = 1;
    for (std::size_t r = 0; r < reached.size(); ++r) {
      const int parent = parents[first + r];
      if (parent == -1) reached[r] = 0;
      if (parent < 0 || reached[at(parent)] < 0) continue;
      const int before = reached[at(parent)];
      if (before < depth_ && tokens[first + r] == truth_[q][at(before)]) reached[r] = before + 1;
      length = std::max(length, reached[r] + 1);
    }
    prompt_of[q]->lengths.push_back(length);
    first += reached.size();
  }
}

void RankTeacher::note_ranks(const std::vector<TracedPrompt*>& prompt_of) {
  struct Read {
    std::vector<int> ids, log_probs;
  };
  std::vector<Read> read;
  for (const Choice& c : choices_) read.push_back({ops_.fetch(c.ids), ops_.fetch(c.log_probs)});
  for (std::size_t q = 0; q < prompt_of.size(); ++q) {
    TracedPrompt& p = *prompt_of[q];
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Choice& c = choices_[i];
      for (int level = 0; level < c.levels; ++level) {
        const auto row = (q * at(c.levels) + at(level)) * at(c.ids.cols);
        const auto from = read[i].ids.begin() + to_int64(row), to = from + c.ids.cols;
        const auto found = std::find(from, to, truth_[q][at(c.first + level)]);
        const bool there = found != to;
        p.ranks.push_back(there ? static_cast<std::uint8_t>(found - from) : kNoRank);
        const auto bits = read[i].log_probs[row + at(there ? found - from : 0)];
        p.probabilities.push_back(there ? std::min(1.0, std::exp(double{std::bit_cast<float>(bits)})) : 0);
      }
    }
  }
}

}  // namespace draftline
