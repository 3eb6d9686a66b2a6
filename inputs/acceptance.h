// SPDX-License-Identifier: Apache-2.0
// How many drafts are accepted, in the forms in which a scenario says it. This file alone knows the forms: what each
// makes of a method's drafts, on average for a prediction and step by step for the simulator.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/reader.h"
#include "inputs/catalogue.h"
#include "methods/method.h"
#include "model/tree_search.h"
#include "trace/draft_outcomes.h"
#include "trace/trace.h"

namespace draftline {

// A method as it was built: what an acceptance is applied to.
struct BuiltMethod {
  const MethodSpec& spec;
  const Method& method;
  int verified_rows = 1;  // of a sequence, in a step
  bool tree() const { return verified_rows > method.depth() + 1; }
};

class Acceptance {
 public:
  struct Rates {  // of each position, given that those before it were accepted
    std::vector<double> conditional;
  };
  struct Rate {  // of every position alike
    double conditional = 0;
  };
  struct MeanLength {  // tokens that a step emits, the bonus included
    double tokens = 1;
  };
  struct Ranks {
    RankAcceptance levels;
  };
  struct Traced {
    std::shared_ptr<const Trace> trace;  // null: it could not be read, and the mistake is noted
    RankAcceptance levels;               // of it, if it holds ranks
  };
  using Form = std::variant<std::monostate, Rates, Rate, MeanLength, Ranks, Traced>;

  Acceptance() = default;  // nothing is known
  explicit Acceptance(Form form, std::string text = {}) : form_(std::move(form)), text_(std::move(text)) {}

  const Form& form() const { return form_; }
  const std::string& text() const { return text_; }  // as the scenario gives it, JSON; "": it gives none
  bool given() const { return !std::holds_alternative<std::monostate>(form_); }
  const Trace* trace() const;           // null: it is of another form
  const RankAcceptance& ranks() const;  // of each level, which optimal trees are made of; empty: not known

  // Tokens that a step emits on average, the bonus included; or why this form says nothing of such drafts.
  std::variant<double, std::string> mean_length(const BuiltMethod&) const;
  // The same step by step, of a method that has a mean length. `from_start`: request i replays prompt i of a
  // trace.
  DraftOutcomes outcomes(const BuiltMethod&, bool from_start) const;

  // Drafts of the longest chain that it speaks of; none: of any.
  std::optional<int> longest_chain() const;
  // For other chains of the same drafter: a mean length holds for one alone, the rate behind it for all.
  Acceptance of_other_lengths(int draft_length) const;

 private:
  Form form_;
  std::string text_;
};

Acceptance read_acceptance(const Reader&, Catalogue&);

// Root paths of ranks of a method's tree, or of a chain that always drafts its best.
std::vector<std::vector<int>> rank_paths(const Method&);

}  // namespace draftline
