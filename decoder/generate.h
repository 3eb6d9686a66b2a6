// SPDX-License-Identifier: Apache-2.0
// The step of speculative decoding, written once for every method: propose, target pass, verify, commit, extend,
// advance, and one host read. Sequences join and leave between steps; acceptance is ragged within a batch.
#pragma once
#include <cstdint>
#include <functional>

#include "decoder/method.h"
#include "decoder/transformer.h"

namespace draftline {

struct TargetStates {
  Tensor normed;                    // after the final norm, [rows, hidden]
  std::map<int, Tensor> auxiliary;  // the hidden states that the method reads, by layer
};
// Runs the target from `first_layer` on.
TargetStates target_pass(Ops&, const Transformer& target, const Method&, Stream&, PassRef, int first_layer = 0);

// Lengths for sequences that are measured together, shortest first. They vary around `mean`, as on a server. Equal
// lengths would be too fast: a CPU's branch predictor learns the end of a loop of constant length.
std::vector<int> lengths_around(int mean, int sequences);

class Generator {
 public:
  Generator(Ops&, const Transformer& target, Method&, const Sampling& = {});

  // Reads prompts (none of them empty) into the next batch slots and emits the first token of each, while present
  // sequences wait. `ids` select the new sequences' streams of random numbers.
  void join(const std::vector<std::vector<int>>& prompts, const std::vector<int>& ids);
  // Frees a batch slot. The sequence of the last slot moves into it, so that used slots stay contiguous.
  void leave(int slot);
  std::vector<int> step();  // returns the number of tokens that each sequence emits
  const std::vector<int>& verified_rows() const { return verified_rows_; }  // of each sequence in the last step
  // Assumes sequences of this committed length, without a prefill. Only for the priced backend.
  void assume(int batch_size, int length);
  // Makes sequences continue from about this committed length (lengths_around), with the present content of the caches.
  // Their texts are extended or cut at the front. Only for measurements of cost, and not for methods with separate
  // lengths.
  void assume_length(int mean);

  // `emitted`(id, number of steps so far) determines how many tokens each step of a sequence emits. The target still
  // verifies all rows, always with greedy verification. Only for measurements.
  void force_acceptance(std::function<int(int id, int step)> emitted) { forced_ = std::move(emitted); }

  const Session& session() const { return session_; }
  // The session whose ops are being recorded: all sequences, or the joining ones.
  const Session& now() const { return *now_; }

 private:
  void view(Session&, int sequences);
  std::vector<int> finish(Session&, const Committed&, Tensor counts);

  Ops& ops_;
  const Transformer& target_;
  Method& method_;
  Session session_;
  const Session* now_ = &session_;
  std::function<int(int id, int step)> forced_;
  std::map<int, int> steps_of_;  // steps so far by sequence id, counted if acceptance is forced
  std::vector<int> verified_rows_;
  std::vector<int> kv_slot_;  // the KV slot of each batch slot
  std::vector<int> free_kv_slots_;
};

struct Limits {
  int new_tokens = 128;
  std::vector<int> end_of_text;  // ids that end a sequence; the first is kept, later tokens are dropped
  int batch_size = 1;            // most batch slots in use; a waiting prompt joins when a slot is free
  std::function<void(bool prefill, int emitted)> after_turn = {};  // called after every prefill and every step
};
struct Generated {
  std::vector<int> tokens;    // new tokens, end of text included
  std::vector<int> accepted;  // tokens emitted by each step, the bonus token included, before truncation
  // Rows that each step verified, without the root: drafts, or masks of SPACE and the window of lookahead.
  std::vector<int> drafted;
};
// Decodes all prompts. `progress` receives the number of finished prompts after every step.
std::vector<Generated> generate(Generator&, const std::vector<std::vector<int>>& prompts, const Limits&,
                                const std::function<void(std::size_t)>& progress = {});
// Decodes all prompts into `done`, which keeps finished texts even if the device fails.
void generate(Generator&, const std::vector<std::vector<int>>& prompts, const Limits&,
              const std::function<void(std::size_t)>& progress, std::vector<Generated>& done);

}  // namespace draftline
