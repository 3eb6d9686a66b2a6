// SPDX-License-Identifier: Apache-2.0
// The device time that prompts add to a step. It follows from prices of whole prompts, in tables that are filled on
// demand: eight nodes to a doubling of the tokens, four to a doubling of the context. At a node the price is what a
// prompt of that size costs alone; between nodes prices are linear. Where a node fills the last tile of a GEMM, one
// token more costs another tile, and latent attention has another form; so prices are interpolated from the token
// behind a node to the next node.
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
// of all replicas, and communication exchanges them. The sums over a replica's own devices count too, as a breakdown
// has one figure for all communication.
Seconds shared_time(const StepBreakdown&);

// The host's side of a step.
struct HostTime {
  Seconds alone;  // if the device took none
  Seconds least;  // what of it device work can't hide
};

class ChunkPrices {
 public:
  // Prices a prompt of so many tokens in a step of so many rows.
  using PriceOfPrompt = std::function<StepPrice(int tokens, int rows)>;
  // `prompt_graphs`: the engine's (model/engines/engine), a limit on all rows of a step with prompts; none: no limit.
  explicit ChunkPrices(PriceOfPrompt price, std::optional<int> prompt_graphs = {})
      : price_(std::move(price)), prompt_graphs_(prompt_graphs.value_or(std::numeric_limits<int>::max())) {}

  // The part of the target's pass over so many rows that does not depend on their context: all but attention.
  Seconds gemm_time(int rows);
  // The part of gemm_time() that experts and communication take.
  Seconds shared_time(int rows);
  // The device time of a chunk beyond gemm_time(): attention, and the drafter's pass over it.
  Seconds attention_time(const Chunk&);
  // By how much gemm_time() and shared_time() grow by a chunk of a prompt in a step in which other rows are verified:
  // the mean over the same numbers of rows that the step's own price is a mean over.
  Seconds gemm_growth(const VerifiedRows& others, int tokens) {
    return growth(&ChunkPrices::gemm_time, others, tokens);
  }
  Seconds shared_growth(const VerifiedRows& others, int tokens) {
    return growth(&ChunkPrices::shared_time, others, tokens);
  }
  // The host's side of a step that computes so many rows of prompts alone.
  HostTime host(int rows) { return host_of(replayed(rows)); }
  // How much more the host has to do in a step with prompts than if it were replayed as a graph. `rows`: all rows of
  // the step.
  HostTime extra_host(double rows);

 private:
  struct GemmTime {
    Seconds all, shared;
  };
  struct Prompt {  // of one number of tokens
    std::unique_ptr<StepPrice> price;
    GemmTime gemms;
    std::vector<std::optional<Seconds>> attention;  // by context
  };
  struct Between {  // the prompts whose prices give that of a number of tokens; `low` alone where it has so many
    Prompt &low, &high;
    double share;  // of `high`
  };
  Between between(int tokens);
  Prompt& prompt(int tokens, std::size_t place);
  Seconds growth(Seconds (ChunkPrices::*part)(int rows), const VerifiedRows& others, int tokens);
  bool replayed(double rows) const { return rows <= prompt_graphs_; }
  const HostTime& host_of(bool replayed);
  GemmTime gemms_between(int rows);
  static Seconds attention_at(Prompt&, std::size_t context_node);

  PriceOfPrompt price_;
  int prompt_graphs_;
  std::array<std::optional<HostTime>, 2> hosts_;    // [replayed]
  std::deque<Prompt> prompts_;                      // of each node, and of the token behind it
  std::vector<std::optional<Seconds>> gemm_times_;  // by rows
};

}  // namespace draftline
