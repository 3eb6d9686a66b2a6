// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine_fields.h"

#include <algorithm>
#include <array>

namespace draftline {

namespace engine_rows {

using E = Engine;
using Prior = ServedPrior;
using Shape = ServedPrior::Shape;

constexpr double kMost = 1e6;
constexpr ValueRange kAny, kNumber{0, kMost};

// Which terms runs can tell. A draft pass costs the host, which a busy device hides, or the device, or both: one
// benchmark can't tell them apart, so the one that the profile has is fitted.
bool always(const E&, Speculation) { return true; }
bool never(const E&, Speculation) { return false; }  // by those who ask for it: it takes runs that verify trees
bool with_graphs(const E& e, Speculation) { return e.graphs; }
bool eager(const E& e, Speculation) { return !e.graphs; }
bool speculating(const E&, Speculation s) { return s == Speculation::on; }
bool drafts_on_host(const E& e) { return e.draft_pass_exposed.value <= 0 && e.draft_pass.value > 0; }
bool hidden_drafts(const E& e, Speculation s) { return speculating(e, s) && drafts_on_host(e); }
bool exposed_drafts(const E& e, Speculation s) { return speculating(e, s) && !drafts_on_host(e); }

constexpr double us = 1e-6;
constexpr double kLayer = 10 * us;  // ten kernels, each a microsecond longer or shorter than timed individually
constexpr double kOverlap = 0.15;

// key, member, range, what pays it, meaning, whether a profile needs it; prior: when fitted, scale, runs that tell it
const auto kEngine = std::to_array<EngineField>({
    // each step
    {{"step", &E::step, kAny, "host, each step", "host time of a step for which the device waits"},
     Prior{always, 50 * us, ""}},
    {{"launch_overlap",
      &E::launch_overlap,
      {-1, 1},
      "device, each kernel of a graph",
      "share of a kernel's fixed time, its launch and its start, that overlaps the preceding kernel if a graph "
      "launches "
      "both; negative if kernels of a graph wait longer than kernels timed individually"},
     Prior{with_graphs, kOverlap, "a run of a network with another number of layers, or a speculative run",
           Shape::normal}},
    {{"layer", &E::layer, kAny, "device, each layer beyond its kernels",
      "device time of a layer beyond the times of its individual kernels"}},
    {{"layer_rows", &E::layer_rows, kAny, "device, each layer with several rows",
      "replaces `layer` for a pass with several rows, whose matrix products may use other kernels"}},
    {{"issue", &E::issue, kAny, "host, each launch",
      "host time of a kernel launch outside a graph, with the framework's time"},
     Prior{eager, 0.5 * us, "a run of a network with another number of layers"}},
    {{"record", &E::record, kAny, "host, each op",
      "host time to record an op of a step before the step's first launch"}},
    {{"graph_launch", &E::graph_launch, kAny, "host, each pass",
      "host time to launch a graph: a pass, or each piece of a pass in piecewise mode; without `overlap`, to start "
      "each "
      "segment of a step"}},
    {{"sync", &E::sync, kAny, "host, each blocking read", "time of a blocking read of the device's results"}},
    {{"token", &E::token, kAny, "host, each token", "host time of an emitted token, during which the device waits"},
     Prior{always, 0.5 * us, "runs with larger batches"}},
    {{"front_end", &E::front_end, kAny, "first token, each request",
      "time of a request outside the engine's steps: HTTP, tokenising, its way to the scheduler and back; neither the "
      "device nor other requests wait for it"}},
    {{"bandwidth_share",
      &E::bandwidth_share,
      {0.05, 2},
      "device, memory bandwidth",
      "memory bandwidth of the kernels, as a share of that in the device's fits"},
     Prior{always, 0, "runs with long contexts and large batches", Shape::bandwidth}},
    {{"step_serial", &E::step_serial, kAny, "host, each step without overlap",
      "all host time of a step. It replaces `step`, if larger, where the host does not schedule the next step while "
      "the device computes (\"Modes\"); with overlap, a step takes at least this and its launches"}},
    {{"step_serial_speculating", &E::step_serial_speculating, kAny, "host, each speculating step without overlap",
      "the same of `step_speculating`"}},
    // kernels
    {{"kernels", &E::kernels, kAny, "",
      "library of products, experts and state spaces: the fits that a device's file has for it under `libraries` "
      "replace the others "
      "of the file. Empty, or not measured on the device: the others, mostly of vLLM's kernels. Kernels that unpack "
      "4-bit weights (Marlin's, of vLLM and SGLang) hold for no other library"}},
    // kernels that multiply row by row
    {{"row_work", &E::row_work, kNumber, "device, each weight of a product",
      "arithmetic of kernels that multiply row by row: pairs of rows and operations at the device's fp32 rate, between "
      "which other rows are interpolated; its time and that of the weights' bytes combine as the root of the sum of "
      "their squares"}},
    {{"few_rows",
      &E::few_rows,
      {1, 1 << 20},
      "",
      "largest number of rows for which the engine has such kernels; products of more rows have the device's fit. "
      "None: "
      "all products"}},
    {{"pair_work", &E::pair_work, kNumber, "device, each query-key pair and column of a query head",
      "arithmetic of attention, in operations at the device's fp32 rate; it combines with attention's time as "
      "`row_work` with the weights' bytes"}},
    // graphs
    {{"graphs", &E::graphs, kAny, "",
      "passes are replayed as graphs, by the rules of \"Modes\"; otherwise the host launches each kernel, at `issue`"}},
    {{"overlap", &E::overlap, kAny, "", "host and device work concurrently; otherwise their times add up"}},
    {{"graph_sizes",
      &E::graph_sizes,
      {1},
      "device, each pass",
      "numbers of rows for which graphs were captured; rows are padded to the next of these numbers, and larger passes "
      "run without graphs"}},
    {{"graphs_by_sequence", &E::graphs_by_sequence, kAny, "",
      "a graph is large enough if `graph_sizes` reach the number of sequences, whatever their rows"}},
    {{"prompt_graphs",
      &E::prompt_graphs,
      {0, 1 << 20},
      "host, each step with prompts",
      "largest number of rows, including those of decoding sequences, of a step with prompts that is replayed as a "
      "graph; in larger steps each kernel is launched at `issue`. None: all steps are replayed"}},
    // speculation
    {{"step_speculating", &E::step_speculating, kAny, "host, each speculating step",
      "replaces `step` for a step that speculates, at least `step`: all host work if speculation prevents overlap"},
     Prior{.fitted = speculating, .scale = 50 * us, .other_runs = "plain runs", .beyond = &E::step}},
    {{"search", &E::search, kAny, "host, each sequence and step",
      "host time per sequence to search a suffix tree for drafts and to update the tree"}},
    {{"look_up", &E::look_up, kAny, "host, each sequence and step",
      "host time per sequence to look drafts up in its text (n-grams)"}},
    {{"launches_speculating", &E::launches_speculating, kNumber, "host, each speculating step",
      "additional kernels outside graphs in a step that speculates (masks), each at `issue`"}},
    {{"draft_pass", &E::draft_pass, kAny, "host, each draft pass",
      "host time of a draft pass, hidden while the device is busy"},
     Prior{hidden_drafts, 20 * us, "a speculative run with another draft length"}},
    {{"draft_pass_exposed", &E::draft_pass_exposed, kAny, "device waits, each draft pass",
      "time that the device always waits in a draft pass"},
     Prior{exposed_drafts, 20 * us, "a speculative run with another draft length"}},
    {{"layer_tree", &E::layer_tree, kAny, "device, each attention that verifies a tree",
      "additional device time of an attention that verifies a tree instead of a chain: its parts are joined"},
     Prior{never, kLayer, "a run that verifies a chain"}},
    {{"chain",
      &E::chain,
      {1, 64},
      "",
      "the engine verifies only chains: a method that drafts a tree by default drafts this number of tokens, with a "
      "note (`\"tree\": \"default\"` keeps the tree). None: it verifies trees"}},
    {{"shards_drafts", &E::shards_drafts, kAny, "",
      "draft networks are divided among the target's ranks if the ranks divide their heads"}},
    // device memory besides weights, KV cache and activations
    {{"sampler_copies",
      &E::sampler_copies,
      {0, 100},
      "device memory",
      "copies of the logits of `max_num_seqs` rows, in 32 bits, while the engine profiles sampling at its start"}},
    {{"expert_buffers", &E::expert_buffers, kAny, "device memory",
      "the buffers of a layer's experts are kept while the engine samples"}},
    {{"runtime_memory", &E::runtime_memory, kAny, "device memory",
      "libraries and buffers outside the framework's pool, on one device or on several connected by PCIe"}},
    {{"runtime_memory_nvlink", &E::runtime_memory_nvlink, kAny, "device memory",
      "replaces `runtime_memory` for several devices connected by NVLink, at least `runtime_memory`"}},
    // networks with recurrent states
    {{"state_prefixes", &E::state_prefixes, kAny, "",
      "prefixes of networks with recurrent states are cached, in units of tokens: a unit's keys and values in a layer "
      "of "
      "attention take at least the bytes of a layer's state. A drafter that reads hidden states (EAGLE, MTP) needs the "
      "last unit again"}},
    {{"state_pool", &E::state_pool, kNumber, "device memory",
      "recurrent states have a pool of their own: its ratio to the memory of keys and values. 0: both share one pool"}},
    {{"states_per_sequence",
      &E::states_per_sequence,
      {1, 1000},
      "device memory",
      "states in that pool for each running sequence: its own and those of cached prefixes"}},
    {{"states_per_sequence_speculating",
      &E::states_per_sequence_speculating,
      {1, 1000},
      "device memory",
      "replaces `states_per_sequence` while the server speculates; each verified row needs one more"}},
});

using C = OpCost;
constexpr std::array<ProfileField<C>, 11> kOp{{
    {"launches", &C::launches, kNumber, "", "kernels launched for the op; 0: fused into a neighbour"},
    {"group_launches", &C::group_launches, kNumber, "",
     "additional kernels if query heads share key heads (`repeat_kv`)"},
    {"host_launches", &C::host_launches, kNumber, "",
     "host work without a kernel (views, small tensors on the CPU), in launches"},
    {"between_graphs", &C::between_graphs, kNumber, "",
     "of `launches`, those that piecewise graphs leave to the host, with its other work in launches; the next op "
     "begins "
     "another graph"},
    {"traffic", &C::traffic, kNumber, "", "ratio of moved to logical bytes, without weights and cache"},
    {"weight_traffic", &C::weight_traffic, kNumber, "",
     "ratio of moved to logical bytes of weights (dequantisation writes and reads them again)"},
    {"cache_traffic", &C::cache_traffic, kNumber, "",
     "extra bytes per byte of KV cache read (`torch.cat` copies the past)"},
    {"group_traffic", &C::group_traffic, kNumber, "",
     "extra bytes per byte of KV cache and per query head of a group that shares a key head (`repeat_kv`)"},
    {"bytes_per_pair", &C::bytes_per_pair, kAny, "",
     "bytes per query-key pair and query head of a score matrix that goes through memory"},
    {"waits", &C::waits, {0, 1000}, "", "blocking reads inside the op (`.item()`)"},
    {"fixed", &C::fixed, kAny, "",
     "for `expert_mlp`: time of a layer of experts, independent of its rows; it replaces the time in the device's "
     "file, which was measured with vLLM"},
}};

using Card = CardLimits;
constexpr std::array<ProfileField<Card>, 5> kCard{{
    {"memory", &Card::memory, kAny, "", "the row applies to cards with at least this memory"},
    {"compute_capability", &Card::compute_capability, kAny, "", "only on devices with this capability"},
    {"max_num_seqs", &Card::max_num_seqs, {1, 1 << 16}, "", "limit on concurrent sequences"},
    {"max_num_seqs_speculating",
     &Card::max_num_seqs_speculating,
     {1, 1 << 16},
     "",
     "replaces `max_num_seqs` while the server speculates"},
    {"max_num_batched_tokens", &Card::max_num_batched_tokens, {1, 1 << 20}, "", "largest number of rows in a step"},
}};

using Link = LinkRule;
constexpr std::array<ProfileField<Link>, 5> kLink{{
    {"library", &Link::library, kAny, "", "the library that is called if all conditions of the row hold", true},
    {"ranks", &Link::ranks, {2, 1024}, "", "only for these numbers of ranks"},
    {"below", &Link::below, kAny, "", "only for messages smaller than this; `up_to`: at most this size"},
    {"switched", &Link::switched, kAny, "", "only if NVLink connects every pair of devices"},
    {"compute_capability", &Link::compute_capability, kAny, "", "only on devices with this capability"},
}};

using Mode = ModeRule;
constexpr std::array<ProfileField<Mode>, 10> kMode{{
    {"mode", &Mode::mode, kAny, "", "the mode if all conditions of the row hold", true},
    {"methods", &Mode::methods, kAny, "", "only for these methods, as the engine names them"},
    {"attention", &Mode::attention, kAny, "", "only with these attention libraries"},
    {"speculating", &Mode::speculating, kAny, "", "only if the step speculates, or only if not"},
    {"looks_up", &Mode::looks_up, kAny, "", "only if the host looks drafts up, or only if not"},
    {"recurrent", &Mode::recurrent, kAny, "", "only for networks with recurrent states, or only for others"},
    {"experts", &Mode::experts, kAny, "", "only for networks with experts, or only for others"},
    {"lengths_by_batch", &Mode::lengths_by_batch, kAny, "",
     "only if the draft length changes with the batch, or only if not"},
    {"requested", &Mode::requested, kAny, "", "only if the server's options ask for overlap, or ask for none"},
    {"refuses", &Mode::refuses, kAny, "", "the engine refuses options that ask for another mode"},
}};

using Padding = ExpertPadding;
constexpr std::array<ProfileField<Padding>, 5> kPadding{{
    {"hidden", &Padding::hidden, {1, 1 << 16}, "1", "the hidden size becomes a multiple of this in memory"},
    {"intermediate",
     &Padding::intermediate,
     {1, 1 << 16},
     "1",
     "the intermediate size of a rank becomes a multiple of this in memory"},
    {"rows",
     &Padding::rows,
     {1, 1 << 16},
     "1",
     "the rows of each expert become a multiple of this in products, those of experts without rows too"},
    {"compute_capability", &Padding::compute_capability, kAny, "", "only on devices with this capability"},
    {"below_ranks", &Padding::below_ranks, {1, 1 << 16}, "", "only if fewer devices share the columns of an expert"},
}};

template <class Same>
const EngineField& found(Same same) {
  const auto field = std::find_if(kEngine.begin(), kEngine.end(), same);
  check(field != kEngine.end(), "no such term of an engine");
  return *field;
}

template <int S, int B, int F>
double* number_in(Quantity<S, B, F>& v) {
  return &v.value;
}
double* number_in(double& v) { return &v; }
template <class T>
double* number_in(T&) {
  return nullptr;
}
double& number_of(const EngineField& field, Engine& e) {
  double* number = std::visit([&](auto member) { return number_in(e.*member); }, field.member);
  check(number != nullptr, "only times, bytes and numbers are fitted");
  return *number;
}
Seconds below(const EngineField& field, const Engine& e) {
  return field.prior && field.prior->beyond ? e.*field.prior->beyond : Seconds{};
}

}  // namespace engine_rows

std::string EngineField::title() const {
  return std::string(charged) +
         (prior && prior->beyond ? ", beyond `" + std::string(engine_field(prior->beyond).key) + "`" : "");
}
bool EngineField::adds_to(const EngineField& other) const {
  return prior && prior->beyond && other.member == Member(prior->beyond);
}
double EngineField::value(const Engine& e) const { return engine_rows::number_of(*this, const_cast<Engine&>(e)); }
double EngineField::fitted_value(const Engine& e) const { return value(e) - engine_rows::below(*this, e).value; }
void EngineField::set_fitted_value(Engine& e, double v) const {
  engine_rows::number_of(*this, e) = engine_rows::below(*this, e).value + v;
}

std::span<const EngineField> engine_fields() { return engine_rows::kEngine; }
Engine with_host_speed(Engine e, double speed) {
  for (const EngineField& field : engine_fields())
    if (const auto* time = std::get_if<Seconds Engine::*>(&field.member);
        time != nullptr && field.charged.starts_with("host"))
      e.** time = (1 / speed) * e.**time;
  e.options.host_speed *= speed;
  return e;
}
const EngineField& engine_field(std::string_view key) {
  return engine_rows::found([&](const EngineField& f) { return f.key == key; });
}
const EngineField& engine_field(const EngineField::Member& member) {
  return engine_rows::found([&](const EngineField& f) { return f.member == member; });
}
std::span<const ProfileField<OpCost>> op_fields() { return engine_rows::kOp; }
std::span<const ProfileField<CardLimits>> card_fields() { return engine_rows::kCard; }
std::span<const ProfileField<LinkRule>> link_rule_fields() { return engine_rows::kLink; }
std::span<const ProfileField<ModeRule>> mode_rule_fields() { return engine_rows::kMode; }
std::span<const ProfileField<ExpertPadding>> padding_fields() { return engine_rows::kPadding; }

}  // namespace draftline
