// SPDX-License-Identifier: Apache-2.0
// The number of accepted drafts of each step of a sequence, drawn from rates or replayed from a trace. The outcome is a
// function of the seed, the request and the position in its output; it does not depend on the draft policy, the batch
// or the thread. Only recorded steps are replayed sequentially.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/acceptance/acceptance_table.h"
#include "model/acceptance/request_acceptance.h"
#include "trace/trace.h"

namespace draftline {

class DraftOutcomes {
 public:
  // The source of a request's outcomes.
  struct Text {
    std::uint32_t key[2] = {0, 0};        // key of random draws
    std::uint32_t prompt = 0, start = 0;  // prompt of the trace; first position in its output
    std::uint32_t step = 0;               // next recorded step
    std::int32_t prompt_tokens = 0;       // of the request, for acceptance that depends on the context
    std::uint8_t* kept = nullptr;         // stored draws by position; null: none
    std::shared_ptr<const std::vector<std::uint64_t>> survival = {};  // the request's own; null: that of all requests
  };

  DraftOutcomes() = default;  // no drafts
  // Random outcomes of a chain. conditional_rates[j], 0 to 1: the probability that draft j is accepted if all earlier
  // drafts are. `intraclass_correlation`, 0 to below 1: of the accepted drafts of two steps of a request
  // (model/acceptance/request_acceptance).
  static DraftOutcomes from_rates(std::span<const double> conditional_rates, double intraclass_correlation = 0);
  // Random outcomes of chains of up to `depth` drafts, by context and draft length. `hit_share`: the share of steps
  // that draft.
  static DraftOutcomes from_table(const AcceptanceTable&, int depth, double hit_share);
  // Replays a trace with a plan that it does not refuse (Trace::refuses). `from_start`: request i replays prompt i from
  // its first token; otherwise each request begins at a random position.
  static DraftOutcomes from_trace(std::shared_ptr<const Trace>, const DraftPlan&, bool from_start);

  int depth() const { return depth_; }  // the largest number of accepted drafts
  // `output_tokens`: the number of positions; with 0 the text's draws are not stored.
  Text text(std::uint64_t seed, std::int64_t request, int prompt_tokens = 0, int output_tokens = 0) const;
  // Whether an outcome depends on the number of drafts, other than being limited by it.
  bool by_length() const { return tables_ != nullptr && tables_->size() > 1; }
  // The number of drafts, 0 to depth(), accepted in the step whose root is output token `position` (from 0), up to the
  // number of drafts. The bonus token is not counted. `drafts`: the draft length; 0: depth().
  int accepted(Text& t, int position, int drafts = 0) const {
    if (tables_) return drawn_from_table(t, position, drafts);
    if (!begin_.empty()) return replayed(t, position);
    if (t.kept == nullptr) return draw(t, position);
    std::uint8_t& known = t.kept[position];
    if (known == kUnknown) known = static_cast<std::uint8_t>(draw(t, position));
    return known;
  }

  // accepted() of each text at its position.
  void accepted(std::span<Text> texts, std::span<const int> positions, int drafts, std::span<int> accepted) const;

  // The probability that each draft is accepted if all earlier drafts are; for a trace, the share of its positions.
  std::vector<double> conditional_rates() const;

  // Stores random outcomes from now on, for further runs with the same seeds. After this call only one thread may use
  // this object and its copies, and a text is valid until a text of the same request is created.
  void keep_draws();

 private:
  static constexpr std::uint8_t kUnknown = 255;
  // Outcomes of texts by position, while there is room; other outcomes are drawn in each run.
  class Kept {
   public:
    std::uint8_t* text(std::uint64_t seed, std::int64_t request, int positions);  // null: no room

   private:
    struct Row {
      std::unique_ptr<std::uint8_t[]> places;
      int size = 0;
    };
    std::map<std::uint64_t, std::vector<Row>> requests_;  // by seed
    std::int64_t room_ = 32 << 20;                        // bytes
  };
  // Survival by context, for chains of one length, or for all chains if outcomes do not depend on the length.
  using OfContexts = std::vector<std::vector<std::uint64_t>>;
  static int drafts_of(std::uint64_t word, const std::vector<std::uint64_t>& survival) {
    int n = 0;
    for (const std::uint64_t s : survival) n += word < s ? 1 : 0;
    return n;
  }
  int draw(const Text&, int position, const std::vector<std::uint64_t>& survival) const;
  const std::vector<std::uint64_t>& survival(const Text& t) const { return t.survival ? *t.survival : survival_; }
  int draw(const Text& t, int position) const { return draw(t, position, survival(t)); }
  int drawn_from_table(const Text&, int position, int drafts) const;
  int replayed(Text&, int position) const;

  int depth_ = 0;
  std::vector<std::uint64_t> survival_;               // [j]: probability times 2^32 that more than j are accepted
  std::vector<std::uint16_t> places_;                 // accepted drafts at each place of a trace; Trace: 1024 at most
  std::vector<std::uint32_t> begin_, places_in_use_;  // of each prompt: first index in places_; number of places
  std::vector<std::uint64_t> tokens_until_;           // emitted at the places in use of this and earlier prompts
  bool recorded_steps_ = false, from_start_ = false;
  std::shared_ptr<const std::vector<OfContexts>> tables_;
  std::shared_ptr<const RequestAcceptance> requests_;  // how requests differ; null: they do not
  std::shared_ptr<Kept> kept_;
};

}  // namespace draftline
