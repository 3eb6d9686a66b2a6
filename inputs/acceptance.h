// SPDX-License-Identifier: Apache-2.0
// The acceptance of drafts in the forms of a scenario (docs/explanation/prediction.md). Each form is converted to a
// mean acceptance length for predictions and to random or replayed outcomes for the simulator. No other file depends on
// the forms.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/reader.h"
#include "inputs/catalogue.h"
#include "methods/table.h"
#include "model/acceptance/acceptance.h"
#include "model/acceptance/acceptance_table.h"
#include "model/acceptance/draft_ahead.h"
#include "model/acceptance/draft_counts.h"
#include "model/acceptance/tree_search.h"
#include "trace/draft_outcomes.h"
#include "trace/trace.h"

namespace draftline {

// The method to which an acceptance is applied.
struct BuiltMethod {
  const MethodSpec& spec;
  const Method& method;
  int verified_rows = 1;                                            // per sequence and step
  bool tree() const { return verified_rows > method.depth() + 1; }  // false for a chain
};

class Acceptance {
 public:
  struct Rates {  // acceptance rate of each draft position if all earlier positions are accepted; 0 to 1
    std::vector<double> conditional;
  };
  struct Rate {  // one acceptance rate for all positions, 0 to 1
    double conditional = 0;
  };
  struct MeanLength {  // mean acceptance length, the bonus token included; at least 1
    double tokens = 1;
  };
  struct AcceptedShare {  // accepted drafts over drafts made, as engines print it, 0 to 1; of one draft length
    double of_drafted = 0;
    double mean_length(double drafts) const { return 1 + of_drafted * drafts; }  // the bonus token included
  };
  struct Ranks {
    RankAcceptance levels;  // [levels][ranks]: probability that the target's token has this rank
  };
  struct Traced {
    std::shared_ptr<const Trace> trace;  // null if it can't be read, which is noted as a mistake
    RankAcceptance levels;               // shares of ranks in the trace; empty if it has no ranks
    bool same_drafter = false;  // the trace's drafter has the same weights as the method's, whatever their names
    bool borrowable = false;    // whether it may stand for the acceptance of another target and drafter
  };
  // An acceptance is unknown, one of the forms above, or a table of a chain's rates by context and draft length.
  using Form = std::variant<std::monostate, Rates, Rate, MeanLength, AcceptedShare, Ranks, Traced, AcceptanceTable>;

  Acceptance() = default;  // unknown
  struct Options {         // which no form depends on
    double intraclass_correlation = 0;
    std::optional<double> hit_share = {};                          // none: it is not given
    std::optional<LookUpMisses> misses = {};                       // without a hit share: those of the method
    std::optional<double> mean_drafts = {}, measured_drafts = {};  // given, and in a file of a run
    std::optional<int> draft_length = {};  // with which these means were measured; none: the method's
  };
  explicit Acceptance(Form form, std::string text = {}) : form_(std::move(form)), text_(std::move(text)) {}
  Acceptance(Form form, std::string text, const Options& options)
      : form_(std::move(form)), text_(std::move(text)), options_(options) {}

  const Form& form() const { return form_; }
  const std::string& text() const { return text_; }  // the scenario's JSON; "" if it gives no acceptance
  bool is_mean() const {                             // of one draft length
    return std::holds_alternative<MeanLength>(form_) || std::holds_alternative<AcceptedShare>(form_);
  }
  bool given() const { return !std::holds_alternative<std::monostate>(form_); }
  // For a look-up drafter: the share of a sequence's steps in which it finds a draft. The form describes only these
  // steps; a trace describes all steps.
  double hit_share() const { return options_.hit_share.value_or(1); }
  // For a drafter that stops early: the mean number of drafts that a step verifies; none: it is not given.
  std::optional<double> mean_drafts() const { return options_.mean_drafts; }
  // Why mean_drafts() or hit_share() does not fit the method or the form: none if both do. The pointer is below
  // "acceptance".
  std::optional<Mistake> wrong_drafts(const BuiltMethod&) const;
  // Of the accepted drafts of two steps of a request, for drawn outcomes (model/acceptance/request_acceptance). 0: as
  // of different requests. It changes no mean.
  double intraclass_correlation() const { return options_.intraclass_correlation; }
  const Trace* trace() const;  // null if the form is not a trace
  // Why the trace was not measured on this target: none if it was, or if there is no trace. With borrowable() that is a
  // warning, else a mistake.
  std::optional<std::string> other_target(const TransformerShape&) const;
  bool borrowable() const;
  const RankAcceptance& ranks() const;  // by level, for building optimal trees; empty if unknown

