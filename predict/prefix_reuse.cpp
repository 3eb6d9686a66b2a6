// SPDX-License-Identifier: Apache-2.0
#include "predict/prefix_reuse.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "methods/table.h"

namespace draftline {

namespace {

// Drafters that read the target's hidden states need those of the last cached token: vLLM then drops the last block of
// a match (SpeculativeConfig.use_eagle()).
bool reads_hidden_states(const MethodSpec& m) {
  constexpr std::array<std::string_view, 5> kNames{"eagle", "eagle3", "mtp", "dflash", "dspark"};
  return std::ranges::find(kNames, m.entry().engines.vllm) != kNames.end();
}

int unit_tokens(const Setup& s, int drafts, int block_size) {
  const TransformerShape rank = shard(*s.transformer, s.parallel);
  const StateForm form = rank.states().value();
  const Bytes state = bytes_of(form.format, form.elements()) +
                      bytes_of(s.precision.activations, 1.0 * (form.kernel - 1 + drafts) * form.convolved_columns);
  const Bytes block = block_size * bytes_of(s.precision.kv_cache, cached_elements(rank.usual_layer()));
  return block_size * std::max(1, static_cast<int>(std::ceil(state / block)));
}

}  // namespace

bool reuses_prefixes(const Engine& e, const TransformerShape& network) {
  if (!network.states()) return shares_prefixes(network);
  return e.state_prefixes && network.usual_layer().sees_all();
}

std::optional<PrefixReuse> prefix_reuse(const Setup& s, const MethodSpec& m, int block_size) {
  if (!reuses_prefixes(*s.engine, *s.transformer)) return std::nullopt;
  if (!s.transformer->states()) return PrefixReuse{};
  return PrefixReuse{unit_tokens(s, m.drafts(), block_size), reads_hidden_states(m) ? 1 : 0};
}

Setup with_reused_prefix(Setup s, const MethodSpec& m) {
  const int whole = s.shared_prefix.whole_blocks();
  const auto reuse = whole > 0 ? prefix_reuse(s, m) : std::nullopt;
  if (!reuse || reuse->unit == 1) return s;
  s.shared_prefix.tokens = reuse->of(whole);
  if (s.cached_prompt_tokens == whole) s.cached_prompt_tokens = s.shared_prefix.tokens;
  return s;
}

}  // namespace draftline
