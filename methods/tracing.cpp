// SPDX-License-Identifier: Apache-2.0
#include "methods/tracing.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "methods/position_batch.h"

namespace draftline {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// One position per step: what the method proposes is dropped, the root alone is verified.
class StepTeacher : public Method, public RankTeacher {
 public:
  StepTeacher(Ops& ops, Method& inner, int depth) : RankTeacher(ops, depth), inner_(inner) {}
  std::vector<int> taps() const override { return inner_.taps(); }
  Proposal propose(Ops& ops, Session& s) override {
    RankTeacher::propose(inner_, s);
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
  void extend(Ops& ops, const Session& s, const Committed& c) override { inner_.extend(ops, s, c); }

 private:
  Method& inner_;
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

// The target's own text, as far as it is not given.
std::vector<PositionBatch::Text> texts_of(const Tracing& t, Decoder& decoder,
                                          const std::vector<std::vector<int>>& prompts, int tokens) {
  std::vector<PositionBatch::Text> all(prompts.size());
  std::map<int, std::vector<std::size_t>> lacking;  // by how many tokens are missing: those decode together
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    all[i] = {prompts[i], static_cast<int>(prompts[i].size())};
    if (i < t.continuations.size()) {
      const auto& given = t.continuations[i];
      all[i].given = std::min(static_cast<int>(given.size()), tokens);
      all[i].tokens.insert(all[i].tokens.end(), given.begin(), given.begin() + all[i].given);
    }
    if (all[i].given < tokens) lacking[tokens - all[i].given].push_back(i);
  }
  Plain plain;
  Generator generator(decoder.ops, decoder.target, plain);
  for (const auto& [missing, which] : lacking) {
    std::vector<std::vector<int>> begun;
    for (const std::size_t i : which) begun.push_back(all[i].tokens);
    const auto ends = generate(generator, begun, {missing, {}, t.seats});
    for (std::size_t j = 0; j < which.size(); ++j) {
      auto& text = all[which[j]].tokens;
      text.insert(text.end(), ends[j].tokens.begin(), ends[j].tokens.end());
    }
  }
  return all;
}

// As PositionBatch, a step for each position.
void record_one_by_one(const Tracing& t, Decoder& decoder, const std::vector<PositionBatch::Text>& texts, int first_id,
                       const std::vector<TracedPrompt*>& to) {
  const int depth = decoder.method->depth();
  StepTeacher teacher(decoder.ops, *decoder.method, depth);
  Generator generator(decoder.ops, decoder.target, teacher);
  std::vector<std::vector<int>> prompts;
  std::vector<int> ids;
  for (const auto& text : texts) {
    prompts.emplace_back(text.tokens.begin(), text.tokens.begin() + text.prompt);
    ids.push_back(first_id + static_cast<int>(ids.size()));
  }
  generator.join(prompts, ids);
  for (int position = 0; position < t.new_tokens; ++position) {
    std::vector<std::vector<int>> truth;
    for (const auto& text : texts) {
      const auto next = text.tokens.begin() + text.prompt + position + 1;
      truth.emplace_back(next, next + depth);
    }
    teacher.give(std::move(truth));
    generator.step();
    teacher.note(to);
  }
  for (std::size_t i = texts.size(); i-- > 0;) generator.leave(static_cast<int>(i));
}

std::vector<TracedPrompt> record_ranks(const Tracing& t, Decoder& decoder,
                                       const std::vector<std::vector<int>>& prompts) {
  const int depth = decoder.method->depth();
  const auto texts = texts_of(t, decoder, prompts, t.new_tokens + depth);
  PositionBatch batch(decoder, depth);
  std::vector<TracedPrompt> all(prompts.size());
  for (std::size_t from = 0; from < prompts.size(); from += at(t.seats)) {
    const std::size_t n = std::min(at(t.seats), prompts.size() - from);
    const auto first = texts.begin() + static_cast<std::ptrdiff_t>(from);
    const std::vector<PositionBatch::Text> some(first, first + static_cast<std::ptrdiff_t>(n));
    std::vector<TracedPrompt*> to;
    for (std::size_t i = 0; i < n; ++i) to.push_back(&all[from + i]);
    if (t.positions_at_once > 0)
      batch.record(some, static_cast<int>(from), t.new_tokens,
                   std::clamp((t.spare - depth) / PositionBatch::entries(1, depth), 1, t.positions_at_once), to);
    else record_one_by_one(t, decoder, some, static_cast<int>(from), to);
    if (t.progress) t.progress(from + n);
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    TracedPrompt& p = all[i];
    p.prompt_tokens = static_cast<int>(prompts[i].size());
    p.tokens.assign(texts[i].tokens.begin() + p.prompt_tokens, texts[i].tokens.end());
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
