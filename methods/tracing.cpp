// SPDX-License-Identifier: Apache-2.0
#include "methods/tracing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace draftline {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The method, drafting for show: what it proposes is dropped, the root alone is verified.
struct NotByRank {};  // some level's draft was not a best token

class Recorder : public Method, public Ops::GivenDrafts {
 public:
  Recorder(Method& inner, int depth) : inner_(inner), depth_(depth) {}
  std::vector<int> taps() const override { return inner_.taps(); }

  // Tokens [sequence][level] that the next step is to draft.
  void give(std::vector<std::vector<int>> truth) { truth_ = std::move(truth); }
  // Levels found by the last step, their candidates in reach of fetch().
  void note(Ops& ops, std::vector<TracedPrompt>& all, std::size_t first) {
    const int b = static_cast<int>(truth_.size());
    for (const Choice& c : choices_) {
      const auto ids = ops.fetch(c.ids), shares = ops.fetch(c.log_probs);
      for (int q = 0; q < b; ++q)
        for (int level = c.first; level < c.first + c.levels; ++level) {
          const auto row = at((q * c.levels + level - c.first) * c.ids.cols);
          const auto from = ids.begin() + static_cast<std::ptrdiff_t>(row), to = from + c.ids.cols;
          const auto found = std::find(from, to, truth_[at(q)][at(level)]);
          TracedPrompt& p = all[first + at(q)];
          p.ranks.push_back(found == to ? kNoRank : static_cast<std::uint8_t>(found - from));
          const auto bits = shares[row + static_cast<std::size_t>(found == to ? 0 : found - from)];
          p.probabilities.push_back(
              found == to ? 0.0 : std::min(1.0, std::exp(static_cast<double>(std::bit_cast<float>(bits)))));
        }
    }
  }

