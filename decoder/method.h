// SPDX-License-Identifier: Apache-2.0
// The interface of a drafting method: it proposes rows to verify and reads the committed rows. Verification, the cache
// and the loop are shared (decoder/generate), so that losslessness is proved once for all methods.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decoder/ops.h"
#include "decoder/ring.h"
#include "decoder/token_tree.h"
#include "model/engines/speculation.h"

namespace draftline {

// Sequences that step together: batch slots first .. first + sequences.
struct Session {
  int first = 0, sequences = 0;
  BatchSlots slots;
  Tensor root;                         // int32 [sequences]: the newest token, not yet in the cache
  std::vector<int> lengths;            // host copy of the committed lengths, for capacity and accounting
  std::vector<int> ids;                // host copy of the sequences' ids
  std::vector<std::vector<int>> text;  // of each sequence, root included; undefined on the priced backend
  Sampling sampling;

  // A persistent buffer of a method's state, [sequences * rows, cols]; each sequence keeps its rows from step to step.
  Tensor state(Ops& ops, const std::string& name, int rows, int cols, DType dtype) const {
    return row_range(ops.persistent_per_slot(name, rows, cols, dtype), first * rows, sequences * rows);
  }
};

// The rows of the target's pass. Some or all of them are nodes of the verification tree; row 0 of a sequence is its
// root.
struct Proposal {
  Rows rows;
  Tensor tokens, parents;                // int32 [total]; parents: row within the sequence, -1 root, -2 not a node
  std::optional<Tensor> tree_mask = {};  // none: a chain
  int depth = 0;                         // drafts on the longest path
  std::optional<Tensor> q = {};          // warped distributions of sampled drafts [total - sequences, vocabulary]
  std::optional<AcceptRule> rule = {};   // for sampled text; none: `independent` if there is a q, else `target_draw`
  std::optional<Relaxed> relaxed = {};   // lossy acceptance, for greedy and sampled text
  std::optional<Tensor> hidden = {};     // states that enter first_layer, if the drafter ran earlier layers (LayerSkip)
  int first_layer = 0;
};

// The rows that the last pass of the target committed, padded to depth + 1 per sequence.
struct Committed {
  Rows rows;
  Tensor path, next;  // [total]: a row of the pass; the token that follows it. Padding repeats the last row
  // [sequences]: the last index in `path` that is not padding; its row of the pass; the new root.
  Tensor last, last_row, bonus;
  Tensor fed;                            // the tokens of the pass's rows
  Tensor logits = {};                    // of all rows of the pass; after a prefill only of each sequence's last row
  std::optional<Tensor> predicted = {};  // the argmax of `logits`, in greedy steps only
  std::map<int, Tensor> auxiliary_states = {};  // hidden states of all rows of the pass
  bool prefill = false;
};

class Method {
 public:
  virtual ~Method() = default;
  // Hidden states of the target that extend() reads: i is the state that enters layer i, `layers` the state after the
  // final norm.
  virtual std::vector<int> auxiliary_layers() const { return {}; }
  // The entries that the target's pass over a prompt copies to the method's rings; null: none.
  virtual const PromptSelection* selection() const { return nullptr; }
  // The tree of ranks, if the drafts are always candidates of these ranks; null otherwise.
  virtual const RankTree* tree() const { return nullptr; }
  virtual int depth() const { return 0; }  // most drafts on a path
  Speculation speculation() const { return speculation_with(depth()); }
  // The longest chain that its trained weights can draft, independent of its draft length; none: any, or unknown.
  virtual std::optional<int> longest_chain() const { return std::nullopt; }
  virtual int usual_depth() const { return depth(); }  // drafts on the longest path of the priced step
  // Whether all steps record the same tape, independent of the text.
  virtual bool static_plan() const { return true; }
  // For a method that looks drafts up and may find none: the number of drafts in the price of a step with a hit. Its
  // single decide() returns this number for each sequence. 0: the method drafts in every step.
  virtual int drafts_of_hit() const { return 0; }
  // The answers to propose()'s calls of decide() if the sequences verify these numbers of drafts; none: they
  // can't verify these numbers, or all steps verify the same number.
  using Answers = std::vector<std::vector<int>>;  // [calls][sequences]
  virtual std::optional<Answers> answers(const std::vector<int>& drafts) const {
    if (drafts_of_hit() == 0) return std::nullopt;
    return Answers{drafts};
  }
  // Whether it drafts for the next step while the target verifies. If not, its drafts await the verification.
  virtual bool drafts_while_verifying() const { return false; }
  // The entries of a sequence in the draft network's cache that such drafts need, besides the rows of the widest pass.
  virtual int entries_ahead() const { return 0; }
  // For a method that drafts its next window behind the present one: the drafts of a window. It drafts in every step,
  // and drafts_of_hit() is the number of verified drafts if all of the previous window was accepted. 0: it has none.
  virtual int window() const { return 0; }
  // Whether it attends to the target's own cache as of the root; positions of a text then can't share this cache.
  virtual bool reads_what_is_committed() const { return false; }
  // The number of newest committed entries of its own caches that the next step rewrites.
  virtual int rewrites() const { return 0; }
  // Records the drafting ops. It may read values on the host through Ops::decide().
  virtual Proposal propose(Ops&, Session&) = 0;
  // Records the method's ops on the committed rows, after a prefill and after every step. It must not call decide().
  virtual void extend(Ops&, const Session&, const Committed&) {}
};

// The parents of chains with these numbers of rows, in sequence, root first: -1 0 1 2, -1 0 ...
std::vector<int> chain_parents(const std::vector<int>& rows_each);

// A chain of k drafts after the root for each sequence. candidates [sequences * n, 1], with n >= k per sequence.
Proposal propose_chain(Ops&, const Session&, Tensor candidates, int k);

}  // namespace draftline
