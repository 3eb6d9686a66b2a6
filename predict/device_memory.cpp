// SPDX-License-Identifier: Apache-2.0
#include "predict/device_memory.h"

#include <algorithm>
#include <cmath>

#include "core/quantity_text.h"

namespace draftline {

// The window of a cache that gives back what lies before it.
static std::optional<int> slides(const Cache& c) {
  return c.window.tokens > 0 && !c.window.chunked ? std::optional(c.window.tokens) : std::nullopt;
}

// The bytes of the states of a sequence whose steps verify so many rows: as long as the verdict is out, each row's
// state is kept, whatever the context. The convolution reads the rows before the first of them.
static Bytes state_bytes(const Ops& ops, int rows) {
  Bytes sum;
  for (const StateCache& c : ops.state_caches())
    sum += c.layers * (rows * c.state_bytes() + (c.form.kernel - 2 + rows) * c.row_bytes());
  return sum;
}

// The engine samples once from the logits of as many sequences as may run, when it finds out what is left for its KV
// pool. The vocabulary is whole on every rank, and padded to 64.
static Bytes sampler_memory(const Setup& s, int max_num_seqs, int batched_tokens) {
  const TransformerShape& network = *s.transformer;
  const double vocabulary = 64 * std::ceil(network.vocabulary / 64.0);
  double row = network.hidden;
  if (const Experts* experts = network.experts();
      s.engine->expert_buffers && experts != nullptr) {  // what goes into a product of the experts, and what comes out
    const Experts& e = *experts;
    const double own = 1.0 * e.intermediate / s.parallel.expert_ranks();
    const double columns = e.row_columns(network.hidden), wide = (is_gated(e.kind) ? 2 : 1) * own;
    row += e.per_token * (std::max(own, columns) + std::max(wide, columns));
  }
  return s.engine->sampler_copies * bytes_of(DType::fp32, std::min(max_num_seqs, batched_tokens) * vocabulary) +
         bytes_of(s.precision.activations, batched_tokens * row);
}
// What the engine pads the experts' matrices with.
static Bytes expert_padding(const Setup& s) {
  const LinearFormat& f = s.precision.experts;
  const auto& rules = s.engine->expert_padding;
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const ExpertPadding& p) {
    return p.format.weights == f.weights && p.format.scales == f.scales &&
           p.applies(s.device->links.compute_capability, s.parallel.expert_ranks());
  });
  if (s.transformer->experts() == nullptr || rule == rules.end()) return {};
  const TransformerShape rank = shard(*s.transformer, s.parallel);
  const auto matrix = [&](int in, int out) { return bytes_of(f.weights, 1.0 * in * out) + f.scales.of(in, out); };
  const Experts& experts = *rank.experts();
  const int gates = is_gated(experts.kind) ? 2 : 1;
  const auto expert = [&](int hidden, int intermediate) {
    return matrix(hidden, gates * intermediate) + matrix(intermediate, hidden);
  };
  const auto padded = [](int size, int to) { return (size + to - 1) / to * to; };
  const int hidden = experts.row_columns(rank.hidden), intermediate = experts.intermediate;
  int layers = 0;
  for (int i = 0; i < rank.layers(); ++i) layers += rank.layer(i).experts() != nullptr;
  return 1.0 * layers * experts.stored() *
         (expert(padded(hidden, rule->hidden), padded(intermediate, rule->intermediate)) -
          expert(hidden, intermediate));
}
static Bytes runtime_memory(const Setup& s) {
  return s.parallel.devices > 1 && s.device->links.switched ? s.engine->runtime_memory_nvlink
                                                            : s.engine->runtime_memory;
}

