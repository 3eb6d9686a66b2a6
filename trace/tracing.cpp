// SPDX-License-Identifier: Apache-2.0
#include "trace/tracing.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/int_indexed.h"
#include "trace/position_batch.h"

namespace draftline {

namespace {

// Records one position per step. If the method's next drafts come from the target's pass, its whole proposal is passed
// through the target; only the root is verified.
class StepTeacher : public Method, public RankTeacher {
 public:
  StepTeacher(Ops& ops, Method& inner, int depth, Noted noted) : RankTeacher(ops, depth, noted), inner_(inner) {}
  std::vector<int> auxiliary_layers() const override { return inner_.auxiliary_layers(); }
  const PromptSelection* selection() const override { return inner_.selection(); }
  Proposal propose(Ops& ops, Session& s) override {
    Proposal p = RankTeacher::propose(inner_, s);
    if (!p.hidden || p.first_layer > 0)
      return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
    std::vector<int> parents;
    for (const int rows : p.rows.each)
      for (int r = 0; r < rows; ++r) parents.push_back(r == 0 ? -1 : -2);
    p.parents = ops.constant(parents);
    p.depth = 0;
    return p;
  }
  void extend(Ops& ops, const Session& s, const Committed& c) override { inner_.extend(ops, s, c); }

 private:
  Method& inner_;
};

std::size_t kept(const std::vector<int>& tokens, const Tracing& t) {
  auto end =
      std::find_first_of(tokens.begin(), tokens.begin() + t.new_tokens, t.end_of_text.begin(), t.end_of_text.end());
  return at(end - tokens.begin()) + (end == tokens.begin() + t.new_tokens ? 0 : 1);
}

std::vector<TracedPrompt> record_steps(const Tracing& t, const std::vector<std::vector<int>>& prompts) {
  const auto decoder = t.make(t.method);
  const auto texts = generate(decoder->generator, prompts, {t.new_tokens, t.end_of_text, t.slots}, t.progress);
  std::vector<TracedPrompt> all(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i)
    all[i] = {.prompt_tokens = count(prompts[i]),
              .tokens = texts[i].tokens,
              .steps = texts[i].accepted,
              .drafts = texts[i].drafted};
  return all;
}

// The prompts with the target's output of `tokens` tokens, which is generated as far as it is not given.
std::vector<PositionBatch::Text> texts_of(const Tracing& t, Decoder& decoder,
                                          const std::vector<std::vector<int>>& prompts, int tokens) {
  std::vector<PositionBatch::Text> all(prompts.size());
  std::map<int, std::vector<std::size_t>> lacking;  // texts by the number of missing tokens; these decode together
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    all[i] = {prompts[i], count(prompts[i])};
    if (i < t.continuations.size()) {
      const auto& given = t.continuations[i];
      all[i].given = std::min(count(given), tokens);
      all[i].tokens.insert(all[i].tokens.end(), given.begin(), given.begin() + all[i].given);
    }
    if (all[i].given < tokens) lacking[tokens - all[i].given].push_back(i);
  }
  Plain plain;
  Generator generator(decoder.ops, decoder.target, plain);
  for (const auto& [missing, which] : lacking) {
    std::vector<std::vector<int>> begun;
    for (const std::size_t i : which) begun.push_back(all[i].tokens);
    const auto ends = generate(generator, begun, {missing, {}, t.slots});
    for (std::size_t j = 0; j < which.size(); ++j) {
      auto& text = all[which[j]].tokens;
      text.insert(text.end(), ends[j].tokens.begin(), ends[j].tokens.end());
    }
  }
  return all;
}

// Like PositionBatch::record(), with one step per position.
void record_one_by_one(const Tracing& t, Decoder& decoder, Noted noted, const std::vector<PositionBatch::Text>& texts,
                       int first_id, const std::vector<TracedPrompt*>& to) {
  const int depth = decoder.method->depth();
  StepTeacher teacher(decoder.ops, *decoder.method, depth, noted);
  Generator generator(decoder.ops, decoder.target, teacher);
  std::vector<std::vector<int>> prompts;
  std::vector<int> ids;
  for (const auto& text : texts) {
    prompts.emplace_back(text.tokens.begin(), text.tokens.begin() + text.prompt);
    ids.push_back(first_id + count(ids));
  }
  const auto check_newest = [&](int position) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      check_given(texts[i], ids[i], position, generator.session().text[i].back());
  };
  generator.join(prompts, ids);
  for (int position = 0; position < t.new_tokens; ++position) {
    check_newest(position);
    std::vector<std::vector<int>> truth;
    for (const auto& text : texts) {
      const auto next = text.tokens.begin() + text.prompt + position + 1;
      truth.emplace_back(next, next + depth);
    }
    teacher.give(std::move(truth));
    generator.step();
    teacher.note(to);
  }
  for (std::size_t i = texts.size(); i-- > 0;) generator.leave(to_int(i));
}

bool keeps_a_ring(const Ops& ops) {
  return std::ranges::any_of(ops.caches(), [](const Cache& c) { return c.window.ring; });
}

