// SPDX-License-Identifier: Apache-2.0
#include "predict/request_cycle.h"

#include <algorithm>
#include <cmath>

#include "core/binomial.h"

namespace draftline {

namespace {

constexpr double kRounding = 1e-9;  // of counts that are whole but for rounding
int whole_above(double x) { return static_cast<int>(std::ceil(x - kRounding)); }

// The prompt's attention and the drafter's pass over it, in equal pieces.
Seconds attention_of_prompt(ChunkPrices& chunks, const LoopedRequests& r, int pieces) {
  Seconds attention;
  const auto end = [&](int piece) { return static_cast<int>(std::int64_t{r.prompt_tokens} * piece / pieces); };
  for (int i = 0; i < pieces; ++i) attention += chunks.attention_time({end(i + 1) - end(i), r.cached_tokens + end(i)});
  return attention;
}

}  // namespace

// The steps p that a prompt takes beside the rows of the other batch - 1 sequences. A share d / (d + p) of these
// decodes at a time, as each spends p steps on its own prompt: p (budget - rows of those that decode) = prompt, solved
// for p.
static double prompt_steps_beside(const LoopedRequests& r, double budget) {
  const double d = r.decode_steps, prompt = r.prompt_tokens, room = budget - (r.batch_size - 1) * r.rows,
               b = d * room - prompt;
  return (std::sqrt(b * b + 4 * budget * prompt * d) - b) / (2 * budget);
}

// Prompts that join decode steps. All tokens of a cycle must fit the budgets of its steps; so where verified rows alone
// fill them, sequences wait for others to end.
static RequestSteps mixed_steps(const LoopedRequests& r, double budget) {
  const double decode_steps = r.decode_steps, batch = r.batch_size, prompt = r.prompt_tokens;
  const double own_steps = whole_above(prompt_steps_beside(r, budget));
  const double steps = std::max(decode_steps + own_steps, batch * (prompt + decode_steps * r.rows) / budget);
  const double waits = steps - decode_steps, prompts = std::min(steps, batch * own_steps);
  return {decode_steps, waits, prompts, steps - prompts, batch * prompt / prompts, batch - batch * waits / prompts};
}

// Prompts in steps of their own: of one request where these end one by one, of several where more than one ends a step.
static RequestSteps steps_apart(const LoopedRequests& r, double budget) {
  const double decode_steps = r.decode_steps, batch = r.batch_size, prompt = r.prompt_tokens,
               own_steps = std::ceil(prompt / budget);
  const double prompts =
      own_steps > 1 ? batch * own_steps : std::max(std::min(batch, decode_steps), batch * prompt / budget);
  return {
      decode_steps, std::max(own_steps, prompts / decode_steps), prompts, decode_steps, batch * prompt / prompts, 0};
}

RequestSteps steps_of_request(const LoopedRequests& r) {
  const double budget = r.max_num_batched_tokens;
  return r.prompts_apart ? steps_apart(r, budget) : mixed_steps(r, budget);
}

RequestCycle request_cycle(const LoopedRequests& r, const std::function<DecodeStep(int sequences)>& decode,
                           ChunkPrices& chunks) {
  const RequestSteps s = steps_of_request(r);
  const int tokens = std::max(1, static_cast<int>(std::lround(s.chunk)));
  const int pieces = std::min(r.prompt_tokens, whole_above(std::max(1.0, r.prompt_tokens / s.chunk)));
  const HostTime alone = chunks.host(tokens);
  const Seconds attention = s.chunk / r.prompt_tokens * attention_of_prompt(chunks, r, pieces);
  const Seconds plain_step = decode(r.batch_size).time;
  // The time of a step of a part that computes a chunk beside so many sequences, while `reading` of the parts compute
  // one.
  const auto step_beside = [&](int others, int reading) {
    static const VerifiedRows kNone;
    const DecodeStep beside = others > 0 ? decode(others) : DecodeStep{alone.alone, alone.alone - alone.least};
    const VerifiedRows& rows = beside.rows != nullptr ? *beside.rows : kNone;
    const HostTime more = others > 0 ? chunks.extra_host(mean_rows(rows) + tokens) : HostTime{};
    Seconds prompts = chunks.gemm_growth(rows, tokens) + more.least + attention;
    if (reading < r.parts) {
      const int shared = static_cast<int>((std::int64_t{tokens} * reading + r.parts - 1) / r.parts);
      prompts -= chunks.shared_growth(rows, tokens) - chunks.shared_growth(rows, shared);
    }
    const Seconds longer = std::max(prompts - beside.slack, more.alone - beside.host_slack);
    return beside.time + std::max(Seconds{}, longer);
  };
  const auto step = [&](int reading) {
    if (reading == 0) return plain_step;
    const int fewer = static_cast<int>(s.decoding + kRounding);
    const double share = std::max(0.0, s.decoding - fewer);  // of steps in which one more sequence decodes
    const Seconds time = step_beside(fewer, reading);
    const Seconds mean = share > kRounding ? time + share * (step_beside(fewer + 1, reading) - time) : time;
    return reading < r.parts ? std::max(mean, plain_step) : mean;  // the others decode
  };
  // The mean time of a step in which this part computes prompts, or doesn't, and the others as often as on average.
  const double often = s.prompt_steps / (s.prompt_steps + s.plain_steps);
  const auto step_of = [&](bool prompts) {
    Seconds mean;
    for (const auto& [others, share] : binomial(r.parts - 1, often)) mean += share * step(others + (prompts ? 1 : 0));
    return mean;
  };
  const Seconds prompt_step = step_of(true);
  return {.ttft = s.own_steps * prompt_step, .e2e = s.plain_steps * step_of(false) + s.prompt_steps * prompt_step};
}

}  // namespace draftline