ServerMemory server_memory(Recordings& recordings, const Setup& s, const MethodChoice& m, int max_num_seqs,
                           int batched_tokens) {
  RecordedMethod& r = *recordings.of(s, m);
  MemoryFootprint all{};
  all.weights = r.decoder.target_bytes + expert_padding(s);
  all.draft_weights = r.decoder.weights.bytes() - r.decoder.target_bytes;
  all.activations = std::max(r.activations_of_step(s.replica_sequences()), r.activations_of_prefill(batched_tokens));
  if (s.engine->sampler_copies > 0)
    all.activations = std::max(all.activations, sampler_memory(s, max_num_seqs, batched_tokens));
  all.workspace = runtime_memory(s);
  const bool apart = r.drafter_device != nullptr;
  Bytes per_token, drafters;  // of the caches on the target's devices; of the drafter's, wherever they are
  for (const Cache& c : r.decoder.ops.caches()) {
    const bool targets = r.decoder.target.owns(c);
    if (!targets) drafters += c.layers * c.row_bytes();
    if (targets || !apart) per_token += c.layers * c.row_bytes();
  }
  const Bytes ahead = 1.0 * max_num_seqs * r.method().entries_ahead() * drafters;
  KeptTokens kept;
  kept.all_windowed = all_windowed(*s.transformer);
  for (const Cache& c : r.decoder.ops.caches()) {
    const bool targets = r.decoder.target.owns(c);
    const auto window = slides(c);
    if (window && (!apart || targets)) kept.windows.push_back({*window, c.layers * c.row_bytes() / per_token});
  }
  const Engine& e = *s.engine;
  const int rows = r.slots(s.replica_sequences());
  const Bytes state = state_bytes(r.decoder.ops, 1);
  const bool pool = e.state_pool > 0 && state.value > 0;
  if (!pool) kept.states = state_bytes(r.decoder.ops, rows) / per_token;
  const Bytes weights = all.weights + all.draft_weights;
  ServerMemory memory{.weights = apart ? all.weights : weights,
                      .activations = all.total() - weights + (apart ? Bytes{} : ahead),
                      .per_token = per_token,
                      .kept = std::move(kept)};
  if (pool) {
    const bool speculates = r.method().speculation() == Speculation::on;
    const double states =
        speculates ? e.states_per_sequence_speculating.value_or(e.states_per_sequence) + rows : e.states_per_sequence;
    memory.states = {e.state_pool / (1 + e.state_pool), state, states * state};
  }
  if (apart)
    memory.drafter = {
        s.gpu_memory_utilization * r.drafter_device->device->memory - all.draft_weights - all.activations - ahead,
        drafters};
  return memory;
}

Footprints footprints(const PricedMethod& method, const PricedStep& priced, const Setup& s) {
  const RecordedMethod& r = method.recorded();
  const int sequences = s.replica_sequences();
  MemoryFootprint m;
  m.weights = r.decoder.target_bytes + expert_padding(s);
  m.draft_weights = r.decoder.weights.bytes() - r.decoder.target_bytes;
  const int text = s.prompt_tokens + s.output_tokens;
  for (const Cache& c : r.decoder.ops.caches()) {
    const int kept = std::min(text, slides(c).value_or(text));
    const bool drafters = !r.decoder.target.owns(c);
    const int lookahead = priced.slots + (drafters ? r.method().entries_ahead() : 0);
    const int shared = s.shared_prefix.whole_blocks() - (text - kept);  // of the tokens that are kept
    const double copies = std::max(0, sequences - s.shared_prefix.groups);
    const double slots =
        cached_tokens({sequences, kept, lookahead, CacheLayout::paged, 16, 0}) - copies * std::max(0, shared);
    (drafters ? m.draft_cache : m.cache) += slots * c.layers * c.row_bytes();
  }
  m.cache += sequences * state_bytes(r.decoder.ops, priced.slots);
  m.activations = method.recorded().activations_of_step(sequences);
  if (s.engine->sampler_copies > 0) {
    const SchedulerLimits& limits = method.limits();
    m.activations = std::max(m.activations, sampler_memory(s, limits.max_num_seqs, limits.max_num_batched_tokens));
  }
  m.workspace = runtime_memory(s);
  if (!r.drafter_device) return {m, std::nullopt};
  MemoryFootprint drafter = m;  // the activations of each part are bounded by those of the whole step
  drafter.weights = drafter.cache = {};
  m.draft_weights = m.draft_cache = {};
  return {m, drafter};
}

std::optional<std::string> lacks_memory(const RecordedMethod& r, const Footprints& f, const Setup& s) {
  const double share = s.gpu_memory_utilization;
  const auto lacks = [&](const MemoryFootprint& m, const Device& d, const char* where) -> std::optional<std::string> {
    if (fits(m, d, share)) return std::nullopt;
    return "needs " + to_text(m.total()) + " on " + where + ", " + d.name + " has " + to_text(d.memory) +
           ", of which " + to_text(share * d.memory) + " may be used";
  };
  const auto why = lacks(f.target, *s.device, "each device");
  return why || !f.drafter ? why : lacks(*f.drafter, *r.drafter_device->device, "the drafter's device");
}

}  // namespace draftline
