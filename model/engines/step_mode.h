// SPDX-License-Identifier: Apache-2.0
// How an engine runs a step: its passes as one CUDA graph, as graphs between the operations that no graph holds, or
// launched kernel by kernel; and whether the host schedules the next step while the device computes. It depends on the
// engine's version, the method, the network and the server's options. The rules are rows of a profile ("modes",
// docs/reference/engines.md). The cost of a mode follows from the launches that it leaves to the host
// (decoder/priced/engine_time.h).
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/named.h"
#include "core/reader.h"

namespace draftline {

// The graphs of a pass, from the fewest launches saved to the most. Names are vLLM's.
enum class Graphs : std::uint8_t { none, piecewise, full };
inline constexpr NamedValues<Graphs, 3> kGraphs{
    {{"NONE", Graphs::none}, {"PIECEWISE", Graphs::piecewise}, {"FULL", Graphs::full}}};
std::string_view text(Graphs);
inline constexpr std::array<std::string_view, 2> kScheduling{"overlapped", "serial"};

// vLLM's CUDAGraphMode: the graphs of a step whose sequences all have the same number of rows, and of any other step.
struct CudagraphMode {
  Graphs uniform = Graphs::none, mixed = Graphs::none;
  bool operator==(const CudagraphMode&) const = default;
};
inline constexpr NamedValues<CudagraphMode, 5> kCudagraphModes{
    {{"NONE", {Graphs::none, Graphs::none}},
     {"PIECEWISE", {Graphs::piecewise, Graphs::piecewise}},
     {"FULL", {Graphs::full, Graphs::full}},
     {"FULL_DECODE_ONLY", {Graphs::full, Graphs::none}},
     {"FULL_AND_PIECEWISE", {Graphs::full, Graphs::piecewise}}}};
std::string_view text(const CudagraphMode&);

struct StepMode {
  Graphs target = Graphs::none, drafter = Graphs::none;
  Graphs prompts = Graphs::none;  // of a step with prompts, up to Engine::prompt_graphs rows
  bool overlapped = true;         // the host schedules the next step while the device computes
  auto operator<=>(const StepMode&) const = default;
};

// A server's options that change the mode, in the engine's words.
struct ModeOptions {
  bool enforce_eager = false;
  bool eager_drafter = false;  // vLLM: enforce_eager of --speculative-config, or a drafter that is not compiled
  bool tf32 = false;           // vLLM: products in 32 bits take TF32 (VLLM_FLOAT32_MATMUL_PRECISION)
  std::string moe_backend;     // vLLM: library of the experts (model/devices/library_fits.h); empty: the device's own
  std::optional<CudagraphMode> cudagraph_mode;
  std::optional<bool> overlap;       // vLLM: async_scheduling; SGLang: not disable_overlap_schedule
  bool lengths_by_batch = false;     // the draft length changes with the batch
  std::optional<int> largest_graph;  // vLLM: max_cudagraph_capture_size
  double host_speed = 1;             // of a core, relative to that of the profile's host (with_host_speed)
  bool operator==(const ModeOptions&) const = default;
};

// What a mode depends on besides the engine and its options.
struct ModeFacts {
  std::string method = {};     // as the engine names it; empty: plain decoding, or the engine has no such method
  std::string attention = {};  // the library of ordinary attention; empty: another kind
  bool speculating = false;
  bool looks_up = false;  // the host looks drafts up
  bool recurrent = false, experts = false;
  bool uniform = true;          // all sequences of the step have the same number of rows
  int sequences = 1, rows = 1;  // of the step; rows of the target's pass
};

// One row of a profile: the mode, if all conditions hold.
struct ModeRule {
  std::string mode;
  std::vector<std::string> methods, attention;
  std::optional<bool> speculating, looks_up, recurrent, experts, lengths_by_batch, requested;
  bool refuses = false;
  std::string because;

  bool holds(const ModeFacts&, const ModeOptions&) const;
};

// In each list the first row that holds is used. Without one: the graphs that the profile has, and overlap.
struct EngineModes {
  std::vector<ModeRule> cudagraph_mode;  // the default where the server gives none
  std::vector<ModeRule> target;          // the most graphs of the target's pass
  std::vector<ModeRule> mixed;           // the same in a step whose sequences have different numbers of rows
  std::vector<ModeRule> drafter;         // the most graphs of a drafter's pass
  std::vector<ModeRule> scheduling;      // "overlapped" or "serial"
};

const ModeRule* first_rule(const std::vector<ModeRule>&, const ModeFacts&, const ModeOptions&);  // null: none holds
Graphs graphs_of(const ModeRule*);                                                               // full without a rule

// Reads "modes" of a profile. Names of rows that are guesses are added to `guesses`.
EngineModes read_engine_modes(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