  Proposal propose(Ops& ops, Session& s) override {
    choices_.clear();
    next_level_ = 0;
    ops_ = &ops;
    ops.given = this;
    Session own = s;
    try {
      inner_.propose(ops, own);
    } catch (...) {
      ops.given = nullptr;
      throw;
    }
    ops.given = nullptr;
    if (next_level_ != depth_) throw NotByRank{};
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
  void extend(Ops& ops, const Session& s, const Committed& c) override { inner_.extend(ops, s, c); }

  Tensor best(Tensor logits) override {
    const int b = static_cast<int>(truth_.size()), levels = logits.rows / b,
              k = std::min(kTraceCandidates, logits.cols);
    check(levels * b == logits.rows && next_level_ + levels <= depth_, "a trace's drafts are a row per level");
    const std::string name = "trace." + std::to_string(next_level_);
    const TopK top = ops_->top_k(logits, k);
    Choice c{next_level_, levels, ops_->slot(name + ".ids", logits.rows, k, DType::int32),
             ops_->slot(name + ".log_probs", logits.rows, k, DType::fp32)};
    ops_->store(c.ids, top.ids);
    ops_->store(c.log_probs, top.log_probs);
    std::vector<int> tokens;
    for (int q = 0; q < b; ++q)
      for (int level = next_level_; level < next_level_ + levels; ++level) tokens.push_back(truth_[at(q)][at(level)]);
    next_level_ += levels;
    choices_.push_back(c);
    return ops_->input(name, tokens);
  }
  Tensor mapped(Tensor ids,
                Weight offsets) override {  // the given token is the target's already; its candidates aren't
    const Choice& c = choices_.back();
    ops_->given = nullptr;
    const Tensor flat = reshape(c.ids, c.ids.rows * c.ids.cols, 1);
    ops_->store(flat, ops_->map_ids(flat, offsets));
    ops_->given = this;
    return ids;
  }

 private:
  struct Choice {
    int first, levels;
    Tensor ids, log_probs;
  };
  Method& inner_;
  int depth_, next_level_ = 0;
  Ops* ops_ = nullptr;
  std::vector<std::vector<int>> truth_;
  std::vector<Choice> choices_;
};

class Plain : public Method {
  Proposal propose(Ops& ops, Session& s) override {
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
};

// The same drafter as a chain: its ranks serve every tree.
nlohmann::json as_chain(nlohmann::json method, int depth) {
  for (const char* key : {"tree", "widths", "replacement", "budget", "depth", "rank_acceptance", "acceptance"})
    method.erase(key);
  method["draft_length"] = depth;
  return method;
}

std::size_t kept(const std::vector<int>& tokens, const Tracing& t) {
  auto end =
      std::find_first_of(tokens.begin(), tokens.begin() + t.new_tokens, t.end_of_text.begin(), t.end_of_text.end());
  return static_cast<std::size_t>(end - tokens.begin()) + (end == tokens.begin() + t.new_tokens ? 0 : 1);
}

std::vector<TracedPrompt> record_steps(const Tracing& t, const std::vector<std::vector<int>>& prompts) {
  const Document method = Document::from_text(t.method, "--method");
  const auto decoder = t.make(method);
  const auto texts = generate(decoder->generator, prompts, {t.new_tokens, t.end_of_text, t.seats}, t.progress);
  std::vector<TracedPrompt> all(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i)
    all[i] = {static_cast<int>(prompts[i].size()), texts[i].tokens, {}, {}, texts[i].accepted};
  return all;
}

std::vector<TracedPrompt> record_ranks(const Tracing& t, Decoder& decoder,
                                       const std::vector<std::vector<int>>& prompts) {
  const int depth = decoder.method->depth();
  Plain plain;
  Generator first(decoder.ops, decoder.target, plain);
  const auto texts = generate(first, prompts, {t.new_tokens + depth, {}, t.seats});
  Recorder recorder(*decoder.method, depth);
  Generator second(decoder.ops, decoder.target, recorder);
  std::vector<TracedPrompt> all(prompts.size());
  for (std::size_t from = 0; from < prompts.size(); from += at(t.seats)) {
    const std::size_t n = std::min(at(t.seats), prompts.size() - from);
    std::vector<int> ids;
    for (std::size_t i = 0; i < n; ++i) ids.push_back(static_cast<int>(from + i));
    second.join(
        {prompts.begin() + static_cast<std::ptrdiff_t>(from), prompts.begin() + static_cast<std::ptrdiff_t>(from + n)},
        ids);
    for (int position = 0; position < t.new_tokens; ++position) {
      std::vector<std::vector<int>> truth;
      for (std::size_t i = 0; i < n; ++i) {
        const auto& text = texts[from + i].tokens;
        truth.emplace_back(text.begin() + position + 1,
                           text.begin() + position + 1 + std::min(depth, static_cast<int>(text.size()) - position - 1));
        truth.back().resize(at(depth), 0);
      }
      recorder.give(std::move(truth));
      second.step();
      recorder.note(decoder.ops, all, from);
    }
    for (std::size_t i = n; i-- > 0;) second.leave(static_cast<int>(i));
    if (t.progress) t.progress(from + n);
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    TracedPrompt& p = all[i];
    p.prompt_tokens = static_cast<int>(prompts[i].size());
    p.tokens = texts[i].tokens;
    p.tokens.resize(kept(p.tokens, t));
    p.ranks.resize(p.tokens.size() * at(depth));
    p.probabilities.resize(p.ranks.size());
  }
  return all;
}

}  // namespace

std::vector<TracedPrompt> record_trace(const Tracing& t, const std::vector<std::vector<int>>& prompts, TraceHeader& h) {
  h.method = t.method;
  const Document original = Document::from_text(t.method, "--method");
  int depth;
  bool steers;
  {
    const auto decoder = t.make(original);
    depth = decoder->method->depth();
    steers = !decoder->method->static_plan();
  }
  h.depth = depth;
  if (depth == 0) h.steps_because = "it drafts nothing";
  else if (!h.sampling.greedy()) h.steps_because = "sampled text depends on the path; its seed is stored";
  else if (steers) h.steps_because = "what it drafts depends on its own path or on a decision taken while drafting";
  if (!h.ranks()) return record_steps(t, prompts);

  std::unique_ptr<Decoder> decoder;
  for (const int levels : {std::max(t.depth, depth), depth}) {  // fewer if it has no more heads
    try {
      const Document chain = Document::from_text(as_chain(nlohmann::json::parse(t.method), levels).dump(), "--method");
      decoder = t.make(chain);
      break;
    } catch (const InputErrors&) {}
  }
  if (decoder && decoder->method->depth() > 0 && decoder->method->static_plan()) {
    try {
      auto traced = record_ranks(t, *decoder, prompts);
      h.depth = decoder->method->depth();
      return traced;
    } catch (const NotByRank&) {}
  }
  h.steps_because =
      "its drafts are not the best tokens of one chain: they come from an earlier pass, or as a tree that grows";
  return record_steps(t, prompts);
}

std::optional<DraftPlan> draft_plan(const Method& method, bool tree) {
  if (method.tree() != nullptr) return DraftPlan(*method.tree());
  if (tree) return std::nullopt;
  return DraftPlan::chain(method.depth());
}

}  // namespace draftline
