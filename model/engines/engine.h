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

// What an engine makes of one logical op. The default is one launch that touches each operand once.
struct OpCost {
  double launches = 1;        // kernels; 0: fused into a neighbour
  double group_launches = 0;  // more kernels, if query heads share a key head (repeat_kv)
  double host_launches = 0;   // host work without a kernel (views, allocations), in launches
  double traffic = 1;         // bytes moved over the logical bytes (weights and cache apart)
  double weight_traffic = 1;  // the same for weights (dequantisation writes and reads them again)
  double cache_traffic = 0;   // extra bytes per byte of cache met (torch.cat copies the past)
  double group_traffic = 0;   // the same, per query head that shares a key head, if more than one does (repeat_kv)
  Bytes bytes_per_pair = {};  // a score matrix that goes through memory, per query head
  int waits = 0;              // blocking reads inside the op (.item())
  // For a layer of experts: the time that it takes however few its rows. It replaces ExpertFit::fixed of the device,
  // which holds for the engine that was measured.
  std::optional<Seconds> fixed = {};
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

struct Engine {
  std::string name, version, source;
  std::string family;        // the engine that this is a profile of, "vllm"; of shipped ones the name
  bool overlap = true;       // else host and device are one thread: their times add up
  bool graphs = false;       // a forward pass is replayed as one graph; else every kernel is issued by the host
  Seconds issue;             // host time per kernel launch, the framework's own included (eager)
  Seconds record;            // host time per op to find a step's tape, before anything of it is launched
  Seconds graph_launch;      // host time per forward pass (graphs), or per segment (no overlap)
  Seconds step;              // host work per step that the device waits for
  Seconds step_speculating;  // the same while speculating: all of the host's work where it loses its overlap
  Seconds step_searching;    // the same where the host looks drafts up, if that takes it its overlap; 0: it doesn't
  Seconds search;            // host time per sequence to look drafts up in a suffix tree, and to keep the tree
  double launches_speculating = 0;  // eager kernels a step has only while speculating (masks), each at `issue`
  Seconds layer_tree;               // device time of a layer that verifies a tree, beyond a chain's: attention in parts
  Seconds draft_pass;               // host time per draft pass; a device that is behind hides it
  Seconds draft_pass_exposed;       // the device waits so long in each draft pass, however busy it is
  Seconds layer;                    // device time of a layer beyond its kernels timed apart; below 0: graphs save it
  std::optional<Seconds> layer_rows;  // the same of a pass with several rows, where that differs; not below 0
  double bandwidth_share = 1;         // memory bandwidth that kernels reach, of what the device's fits say
  Seconds token;                      // host time per emitted token, serial with the device
  Seconds sync;                       // one blocking read
  std::vector<int> graph_sizes;       // captured row counts: rows are padded up; empty: no padding
  // A step with prompts is replayed as a graph if it has at most so many rows; else its kernels are launched one by
  // one. None: all steps are replayed.
  std::optional<int> prompt_graphs;
  // The engine verifies chains alone, and a drafter that would make a tree drafts a chain of so many tokens. None: the
  // engine verifies trees.
  std::optional<int> chain;
  bool shards_drafts = false;  // divides a draft network among the target's ranks, where nothing else is said
  // Device memory besides weights, KV cache and a pass. `sampler_copies`: how many copies of the logits of max_num_seqs
  // rows, in 32 bits, the engine keeps when it profiles sampling at its start. `runtime_memory`: libraries and buffers
  // outside the framework's pool where a device works alone; `runtime_memory_nvlink`: where several devices sum over
  // NVLink.
  double sampler_copies = 0;
  bool expert_buffers = false;  // those of experts are kept while it samples
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
