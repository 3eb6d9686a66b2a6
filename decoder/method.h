// SPDX-License-Identifier: Apache-2.0
// What a way of drafting must say: propose rows to verify, and take in what was committed. Verification, the cache and the
// loop are shared (decoder/generate), so that losslessness is proved once.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "decoder/ops.h"
#include "decoder/token_tree.h"

namespace draftline {

// Sequences that step together: batch slots first .. first + sequences.
struct Session {
  int first = 0, sequences = 0;
  BatchSlots slots;
  Tensor root;                         // int32 [sequences]: the newest token, not yet in the cache
  std::vector<int> lengths;            // host copy of the committed lengths, for capacity and accounting
  std::vector<int> ids;                // host copy: the sequences' ids
  std::vector<std::vector<int>> text;  // per sequence, root included; meaningless when priced
  Sampling sampling;

  // A method's state, `rows` per sequence.
  Tensor state(Ops& ops, const std::string& name, int rows, int cols, DType dtype) const {
    return row_range(ops.persistent_per_slot(name, rows, cols, dtype), first * rows, sequences * rows);
  }
};

// Rows the target pass takes; the nodes of the verification tree are some or all of them. Row 0 of a sequence is its root.
struct Proposal {
  Rows rows;
  Tensor tokens, parents;                // int32 [total]; parents: row within the sequence, -1 root, -2 not a node
  std::optional<Tensor> tree_mask = {};  // none: a chain
  int depth = 0;                         // drafts on the longest path
  std::optional<Tensor> q = {};          // sampled drafts: their warped distributions [total - sequences, vocabulary]
  std::optional<AcceptRule> rule = {};   // of sampled text; none: independent if there is a q, else target_draw
  std::optional<Relaxed> relaxed = {};   // lossy acceptance, greedy or sampled
  std::optional<Tensor> hidden = {};     // early layers already done (LayerSkip): enter at first_layer
  int first_layer = 0;
};

// What the last target pass added, padded to depth + 1 rows per sequence.
struct Committed {
  Rows rows;
  Tensor path, next;             // [total]: row of the target pass; the token after it. Padding repeats the last
  Tensor last, last_row, bonus;  // [sequences]: last real index in path; its row of the pass; the new root
  Tensor fed;                    // tokens of the pass's rows
  Tensor logits = {};            // of the pass's rows; of the last rows after a prefill
  std::optional<Tensor> predicted = {};         // their argmax; greedy steps only
  std::map<int, Tensor> auxiliary_states = {};  // hidden states of all rows of the pass
  bool prefill = false;
};

class Method {
 public:
  virtual ~Method() = default;
  // Hidden states of the target that extend() wants: layer i = the state that enters it, `layers` = after the final norm.
  virtual std::vector<int> auxiliary_layers() const { return {}; }
  virtual const RankTree* tree() const { return nullptr; }  // if its drafts are ranks of a fixed tree
  virtual int depth() const { return 0; }                   // drafts on the longest path
  virtual int usual_depth() const { return depth(); }       // where it varies: that of the step that is priced
  virtual bool static_plan() const { return true; }         // one tape serves all steps, whatever the text
  virtual int rewrites() const { return 0; }     // newest committed entries of its own caches that the next step writes
  virtual Proposal propose(Ops&, Session&) = 0;  // may decide()
  virtual void extend(Ops&, const Session&, const Committed&) {}  // after prefill and every step; may not decide()
};

// Parents of chains of that many rows, root first: -1 0 1 2, -1 0 ...
std::vector<int> chain_parents(const std::vector<int>& rows_each);

// [root, candidates] of each sequence as a chain of k drafts; candidates [sequences * n, 1], n >= k of each sequence.
Proposal propose_chain(Ops&, const Session&, Tensor candidates, int k);

}  // namespace draftline
