// SPDX-License-Identifier: Apache-2.0
// The recommendation of `advise` for each setup: the method whose requests gain most, up to which batch, and the draft
// lengths by batch as engines take them.
#pragma once
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "reports/point.h"
#include "sim/advice.h"

namespace draftline {

// Indices of the advices that have no obstacle, setup by setup: first the setups on which something pays, in the order
// of the scenario, because gains of different setups are not comparable. On a setup, methods that surely pay come
// first, then the largest gain over the batches that fit with every method, or at the scenario's load.
std::vector<std::size_t> ranking(const std::vector<Advice>&);

// The batches that all of these advices report.
std::vector<int> common_batches(const std::vector<Advice>& all, const std::vector<std::size_t>& some);

// The first of each setup in a ranking. A setup is device, ranks, transformer, precision, engine and output.
std::vector<std::size_t> best_of_setups(const std::vector<Advice>&, const std::vector<std::size_t>& ranking);

std::string verdict_sentence(const Scenario&, const Advice&);  // "use eagle3, k = 3, up to batch 96; above that ..."
std::string batches_sentence(const Advice&);  // where it pays: "at batch 1 and from batch 12 to 150"; "" if nowhere
// The gains of requests and of decoding at the smallest and the largest batch of the table at which it pays; or "".
// With a drafter's own device also the gain per device, or per price where prices are known.
std::string gain_sentence(const Scenario&, const Advice&);
// Where the scenario assumes several acceptances of this method: a sentence that names the one of the advice, and
// where the method pays with the least favourable; else "".
std::string assumption_sentence(const Scenario&, const std::vector<Advice>&, const std::vector<std::size_t>& ranking,
                                std::size_t advice);
// "h100-sxm, TP 2, llama-3.1-8b in bf16, vllm-0.19, 256 tokens out"
std::string setup_text(const Scenario&, const Point&);
// What requests gain at the load of the scenario; "" without a workload.
std::string load_gain_sentence(const Advice&);
// The fixed draft length that the verdict recommends: the method's own, or where that gains at no batch the best at
// small batches. None of a method without a chain.
std::optional<int> advised_length(const Advice&);
bool pays_at_some_length(const Advice&);

// The members of a verdict in JSON.
void write_verdict(JsonWriter&, const PointInputs&, const Scenario&, const Advice&);

}  // namespace draftline
