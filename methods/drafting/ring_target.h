// SPDX-License-Identifier: Apache-2.0
// Self-speculation over a compressed KV cache (MagicDec, Sadhukhan et al. 2025, section 4): the target drafts a chain
// over `budget` entries of each text and verifies it over the whole one, so that the bytes that drafts read grow with
// the batch, not with the context. The compressed cache is a ring of its own memory, into which the committed rows'
// entries go after every verification. Layers with a window or a recurrent state have nothing to compress: drafts use
// the target's own there.
#pragma once
#include <optional>

#include "methods/table.h"

namespace draftline::methods {

struct Compression {
  int budget = 4096;  // entries of each sequence, committed ones
  int sinks = 0;      // the text's first entries, which always stay
  // How the entries of a prompt are chosen by the attention of its last rows; none: the last entries.
  struct Chosen {
    int window = 32, pool = 5;
  };
  std::optional<Chosen> chosen = {};
};

// A ring for each of the target's caches that hold whole texts, with room for the rows of a step.
std::vector<RingOf> make_rings(Context&, const Compression&);

class RingTarget : public Method {
 public:
  RingTarget(Context&, const Compression&);
  int depth() const override { return length_; }
  const PromptSelection* selection() const override { return selects_ ? &selection_ : nullptr; }
  Proposal propose(Ops&, Session&) override;
  void extend(Ops&, const Session&, const Committed&) override;

 private:
  PromptSelection selection_;
  bool selects_;
  Transformer draft_;
  int length_;
};

// The parameter "budget". A ring has room for the rows of a step and the `staying` entries: small_budget() is the
// mistake of one that has not.
template <class P>
Field<P> budget(Setting<int> P::*member, std::string meaning) {
  return integer("budget", member, 1, 1 << 24, {.meaning = std::move(meaning)});
}
std::optional<Mistake> small_budget(int budget, int draft_length, int staying);
std::optional<Mistake> caches_latents(const Context&);       // which have no keys to compress
inline constexpr int kUsualBudget = 4096, kUsualDrafts = 7;  // of the authors' scripts

}  // namespace draftline::methods
