// SPDX-License-Identifier: Apache-2.0
#include "decoder/generate.h"

#include <algorithm>
#include <numeric>

#include "core/int_indexed.h"

namespace draftline {

TargetStates target_pass(Ops& ops, const Transformer& target, const Method& method, Stream& x, PassRef pass,
                         int first_layer) {
  TargetStates s;
  for (const int t : method.auxiliary_layers()) s.auxiliary[t] = {};
  target.run(ops, x, pass, layers_between(first_layer, target.shape.layers()), &s.auxiliary,
             ops.rows(pass).prompts ? method.selection() : nullptr);
  s.normed = target.final_norm(ops, x);
  if (s.auxiliary.contains(target.shape.layers())) s.auxiliary[target.shape.layers()] = s.normed;
  return s;
}

Generator::Generator(Ops& ops, const Transformer& target, Method& method, const Sampling& sampling)
    : ops_(ops), target_(target), method_(method) {
  session_.sampling = sampling;
}

void Generator::view(Session& s, int sequences) {
  s.sequences = sequences;
  s.slots = {s.state(ops_, "kv_slots", 1, 1, DType::int32), s.state(ops_, "lengths", 1, 1, DType::int32),
             s.state(ops_, "ids", 1, 1, DType::int32)};
  s.root = s.state(ops_, "root", 1, 1, DType::int32);
}

void Generator::assume(int batch_size, int length) {
  view(session_, batch_size);
  session_.lengths.assign(at(batch_size), length);
  session_.text.assign(at(batch_size), {});
  session_.ids.resize(at(batch_size));
  std::iota(session_.ids.begin(), session_.ids.end(), 0);
}

std::vector<int> lengths_around(int mean, int sequences) {
  constexpr int kFarthest = 32;
  const int farthest = std::min(kFarthest, mean / 4);
  std::vector<int> lengths;
  for (int s = 0; s < sequences; ++s) lengths.push_back(mean + farthest * (2 * s + 1 - sequences) / sequences);
  return lengths;
}

void Generator::assume_length(int mean) {
  session_.lengths = lengths_around(mean, session_.sequences);
  for (std::size_t s = 0; s < session_.text.size(); ++s) {
    auto& text = session_.text[s];
    const std::vector<int> known = text;
    const auto whole = at(session_.lengths[s]) + 1;  // the root included
    std::vector<int> front;
    for (std::size_t i = known.size(); i < whole; ++i) front.push_back(known[i % known.size()]);
    if (known.size() > whole) text.erase(text.begin(), text.end() - whole);
    text.insert(text.begin(), front.begin(), front.end());
  }
  ops_.upload(session_.slots.lengths, session_.lengths);
  ops_.flush(false);
}

void Generator::join(const std::vector<std::vector<int>>& prompts, const std::vector<int>& ids) {
  const int b = count(prompts);
  Session fresh;
  fresh.first = session_.sequences;
  fresh.text = prompts;
  fresh.lengths.assign(prompts.size(), 0);
  fresh.ids = ids;
  fresh.sampling = session_.sampling;
  for (const int id : ids) steps_of_.erase(id);  // a sequence that joins again counts its steps anew
  std::vector<int> kv_slots;
  for (int i = 0; i < b; ++i) {
    if (free_kv_slots_.empty()) free_kv_slots_.push_back(count(kv_slot_));
    kv_slots.push_back(free_kv_slots_.back());
    free_kv_slots_.pop_back();
    kv_slot_.push_back(kv_slots.back());
  }
  view(fresh, b);
  now_ = &fresh;
  ops_.phase = Phase::verify;
  ops_.upload(fresh.slots.kv_slots, kv_slots);
  ops_.upload(fresh.slots.lengths, fresh.lengths);
  ops_.upload(fresh.slots.ids, ids);

  std::vector<int> tokens, after, last, sizes;  // `after`: the row of [tokens, bonus] with the token after each
  for (const auto& p : prompts) {
    check(!p.empty(), "join: a prompt holds at least one token");
    for (int i = 1; i <= count(p); ++i) after.push_back(count(tokens) + i);
    tokens.insert(tokens.end(), p.begin(), p.end());
    last.push_back(count(tokens) - 1);
    sizes.push_back(count(p));
  }
  const int total = count(tokens);
  for (int i = 0; i < b; ++i) after[at(last[at(i)])] = total + i;
  std::vector<int> identity(tokens.size());
  std::iota(identity.begin(), identity.end(), 0);

  Committed c;
  c.prefill = true;
  c.rows = ops_.ragged("prompt.rows", sizes);  // prompts are data: inputs of a tape, not constants
  c.rows.prompts = true;
  c.fed = ops_.input("prompt", tokens);
  c.last = c.last_row = ops_.input("prompt.last", last);
  Stream x{target_.embed(ops_, c.fed)};
  TargetStates states = target_pass(ops_, target_, method_, x, ops_.pass({c.rows, fresh.slots}));
  c.auxiliary_states = std::move(states.auxiliary);
  const Tensor logits = target_.logits(ops_, ops_.gather(states.normed, c.last));
  c.logits = logits;
  // A row's position follows from the tail that it attends to, as committed lengths are still 0.
  c.bonus = fresh.sampling.greedy() ? ops_.argmax(logits)
                                    : Tensor(ops_.sample(logits, fresh.slots, fresh.sampling, 0).tokens);
  c.path = ops_.input("prompt.path", identity);
  c.next = ops_.gather(ops_.concat_rows({c.fed, c.bonus}), ops_.input("prompt.after", after));
  ops_.phase = Phase::draft;
  method_.extend(ops_, fresh, c);
  finish(fresh, c, ops_.input("prompt.sizes", sizes));

  session_.text.insert(session_.text.end(), fresh.text.begin(), fresh.text.end());
  session_.lengths.insert(session_.lengths.end(), fresh.lengths.begin(), fresh.lengths.end());
  session_.ids.insert(session_.ids.end(), ids.begin(), ids.end());
  view(session_, session_.sequences + b);
  now_ = &session_;
}

void Generator::leave(int slot) {
  const auto to = at(slot), from = at(session_.sequences - 1);
  check(slot >= 0 && to <= from, "leave: no such batch slot");
  free_kv_slots_.push_back(kv_slot_[to]);
  if (to != from) {
    ops_.phase = Phase::commit;
    ops_.move_slot(session_.sequences - 1, slot);
    ops_.flush(false);
    session_.text[to] = std::move(session_.text[from]);
    session_.lengths[to] = session_.lengths[from];
    session_.ids[to] = session_.ids[from];
    kv_slot_[to] = kv_slot_[from];
  }
  session_.text.pop_back();
  session_.lengths.pop_back();
  session_.ids.pop_back();
  kv_slot_.pop_back();
  view(session_, session_.sequences - 1);
}

std::vector<int> Generator::step() {
  Session& s = session_;
  ops_.phase = Phase::draft;
  const Proposal p = method_.propose(ops_, s);
  verified_rows_ = p.rows.each;
  ops_.phase = Phase::verify;
  const PassRef pass = ops_.pass({p.rows, s.slots, p.tree_mask});
  Stream x{p.hidden ? *p.hidden : target_.embed(ops_, p.tokens)};
  Committed c;
  c.fed = p.tokens;
  c.rows = ops_.uniform(s.sequences, p.depth + 1);
  TargetStates states = target_pass(ops_, target_, method_, x, pass, p.first_layer);
  c.auxiliary_states = std::move(states.auxiliary);
  const Tensor logits = target_.logits(ops_, states.normed);
  c.logits = logits;
  Tensor counts;
  const auto record_verdict = [&](const VerdictTensors& v) {
    c.path = v.path, c.next = v.next, c.last = v.last, c.last_row = v.last_row, c.bonus = v.bonus;
    counts = v.counts;
  };
  const DraftRows rows{p.tokens, p.parents, p.rows, p.depth};
  if (forced_) {
    std::vector<int> wanted;
    for (const int id : s.ids) wanted.push_back(forced_(id, steps_of_[id]++));
    const Tensor counts_wanted = ops_.input("wanted", wanted);
    c.predicted = ops_.force_accepted(ops_.argmax(logits), rows, counts_wanted, target_.vocabulary());
    ops_.phase = Phase::commit;
    record_verdict(ops_.verify_greedy(*c.predicted, rows));
  } else if (p.relaxed) {
    ops_.phase = Phase::commit;
    record_verdict(ops_.verify_relaxed(logits, rows, s.sampling, *p.relaxed));
  } else if (s.sampling.greedy()) {
    c.predicted = ops_.argmax(logits);
    ops_.phase = Phase::commit;
    record_verdict(ops_.verify_greedy(*c.predicted, rows));
  } else {
    ops_.phase = Phase::commit;
    const AcceptRule rule = p.rule.value_or(p.q ? AcceptRule::independent : AcceptRule::target_draw);
    record_verdict(ops_.verify_sampled(logits, rows, p.q, rule, s.slots, s.sampling));
  }
  if (p.tree_mask) target_.commit(ops_, c.path, p.rows, s.slots, counts);  // a chain lies in place already
  ops_.phase = Phase::draft;
  method_.extend(ops_, s, c);
  return finish(s, c, counts);
}

// Ends a prefill or a step with its only host read, and appends the emitted tokens to the texts.
std::vector<int> Generator::finish(Session& s, const Committed& c, Tensor counts) {
  ops_.phase = Phase::commit;
  ops_.store(s.root, c.bonus);
  ops_.advance(s.slots.lengths, counts);
  const int n = c.next.rows, b = s.sequences;
  const Tensor out = ops_.persistent("emitted", n + b, 1, DType::int32);
  ops_.store(row_range(out, 0, b), counts);
  ops_.store(row_range(out, b, n), c.next);
  const auto emitted = ops_.decide(
      row_range(out, 0, b), [](std::span<const int> raw) { return std::vector<int>(raw.begin(), raw.end()); },
      c.prefill ? c.rows.each : std::vector<int>(at(b), 1));
  const auto tokens = ops_.fetch(row_range(out, b, n));
  std::size_t first = 0;
  for (std::size_t i = 0; i < s.text.size(); ++i) {
    const auto rows = at(c.rows.each[i]), kept = at(emitted[i]);
    for (std::size_t j = c.prefill ? rows - 1 : 0; j < kept; ++j) s.text[i].push_back(tokens[first + j]);
    s.lengths[i] += emitted[i];
    first += rows;
  }
  return emitted;
}

std::vector<Generated> generate(Generator& generator, const std::vector<std::vector<int>>& prompts,
                                const Limits& limits, const std::function<void(std::size_t)>& progress) {
  std::vector<Generated> done;
  generate(generator, prompts, limits, progress, done);
  return done;
}

void generate(Generator& generator, const std::vector<std::vector<int>>& prompts, const Limits& limits,
              const std::function<void(std::size_t)>& progress, std::vector<Generated>& done) {
  done.assign(prompts.size(), {});
  std::vector<std::size_t> prompt_of;  // the index of the prompt in each batch slot
  std::size_t finished = 0;
  int next = 0;
  const auto ends = [&](const std::vector<int>& text, std::size_t from) {
    return std::find_first_of(text.begin() + from, text.end(), limits.end_of_text.begin(), limits.end_of_text.end());
  };
  while (finished < prompts.size()) {
    std::vector<std::vector<int>> newcomers;
    std::vector<int> ids;
    for (; next < count(prompts) && count(prompt_of) < limits.batch_size; ++next) {
      newcomers.push_back(prompts[at(next)]);
      ids.push_back(next);
      prompt_of.push_back(at(next));
    }
    const bool prefill = !newcomers.empty();
    int tokens = 0;
    if (prefill) {
      generator.join(newcomers, ids);
    } else {
      const auto emitted = generator.step();
      for (std::size_t slot = 0; slot < prompt_of.size(); ++slot) {
        done[prompt_of[slot]].accepted.push_back(emitted[slot]);
        done[prompt_of[slot]].drafted.push_back(generator.verified_rows()[slot] - 1);
      }
      tokens = std::accumulate(emitted.begin(), emitted.end(), 0);
    }
    if (limits.after_turn) limits.after_turn(prefill, tokens);
    for (int slot = count(prompt_of); slot-- > 0;) {
      const auto& text = generator.session().text[at(slot)];
      std::size_t& mine = prompt_of[at(slot)];
      const std::size_t prompt = prompts[mine].size(), most = prompt + at(limits.new_tokens);
      auto end = ends(text, prompt);
      if (end == text.end() && text.size() < most) continue;
      if (end != text.end()) ++end;
      end = std::min(end, text.begin() + (std::min(most, text.size())));
      done[mine].tokens.assign(text.begin() + prompt, end);
      generator.leave(slot);
      mine = prompt_of.back();
      prompt_of.pop_back();
      ++finished;
    }
    if (progress) progress(finished);
  }
}

}  // namespace draftline
