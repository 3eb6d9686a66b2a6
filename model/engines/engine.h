// SPDX-License-Identifier: Apache-2.0
// The host's side of a step: what a serving engine spends on launches, synchronisation and bookkeeping, and how it cuts
// the logical ops into kernels. Members of Engine and OpCost are keys of a profile (docs/reference/engines.md).
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/devices/attention_library.h"
#include "model/engines/engine_scheduler.h"
#include "model/engines/link_rule.h"
#include "model/transformers/precision.h"

namespace draftline {

// What an engine makes of one logical op, by rows of engine_fields.cpp. The default is one launch that touches each
// operand once.
struct OpCost {
  double launches = 1, group_launches = 0, host_launches = 0;
  double traffic = 1, weight_traffic = 1, cache_traffic = 0, group_traffic = 0;
  Bytes bytes_per_pair = {};
  int waits = 0;
  std::optional<Seconds> fixed = {};  // in place of the device's ExpertFit::fixed; none: the device's holds
  // The cost for attention of `heads` query heads on `kv_heads` key heads: group_* become launches and cache_traffic.
  OpCost of_heads(int heads, int kv_heads) const;
  bool operator==(const OpCost&) const = default;
};

// The sizes to which an engine pads the experts' matrices of one format in memory, as its kernels want them.
struct ExpertPadding {
  LinearFormat format;               // of these weights and scales, whatever the inputs
  std::string compute_capability;    // only on devices that have it (has_capability, link.h)
  int hidden = 1, intermediate = 1;  // both become multiples of these; the intermediate size is a rank's
};

// The terms' meanings, units and defaults are rows of model/engines/engine_fields.cpp.
struct Engine {
  std::string name, version, source;
  std::string family;  // the engine that this is a profile of, "vllm"; of shipped ones the name
  bool overlap = true, graphs = false;
  Seconds issue, record, graph_launch, step, step_speculating, step_searching, search;
  double launches_speculating = 0;
  Seconds layer_tree, draft_pass, draft_pass_exposed, layer;
  std::optional<Seconds> layer_rows;
  double bandwidth_share = 1;
  Seconds token, sync;
  std::vector<int> graph_sizes;             // ascending; empty: rows are not padded
  std::optional<int> prompt_graphs, chain;  // none: no limit of rows; trees are verified
  bool shards_drafts = false;
  double sampler_copies = 0;
  bool expert_buffers = false;
  Bytes runtime_memory, runtime_memory_nvlink;
  std::vector<ExpertPadding> expert_padding;  // the first that holds counts
  EngineScheduler scheduler;
  std::vector<AttentionRule> attention;  // which library attends; empty: not said
  EngineLinks links;                     // of tensor parallelism: which library sums, and how ranks wait for each other
  std::map<std::string, OpCost, std::less<>> ops;  // by op key: "linear", "linear.int8", "draft/rms_norm"
  std::vector<std::string> guesses;                // names of the values that nobody measured: "sync", "ops/commit"
  // The cost by the most specific row: "attention.verify", then "attention", then the default. While drafting, the rows
  // "draft/..." come first, as a drafter's code may have other authors than the target's.
  OpCost cost_of(std::string_view op_key, bool drafting = false) const;
};

Engine read_engine(Reader);

// The engine as it computes a prompt of so many rows.
Engine for_prompt(const Engine&, int rows);

// The op keys that a profile may name, sorted.
std::span<const std::string_view> op_keys();

// Adds the rows of an object like a profile's "ops" to the engine, in place of rows of the same name: what other code
// makes of some ops.
void read_op_costs(Reader ops, Engine&);

// Order of version names, number by number: "0.9" < "0.10" < "0.10.1"; an engine's newest profile is the greatest.
bool version_less(std::string_view a, std::string_view b);

}  // namespace draftline