  // The table by context and draft length; null if the form is not a table.
  const AcceptanceTable* table() const { return std::get_if<AcceptanceTable>(&form_); }
  bool by_context() const { return table() != nullptr && table()->by_context(); }

  // The mean acceptance length, the bonus token included; or the reason why this form does not apply to the method.
  // `context`: committed tokens, if by_context().
  std::variant<double, std::string> mean_length(const BuiltMethod&, double context = 0) const;
  std::variant<double, std::string> mean_length_of_hits(const BuiltMethod&, double context = 0) const;
  // The drafts that a sequence verifies in a step: those of a trace's steps, none in steps without a hit or in
  // pre-verify steps (model/acceptance/draft_ahead), or as many as mean_drafts().
  DraftCounts draft_counts(const BuiltMethod&) const;
  // The share of steps in which a look-up drafter finds drafts, where neither a hit share nor a trace is given, and its
  // range: as in the shipped traces of its method. draft_counts() has it; mean_length() is of all steps.
  struct UsualHits {
    double share = 1;
    Interval range = {};
  };
  std::optional<UsualHits> usual_hits(const BuiltMethod&) const;
  // The share of a sequence's steps that the form describes: with a hit share those with drafts, and so for a look-up's
  // accepted share, since it counts drafted tokens.
  double share_of_form(const BuiltMethod&) const;
  // A sentence on why draft_counts() has the most drafts in every step although the method makes fewer in some, or
  // has usual_hits(); none: the number is known.
  std::optional<std::string> unknown_drafts(const BuiltMethod&) const;
  // The distribution of the tokens of one step. Its mean is mean_length(), which must have a value; outcomes() draws
  // each step from it independently. For a mean length it is the distribution of the chain with the single rate that
  // gives this mean; for a trace it is the distribution over its steps.
  LengthDistribution lengths(const BuiltMethod&, double context = 0) const;
  // Outcomes step by step; mean_length() of the same method must have a value. `from_start`: request i replays prompt i
  // of a trace from its first token.
  DraftOutcomes outcomes(const BuiltMethod&, bool from_start) const;

  // The longest chain, in drafts, to which this acceptance applies; none: any.
  std::optional<int> longest_chain() const;
  // The acceptance of chains of other lengths by the same drafter; this acceptance applies to `draft_length`. A mean
  // length or an accepted share is converted to the single rate that gives it.
  Acceptance of_other_lengths(int draft_length) const;
  // The acceptance of a run whose steps verified `drafts` drafts on average; none: the run does not have their number.
  Acceptance of_run(std::optional<double> drafts) const;

 private:
  // The windows of a method that has them, or the reason why this form does not apply. For a trace its mean length
  // is used.
  std::variant<DraftAhead, std::string> window(const BuiltMethod&) const;
  std::optional<DraftCounts> counts_of_mean(const BuiltMethod&) const;
  double mean_length_of(const AcceptedShare& s, int draft_length) const {
    return s.mean_length(mean_drafts().value_or(draft_length));
  }
  // The acceptance rates of the drafts of a step, in order, averaged over all steps, including those without a hit. The
  // form must not be a trace.
  std::vector<double> rates_of_steps(const BuiltMethod&, double context) const;
  Form form_;
  std::string text_;
  Options options_;
};

// Reads the acceptance of the method. Mistakes are noted at the reader. A trace that was recorded with another drafter
// is a mistake unless it is borrowable.
Acceptance read_acceptance(const Reader&, const MethodSpec&, Catalogue&);

// The path of ranks from the root to each node of the method's fixed tree; for a chain, paths of zeros.
std::vector<std::vector<int>> rank_paths(const Method&);

}  // namespace draftline
