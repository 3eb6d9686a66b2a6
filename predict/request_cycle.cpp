// SPDX-License-Identifier: Apache-2.0
#include "predict/request_cycle.h"

#include <algorithm>
#include <cmath>

namespace draftline {

namespace {

constexpr double kRounding = 1e-9;  // of counts that are whole but for rounding
int whole_above(double x) { return static_cast<int>(std::ceil(x - kRounding)); }

// The prompt's attention and the drafter's pass over it, in equal pieces.
Seconds rest_of_prompt(ChunkPrices& chunks, const LoopedRequests& r, int pieces) {
  Seconds rest;
  const auto end = [&](int piece) { return static_cast<int>(std::int64_t{r.prompt_tokens} * piece / pieces); };
  for (int i = 0; i < pieces; ++i) rest += chunks.rest({end(i + 1) - end(i), r.cached_tokens + end(i)});
  return rest;
}

}  // namespace

// Prompts that join decode steps. All tokens of a cycle must fit the budgets of its steps.
static RequestSteps mixed_steps(const LoopedRequests& r, double budget) {
  const double decode_steps = r.decode_steps, batch = r.batch_size, prompt = r.prompt_tokens;
  const double own_steps = std::ceil(prompt / (budget - (batch - 1) * r.rows));
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
  if (r.prompts_apart) return steps_apart(r, budget);
  // A batch whose rows alone fill the budget would never compute a prompt; half of the budget stays for prompts.
  return mixed_steps(r, std::max(budget, 2.0 * r.batch_size * r.rows));
}

RequestCycle request_cycle(const LoopedRequests& r, const std::function<DecodeStep(int sequences)>& decode,
                           ChunkPrices& chunks) {
  const RequestSteps s = steps_of_request(r);
  const int others = whole_above(s.decoding), tokens = std::max(1, static_cast<int>(std::lround(s.chunk)));
  const int pieces = std::min(r.prompt_tokens, whole_above(std::max(1.0, r.prompt_tokens / s.chunk)));
  const HostTime alone = chunks.host(tokens);
  const DecodeStep beside = others > 0 ? decode(others) : DecodeStep{alone.alone, alone.alone - alone.least};
  const HostTime more = others > 0 ? chunks.beyond_graphs(mean_rows(beside.rows) + tokens) : HostTime{};
  const Seconds prompts =
      chunks.added(beside.rows, tokens) + more.least + s.chunk / r.prompt_tokens * rest_of_prompt(chunks, r, pieces);
  const Seconds longer = std::max(prompts - beside.slack, more.alone - beside.host_slack);
  const Seconds prompt_step = beside.time + std::max(Seconds{}, longer);
  return {.ttft = s.own_steps * prompt_step,
          .e2e = s.plain_steps * decode(r.batch_size).time + s.prompt_steps * prompt_step};
}

}  // namespace draftline
