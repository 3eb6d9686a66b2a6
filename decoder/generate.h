// SPDX-License-Identifier: Apache-2.0
// The step, written once for every method: propose -> target pass -> verify -> commit -> extend -> advance, one host read.
// Sequences join and leave between steps; acceptance is ragged within a batch.
#pragma once
#include <cstdint>
#include <functional>

#include "decoder/method.h"
#include "decoder/transformer.h"

namespace draftline {

// The target's own pass from `first_layer` on: states after the final norm, and the auxiliary ones of the method.
Tensor target_pass(Ops&, const Transformer& target, const Method&, Stream&, PassRef, int first_layer,
                   std::map<int, Tensor>& auxiliary_states);

// Lengths of sequences that are measured together, the longest last: on average `mean`, but different, as in a decoder that
// is in use. A CPU learns where loops end that always end at the same place.
std::vector<int> lengths_around(int mean, int sequences);

class Generator {
 public:
  Generator(Ops&, const Transformer& target, Method&, const Sampling& = {});

  // Prompts (not empty) take the next batch slots; the others wait. Every newcomer gets its first token. `ids` name the
  // sequences' random streams.
  void join(const std::vector<std::vector<int>>& prompts, const std::vector<int>& ids);
  void leave(int slot);                     // the last slot moves into the one that leaves: slots in use stay dense
  std::vector<int> step();                  // tokens emitted per sequence
  void assume(int batch_size, int length);  // priced only: sequences of that committed length, without a prefill
  // Where only the cost counts: sequences go on from about that committed length (lengths_around), as if what the caches
  // happen to hold there were theirs. Their texts are repeated, or cut, in front. Not for methods that keep lengths of their
  // own.
  void assume_length(int mean);

  // Measurements alone: what each step emits is asked of `emitted` (a sequence's id, its number of steps so far), not of the
  // target, which still verifies all rows. Verification is greedy then, whatever the method's rule.
  void force_acceptance(std::function<int(int id, int step)> emitted) { forced_ = std::move(emitted); }

  const Session& session() const { return session_; }
  const Session& now() const { return *now_; }  // the session whose ops are being recorded: all, or the newcomers

 private:
  void view(Session&, int sequences);
  std::vector<int> finish(Session&, const Committed&, Tensor counts);

  Ops& ops_;
  const Transformer& target_;
  Method& method_;
  Session session_;
  const Session* now_ = &session_;
  std::function<int(int id, int step)> forced_;
  std::map<int, int> steps_of_;  // by id, where acceptance is forced
  std::vector<int> kv_slot_;     // the KV slot of each batch slot
  std::vector<int> free_kv_slots_;
};

struct Limits {
  int new_tokens = 128;
  std::vector<int> end_of_text;  // ids that end a sequence; the first of them is kept, what follows it is dropped
  int batch_size = 1;            // batch slots in use at once; a new prompt joins as soon as one is free
  std::function<void(bool prefill, int emitted)> after_turn = {};  // told of every prefill and every step
};
struct Generated {
  std::vector<int> tokens;    // new ones, the end of text included
  std::vector<int> accepted;  // emitted per step, the bonus included; before truncation
};
// Decodes all prompts. `progress` is told the number of finished prompts after every step.
std::vector<Generated> generate(Generator&, const std::vector<std::vector<int>>& prompts, const Limits&,
                                const std::function<void(std::size_t)>& progress = {});
// The same; `done` holds what is finished even if the device fails on the way.
void generate(Generator&, const std::vector<std::vector<int>>& prompts, const Limits&,
              const std::function<void(std::size_t)>& progress, std::vector<Generated>& done);

}  // namespace draftline
