// SPDX-License-Identifier: Apache-2.0
// The host's side of a step: a serving engine's time for launches, synchronisation and bookkeeping, and its division of
// the logical ops into kernels. Members of Engine and OpCost are keys of a profile (docs/reference/engines.md).
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/interval.h"
#include "core/quantity.h"
#include "core/reader.h"
#include "model/devices/attention_library.h"
#include "model/engines/engine_scheduler.h"
#include "model/engines/link_rule.h"
#include "model/engines/row_work.h"
#include "model/engines/step_mode.h"
#include "model/transformers/precision.h"

namespace draftline {

// What an engine makes of one logical op, by rows of engine_fields.cpp. The default is one launch that touches each
// operand once.
struct OpCost {
  double launches = 1, group_launches = 0, host_launches = 0;
  double between_graphs = 0;  // of the launches, those that piecewise graphs leave out
  double traffic = 1, weight_traffic = 1, cache_traffic = 0, group_traffic = 0;
  Bytes bytes_per_pair = {};
  int waits = 0;
  std::optional<Seconds> fixed = {};  // in place of the device's ExpertFit::fixed; none: the device's holds
  // The cost for attention with `heads` query heads and `kv_heads` key heads: group_* become launches and
  // cache_traffic.
  OpCost of_heads(int heads, int kv_heads) const;
  bool operator==(const OpCost&) const = default;
};

// The multiples to which an engine pads the experts of one format, as its kernels require: their matrices in memory,
// and the rows of each expert in a product (ExpertMlp::row_multiple).
struct ExpertPadding {
  LinearFormat format;               // weights and scales; inputs do not matter
  std::string compute_capability;    // only on devices with this capability (has_capability, link.h)
  std::optional<int> below_ranks;    // only if fewer devices share the columns of an expert; none: any number
  int hidden = 1, intermediate = 1;  // `intermediate` applies to a rank's share
  int rows = 1;
  bool applies(std::string_view capability, int ranks) const;
};

// The terms' meanings, units and defaults are rows of model/engines/engine_fields.cpp.
struct Engine {
  std::string name, version, source;
  std::string family;  // the engine that this is a profile of, "vllm"; of shipped ones the name
  bool overlap = true, graphs = false, graphs_by_sequence = false;
  Seconds issue, record, graph_launch, step, step_speculating, search, look_up;
  Seconds step_serial, step_serial_speculating;
  double launches_speculating = 0;
  Seconds layer_tree, draft_pass, draft_pass_exposed, layer;
  std::optional<Seconds> layer_rows;
  double launch_overlap = 0, bandwidth_share = 1;
  std::vector<std::string> no_launch_overlap_on;  // compute capabilities (has_capability, link.h)
  Seconds token, sync, front_end;
  std::vector<RowWork> row_work;  // empty: products have the device's fit
  double pair_work = 0;
  std::optional<int> few_rows;              // none: all numbers of rows
  std::vector<int> graph_sizes;             // ascending; empty: rows are not padded
  std::optional<int> prompt_graphs, chain;  // none: no limit of rows; trees are verified
  bool shards_drafts = false;
  double sampler_copies = 0;
  bool expert_buffers = false;
  Bytes runtime_memory, runtime_memory_nvlink;
  bool state_prefixes = false;
  double state_pool = 0;
  int states_per_sequence = 1;
  std::optional<int> states_per_sequence_speculating;  // none: states_per_sequence
  std::vector<ExpertPadding> expert_padding;           // the first rule whose conditions hold applies
  EngineScheduler scheduler;
  EngineModes modes;                     // rules for the mode of a step
  ModeOptions options;                   // that a scenario sets
  std::optional<StepMode> mode;          // of the priced step, by in_mode(); none: as `graphs` says
  std::vector<AttentionRule> attention;  // rules for the attention library; empty: unknown
  std::string kernels;                   // library of products and experts (model/devices/library_fits.h); empty: any
  EngineLinks links;                     // tensor parallelism: libraries of collectives, and waiting among ranks
  std::map<std::string, OpCost, std::less<>> ops;  // by op key: "linear", "linear.int8", "draft/rms_norm"
  std::vector<std::string> guesses;                // names of values that were not measured: "sync", "ops/commit"
  // 90 % intervals of measured over predicted time, of causes that are not modelled: of steps, and of what prompts add.
  RatioInterval step_error, prompt_error;
  std::map<std::string, Interval, std::less<>> intervals;  // 90 % intervals of values, by key, in base units
  // The cost by the most specific row: "attention.verify", then "attention", then the default. While drafting, rows
  // "draft/..." take precedence, because a drafter's code may differ from the target's.
  OpCost cost_of(std::string_view op_key, bool drafting = false) const;
  StepMode step_mode() const;
  double launch_overlap_on(std::string_view compute_capability) const;
};

Engine read_engine(Reader);

// The graphs that an engine captures, and the mode in which it runs a step, by its options and rules; and the engine in
// a mode.
CudagraphMode captured_by(const Engine&, const ModeFacts&);
Engine with_largest_graph(Engine, int rows);  // graph_sizes end there: fewer, or more in the same steps as the last two
bool is_captured(const Engine&, int sequences, int rows);  // whether a graph is large enough
StepMode mode_of(const Engine&, const ModeFacts&);
Engine in_mode(Engine, const StepMode&);

// The engine for a network whose all-reduces are fused with norms, which then need no launch of their own
// (links.fused). `row`: of a message.
Engine with_fused_all_reduce(Engine, Bytes row);

// The engine for a step with prompts that has `rows` rows.
Engine for_prompt(const Engine&, int rows);

// The op keys that a profile may name, sorted.
std::span<const std::string_view> op_keys();

// Adds the rows of an object like a profile's "ops" to the engine and replaces rows of the same name, for code that
// implements some ops differently.
void read_op_costs(Reader ops, Engine&);

// Order of version names, number by number: "0.9" < "0.10" < "0.10.1"; an engine's newest profile is the greatest.
bool version_less(std::string_view a, std::string_view b);

}  // namespace draftline
