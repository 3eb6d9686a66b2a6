// SPDX-License-Identifier: Apache-2.0
// The device time that prompts add to a step. It is computed from prices of whole prompts, in tables that are filled on
// demand, with eight nodes per doubling of the tokens and four per doubling of the context. The price at a node is that
// of a prompt of this size alone; between nodes prices are linear. A node may fill the last tile of a GEMM, so that one
// more token costs another tile; latent attention may change its form there. Prices are therefore interpolated from one
// token after a node to the next node.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "predict/expected_step.h"

namespace draftline {

// A part of a prompt that one step computes: `tokens` tokens after `context` tokens that are in the KV cache.
struct Chunk {
  int tokens = 0, context = 0;
};

// Nodes of a context: 0, 64, then four per doubling; those of cell i are i and i + 1.
std::int64_t context_node(std::size_t i);
std::size_t context_cell(std::int64_t length);

// The time of a step's experts and of all its communication. With replicas of the attention, experts compute the rows
// of all replicas, and communication exchanges them. Reductions among the devices of one replica are included, because
// a breakdown has one figure for all communication.
Seconds shared_time(const StepBreakdown&);

// The host's side of a step.
struct HostTime {
  Seconds alone;  // with a device that takes no time
  Seconds least;  // the part that device work can't hide
};

class ChunkPrices {
 public:
  // Prices a prompt of `tokens` tokens in a step of `rows` rows; none: its ops in the mode of a step without prompts.
  using PriceOfPrompt = std::function<StepPrice(int tokens, std::optional<int> rows)>;
  // `prompt_graphs`: the engine's limit on all rows of a step with prompts (model/engines/engine); none: no limit.
  explicit ChunkPrices(PriceOfPrompt price, std::optional<int> prompt_graphs = {})
      : price_(std::move(price)), prompt_graphs_(prompt_graphs.value_or(std::numeric_limits<int>::max())) {}

  // The part of the target's pass over `rows` rows that does not depend on their context: all but attention.
  Seconds gemm_time(int rows);
  // The part of gemm_time() that experts and communication take.
  Seconds shared_time(int rows);
  // The device time of a chunk beyond gemm_time(): attention, and the drafter's pass over it.
  Seconds attention_time(const Chunk&);
  // The growth of gemm_time() and shared_time() when a chunk joins a step that verifies other rows. It is averaged over
  // the same row counts as the step's own price.
  Seconds gemm_growth(const VerifiedRows& others, int tokens) {
    return growth(&ChunkPrices::gemm_time, others, tokens);
  }
  Seconds shared_growth(const VerifiedRows& others, int tokens) {
    return growth(&ChunkPrices::shared_time, others, tokens);
  }
  // The host's side of a step that computes only prompts, with `rows` rows.
  HostTime host(int rows) { return host_of(launching(rows)); }
  // The additional host time of a step with prompts, compared with a step without. `rows`: all rows of the step.
  HostTime extra_host(double rows);

 private:
  struct GemmTime {
    Seconds all, shared;
  };
  struct Prompt {  // a prompt of one length
    std::unique_ptr<StepPrice> price;
    GemmTime gemms;
    std::vector<std::optional<Seconds>> attention;  // by context
  };
  struct Between {  // the two prompts to interpolate between; only `low` if its length is exact
    Prompt &low, &high;
    double share;  // of `high`
  };
  Between between(int tokens);
  Prompt& prompt(int tokens, std::size_t place);
  Seconds growth(Seconds (ChunkPrices::*part)(int rows), const VerifiedRows& others, int tokens);
  // How the ops of a step are launched: as without prompts, from graphs for prompts, or one by one.
  enum class Launching { as_decoding, captured, one_by_one };
  Launching launching(double rows) const {
    if (rows <= 0) return Launching::as_decoding;
    return rows <= prompt_graphs_ ? Launching::captured : Launching::one_by_one;
  }
  const HostTime& host_of(Launching);
  GemmTime gemms_between(int rows);
  static Seconds attention_at(Prompt&, std::size_t context_node);

  PriceOfPrompt price_;
  int prompt_graphs_;
  std::array<std::optional<HostTime>, 3> hosts_;    // by Launching
  std::deque<Prompt> prompts_;                      // for each node, and for one token more
  std::vector<std::optional<Seconds>> gemm_times_;  // by rows
};

}  // namespace draftline