std::vector<TracedPrompt> record_positions(const Tracing& t, Decoder& decoder, Noted noted, int at_once,
                                           const std::vector<std::vector<int>>& prompts) {
  const int depth = decoder.method->depth();
  if (keeps_a_ring(decoder.ops) || decoder.method->reads_what_is_committed()) at_once = 0;  // of one position
  const auto texts = texts_of(t, decoder, prompts, t.new_tokens + depth);
  PositionBatch batch(decoder, depth, noted);
  std::vector<TracedPrompt> all(prompts.size());
  for (std::size_t from = 0; from < prompts.size(); from += at(t.slots)) {
    const std::size_t n = std::min(at(t.slots), prompts.size() - from);
    const auto first = texts.begin() + to_int64(from);
    const std::vector<PositionBatch::Text> some(first, first + to_int64(n));
    std::vector<TracedPrompt*> to;
    for (std::size_t i = 0; i < n; ++i) to.push_back(&all[from + i]);
    if (at_once > 0)
      batch.record(some, to_int(from), t.new_tokens,
                   std::clamp((t.spare - depth) / PositionBatch::entries(1, depth), 1, at_once), to);
    else record_one_by_one(t, decoder, noted, some, to_int(from), to);
    if (t.progress) t.progress(from + n);
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    TracedPrompt& p = all[i];
    p.prompt_tokens = count(prompts[i]);
    p.tokens.assign(texts[i].tokens.begin() + p.prompt_tokens, texts[i].tokens.end());
    p.tokens.resize(kept(p.tokens, t));
    if (noted == Noted::ranks) p.ranks.resize(p.tokens.size() * at(depth));
    else p.lengths.resize(p.tokens.size());
    p.probabilities.resize(p.ranks.size());
  }
  return all;
}

// Empty if the method does not draft the best tokens of one chain.
std::vector<TracedPrompt> record_ranks(const Tracing& t, const Decoder& own, TraceHeader& h,
                                       const std::vector<std::vector<int>>& prompts) {
  const int own_depth = own.method->depth();
  std::unique_ptr<Decoder> decoder;
  std::optional<MethodSpec> chain;
  for (const int levels : {std::max(t.depth, own_depth), own_depth}) {
    chain = t.method.as_chain(levels, own.target.shape);
    if (!chain) continue;
    try {
      decoder = t.make(*chain);
      break;
    } catch (const InputErrors&) { decoder.reset(); }  // no memory for so many heads
  }
  if (!decoder || decoder->method->depth() == 0 || !decoder->method->static_plan()) return {};
  for (const int at_once : {t.positions_at_once, 0}) {  // several modules of MTP can't share rows among positions
    try {
      auto traced = record_positions(t, *decoder, Noted::ranks, at_once, prompts);
      h.depth = decoder->method->depth();
      return traced;
    } catch (const NotByRank&) { decoder = t.make(*chain); }
  }
  return {};
}

std::vector<TracedPrompt> record_lengths(const Tracing& t, const std::vector<std::vector<int>>& prompts) {
  for (const int at_once : {t.positions_at_once, 0}) {
    try {
      return record_positions(t, *t.make(t.method), Noted::lengths, at_once, prompts);
    } catch (const NotByRank&) {  // thrown only if several positions are recorded at once
      check(at_once > 0, "lengths can be noted step by step");
    }
  }
  return {};
}

// Whether the method drafts a tree without a fixed shape, found by recording a step that is not run.
bool grows_a_tree(Decoder& d) {
  if (d.method->tree() != nullptr) return false;
  d.generator.assume(1, 1);
  Session s = d.generator.session();
  return d.method->propose(d.ops, s).tree_mask.has_value();
}

}  // namespace

std::vector<TracedPrompt> record_trace(const Tracing& t, const std::vector<std::vector<int>>& prompts, TraceHeader& h) {
  h.method = t.method.object().dump();
  const auto decoder = t.make(t.method);
  const int depth = decoder->method->depth();
  if (depth == 0) h.steps_because = "it drafts nothing";
  else if (!h.sampling.greedy()) h.steps_because = "sampled text depends on the path; its seed is stored";
  else if (!decoder->method->static_plan())
    h.steps_because = "what it drafts depends on its own path or on a decision taken while drafting";
  else if (decoder->target.shape.states())
    h.steps_because = "the target's recurrent states are of one position, so that no other can be computed again";
  if (h.steps_because) {
    if (!t.continuations.empty())
      throw InputErrors("--continuations: steps are recorded, which decode the text themselves: " + *h.steps_because);
    h.depth = depth;
    return record_steps(t, prompts);
  }
  auto traced = record_ranks(t, *decoder, h, prompts);
  if (traced.empty()) h.lengths_because = "its drafts are not the best tokens of one chain";
  else if (grows_a_tree(*decoder))
    h.lengths_because = "its tree grows with what it finds likely, ranks alone don't tell which";
  else return traced;
  h.own_depth = depth;
  Tracing again = t;  // with the outputs that record_ranks() has generated
  if (!traced.empty()) {
    again.continuations.clear();
    for (const TracedPrompt& p : traced) again.continuations.push_back(p.tokens);
  }
  auto lengths = record_lengths(again, prompts);
  if (traced.empty()) return lengths;
  for (std::size_t i = 0; i < traced.size(); ++i) traced[i].lengths = std::move(lengths[i].lengths);
  return traced;
}

std::optional<DraftPlan> draft_plan(const Method& method, bool tree) {
  if (method.tree() != nullptr) return DraftPlan(*method.tree());
  if (tree) return std::nullopt;
  return DraftPlan::chain(method.depth());
}

}  // namespace draftline
