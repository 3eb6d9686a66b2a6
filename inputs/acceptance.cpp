// SPDX-License-Identifier: Apache-2.0
#include "inputs/acceptance.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "trace/tracing.h"

namespace draftline {

namespace {

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

using Length = std::variant<double, std::string>;

// The plan by which a trace replays the method's drafts, or the reason why it can't.
std::variant<DraftPlan, std::string> replay_plan(const Acceptance::Traced& traced, const BuiltMethod& m) {
  const Trace& trace = *traced.trace;
  const TraceHeader& h = trace.header();
  const Document document = Document::from_text(h.method, "the method of a trace");
  const bool known = methods::find(document.root().at("name").text()) != nullptr;
  std::optional<MethodSpec> recorded = known ? std::optional(MethodSpec(document.root())) : std::nullopt;
  if (recorded && traced.same_drafter) recorded = recorded->with_drafter_of(m.spec);
  const auto compared = [&](const MethodSpec& spec) {
    return traced.borrowable ? spec.as_decoded().without_drafter() : spec.as_decoded();
  };
  const bool as_recorded = recorded && compared(*recorded) == compared(m.spec);
  if (as_recorded && h.steps()) {
    const int drafts = m.method.usual_depth();
    if (h.depth < drafts)  // a recorder notes depth(), the most that the method drafts in any step
      return "the trace contains steps of at most " + std::to_string(h.depth) + " drafts, but the method drafts " +
             std::to_string(drafts);
    return DraftPlan::chain(drafts);
  }
  if (as_recorded && h.lengths()) return DraftPlan::recorded(h);
  if (!h.ranks()) return *trace.refuses(DraftPlan::chain(m.method.usual_depth()));
  if (!recorded || recorded->name() != m.spec.name())
    return "the trace was recorded with " + document.root().at("name").text() + ", not with " +
           std::string(m.spec.name());
  if (!traced.borrowable && !recorded->same_drafter(m.spec))
    return "the trace was recorded with another drafter: " + h.method;
  const auto plan = draft_plan(m.method, m.tree());
  if (!plan) return "a tree that grows with the text can only be replayed from a trace of exactly this method";
  if (const auto why = trace.refuses(*plan)) return *why;
  return *plan;
}

// The conditional acceptance rates that give a distribution of acceptance lengths.
std::vector<double> rates_of(const LengthDistribution& lengths) {
  std::vector<double> rates;
  double left = 1;
  for (int n = 1; n < lengths.longest(); ++n) {
    const double next = left - lengths.probability(n);
    rates.push_back(left > 0 ? std::clamp(next / left, 0.0, 1.0) : 0);
    left = next;
  }
  return rates;
}

Length of_chain(const Acceptance::Rates& r, const BuiltMethod& m) {
  const auto depth = at(m.method.usual_depth());
  if (m.tree()) return "rates per position apply to a chain, not to a tree: give \"mean_length\"";
  if (r.conditional.size() < depth)
    return "fewer rates (" + std::to_string(r.conditional.size()) + ") than drafts (" + std::to_string(depth) + ")";
  return chain_lengths(std::span(r.conditional).first(depth)).mean();
}

Length of_levels(const Acceptance::Ranks& r, const BuiltMethod& m) {
  const auto depth = at(m.method.usual_depth());
  if (m.tree() && m.method.tree() == nullptr)
    return "\"ranks\" apply to a chain or a tree of fixed shape, not to a tree that grows with the text: give "
           "\"mean_length\"";
  if (r.levels.size() < depth)
    return "\"ranks\" have fewer levels (" + std::to_string(r.levels.size()) + ") than the method drafts (" +
           std::to_string(depth) + ")";
  return tree_length(r.levels, rank_paths(m.method));
}

Length within(const Acceptance::MeanLength& l, int depth) {
  if (l.tokens <= depth + 1) return l.tokens;
  return "\"mean_length\" exceeds the longest possible, " + std::to_string(depth + 1) + ": " + std::to_string(depth) +
         (depth == 1 ? " draft" : " drafts") + " and a bonus token";
}

Length replayed(const Acceptance::Traced& t, const BuiltMethod& m) {
  if (!t.trace) return 1.0;
  const auto plan = replay_plan(t, m);
  if (const auto* why = std::get_if<std::string>(&plan)) return *why;
  return t.trace->mean_length(std::get<DraftPlan>(plan));
}

}  // namespace

std::vector<std::vector<int>> rank_paths(const Method& method) {
  std::vector<std::vector<int>> paths;
  if (const RankTree* t = method.tree()) {
    for (int row = 1; row < t->tree.rows(); ++row) {
      paths.emplace_back();
      for (const int above : t->tree.path(row))
        if (above > 0) paths.back().push_back(t->ranks[at(above)]);
    }
  } else {
    for (int n = 1; n <= method.depth(); ++n) paths.emplace_back(at(n), 0);
  }
  return paths;
}

const Trace* Acceptance::trace() const {
  const auto* traced = std::get_if<Traced>(&form_);
  return traced != nullptr ? traced->trace.get() : nullptr;
}

bool Acceptance::borrowable() const {
  const auto* traced = std::get_if<Traced>(&form_);
  return traced != nullptr && traced->borrowable;
}

std::optional<std::string> Acceptance::other_target(const TransformerShape& target) const {
  return trace() != nullptr ? trace()->wrong_target(target) : std::nullopt;
}

const RankAcceptance& Acceptance::ranks() const {
  static const RankAcceptance kUnknown;
  if (const auto* ranks = std::get_if<Ranks>(&form_)) return ranks->levels;
  if (const auto* traced = std::get_if<Traced>(&form_)) return traced->levels;
  return kUnknown;
}

std::variant<DraftAhead, std::string> Acceptance::window(const BuiltMethod& m) const {
  using Window = std::variant<DraftAhead, std::string>;
  const int drafts = m.method.window();
  const auto of_levels = [&](std::size_t levels, const char* what, auto rate) -> Window {
    if (levels < at(drafts))
      return "fewer " + std::string(what) + " (" + std::to_string(levels) + ") than drafts in a window (" +
             std::to_string(drafts) + ")";
    std::vector<double> rates;
    for (std::size_t j = 0; j < at(drafts); ++j) rates.push_back(rate(j));
    return DraftAhead(rates);
  };
  const auto of_mean = [&](double tokens) -> Window {
    if (tokens <= drafts) return DraftAhead::of_mean_length(tokens, drafts);
    return "\"mean_length\" exceeds the longest possible: a window of " + std::to_string(drafts) +
           " that is drafted ahead emits at most " + std::to_string(drafts) + " tokens per step";
  };
  return std::visit(
      Match{[&](std::monostate) -> Window { return DraftAhead::alike(0, drafts); },
            [&](const Rates& r) {
              return of_levels(r.conditional.size(), "rates", [&](auto j) { return r.conditional[j]; });
            },
            [&](const Rate& r) -> Window { return DraftAhead::alike(r.conditional, drafts); },
            [&](const MeanLength& l) { return of_mean(l.tokens); },
            [&](const AcceptedShare&) -> Window {
              return "\"accepted_share\" does not apply to a method that drafts ahead: give \"mean_length\"";
            },
            [&](const Ranks& r) {
              return of_levels(r.levels.size(), "levels of \"ranks\"", [&](auto j) { return r.levels[j].front(); });
            },
            [&](const Traced& t) {
              const Length mean = replayed(t, m);
              const auto* tokens = std::get_if<double>(&mean);
              return tokens != nullptr ? of_mean(*tokens) : Window(std::get<std::string>(mean));
            },
            [&](const AcceptanceTable&) -> Window {
              return "a table of rates does not apply to a method that drafts ahead: give \"rates\", \"rate\" or "
                     "\"mean_length\"";
            }},
      form_);
}

// Whether a sequence's chain ends where the drafter is unsure, so that steps verify different numbers of drafts.
static bool stops_early(const BuiltMethod& m) {
  const int usual = m.method.usual_depth();
  return m.method.drafts_of_hit() == 0 && usual > 0 && m.method.answers({usual - 1});
}

static int fewest_drafts(const Method& m) { return m.answers({0}) ? 0 : 1; }

// The usual number of drafts if some step has a number that the method can't verify.
static DraftCounts if_possible(DraftCounts counts, const BuiltMethod& m) {
  const bool possible = std::ranges::all_of(
      counts.shares(), [&](const auto& one) { return one.first <= m.method.depth() && m.method.answers({one.first}); });
  return possible ? counts : DraftCounts();
}

// Whether the trace is one of the method, whatever its parameters.
static bool is_of(const Trace& trace, const BuiltMethod& m) {
  return Document::from_text(trace.header().method, "the method of a trace").root().at("name").text() == m.spec.name();
}

// The distribution with the mean that is given or measured; none: there is no such mean, or the method can't have it.
std::optional<DraftCounts> Acceptance::counts_of_mean(const BuiltMethod& m) const {
  const auto mean = options_.mean_drafts ? options_.mean_drafts : options_.measured_drafts;
  if (!mean || !stops_early(m)) return std::nullopt;
  const int least = fewest_drafts(m.method), depth = m.method.depth(), most = options_.draft_length.value_or(depth);
  if (*mean < least || *mean > most) return std::nullopt;
  return DraftCounts::geometric(DraftCounts::goes_on_with(*mean, least, most), least, depth);
}

std::optional<Acceptance::UsualHits> Acceptance::usual_hits(const BuiltMethod& m) const {
  const int drafts = m.method.drafts_of_hit();
  if (!options_.misses || options_.hit_share || !given() || trace() != nullptr || drafts == 0) return std::nullopt;
  const auto length = mean_length_of_hits(m, 0);
  const auto* tokens = std::get_if<double>(&length);
  if (tokens == nullptr || *tokens > 1 + drafts) return std::nullopt;
  const bool of_hits = std::holds_alternative<AcceptedShare>(form_);  // nothing is drafted in the other steps
  const auto share = [&](double product) {
    return LookUpMisses::hit_share(product, of_hits ? LookUpMisses::of_all(product, *tokens) : *tokens, drafts);
  };
  return UsualHits{share(options_.misses->product),
                   {share(options_.misses->range.high), share(options_.misses->range.low)}};
}

double Acceptance::share_of_form(const BuiltMethod& m) const {
  if (options_.hit_share) return *options_.hit_share;
  return std::holds_alternative<AcceptedShare>(form_) ? usual_hits(m).value_or(UsualHits{}).share : 1;
}

DraftCounts Acceptance::draft_counts(const BuiltMethod& m) const {
  const int hit = m.method.drafts_of_hit(), usual = m.method.usual_depth();
  if (const Trace* t = trace(); t != nullptr && t->has_drafts() && usual > 0 && m.method.answers({usual})) {
    const DraftCounts counts = DraftCounts::of(t->shares_of_drafts());
    if (std::holds_alternative<DraftPlan>(replay_plan(std::get<Traced>(form_), m))) return if_possible(counts, m);
    if (is_of(*t, m)) return if_possible(counts.limited_to(usual), m);  // of a draft policy
  }
  if (m.method.window() > 0) {
    const auto ahead = window(m);
    const auto* known = std::get_if<DraftAhead>(&ahead);
    return known != nullptr ? DraftCounts::of_hits(hit, known->post_verify_share()) : DraftCounts();
  }
  if (hit > 0) {
    const double share = options_.hit_share.value_or(usual_hits(m).value_or(UsualHits{}).share);
    if (share < 1) return DraftCounts::of_hits(hit, share);
  }
  return counts_of_mean(m).value_or(DraftCounts());
}

std::optional<Mistake> Acceptance::wrong_drafts(const BuiltMethod& m) const {
  const std::string name(m.spec.name());
  const bool recorded = trace() != nullptr && trace()->has_drafts();
  if (hit_share() < 1) {
    if (m.method.drafts_of_hit() == 0 || m.method.window() > 0)
      return Mistake{"/hit_share", name + " drafts in every step; only methods that look drafts up have a hit share"};
    if (recorded) return Mistake{"/hit_share", "the trace has the drafts of each step"};
  }
  if (!mean_drafts()) return std::nullopt;
  const auto wrong = [](const std::string& why) { return Mistake{"/mean_drafts", why}; };
  if (!stops_early(m)) return wrong("applies only to methods that stop drafting early; " + name + " does not");
  if (recorded) return wrong("the trace has the drafts of each step");
  const int least = fewest_drafts(m.method), most = options_.draft_length.value_or(m.method.depth());
  if (*mean_drafts() < least) return wrong("must be at least 1: " + name + " verifies a draft in every step");
  if (*mean_drafts() > most) return wrong("must be at most the draft length, " + std::to_string(most));
  if (options_.draft_length) return std::nullopt;
  const double drafts = counts_of_mean(m)->mean();
  const auto length = mean_length(m);
  const auto* tokens = std::get_if<double>(&length);
  if (tokens == nullptr || *tokens <= 1 + drafts + 1e-9) return std::nullopt;
  return wrong(significant(drafts, 3) + " drafts yield at most " + significant(1 + drafts, 3) +
               " tokens per step, fewer than the acceptance's " + significant(*tokens, 3));
}

std::optional<std::string> Acceptance::unknown_drafts(const BuiltMethod& m) const {
  const bool early = stops_early(m), looks_up = m.method.drafts_of_hit() > 0 && m.method.window() == 0;
  const std::string name(m.spec.name());
  if (const auto hits = usual_hits(m)) {
    const auto percent = [](double share) { return std::to_string(std::lround(100 * share)); };
    return name + " finds no draft in some steps, and \"acceptance\" has no \"hit_share\": " + percent(hits->share) +
           " % of the steps are priced with drafts, as the shipped traces have it (" + percent(hits->range.low) +
           " to " + percent(hits->range.high) + " %)";
  }
  if (!given() || !draft_counts(m).usual()) return std::nullopt;
  const std::string priced = "every step is priced with all " + std::to_string(m.method.usual_depth()) + " drafts";
  if (trace() != nullptr && (early || looks_up))
    return "the trace does not have the drafts of each step of " + name + ": " + priced + "; record it again";
  if (early) return name + " stops drafting where it is unsure, and \"acceptance\" has no \"mean_drafts\": " + priced;
  if (looks_up && !options_.hit_share)
    return name + " finds no draft in some steps, and \"acceptance\" has no \"hit_share\": " + priced;
  return std::nullopt;
}

Length Acceptance::mean_length(const BuiltMethod& m, double context) const {
  if (m.method.window() > 0 && given() && trace() == nullptr) {
    const auto ahead = window(m);
    if (const auto* why = std::get_if<std::string>(&ahead)) return *why;
    return std::get<DraftAhead>(ahead).mean_length();
  }
  const Length of_hits = mean_length_of_hits(m, context);
  const auto* tokens = std::get_if<double>(&of_hits);
  if (tokens == nullptr || trace() != nullptr) return of_hits;  // a trace holds the steps without a hit already
  return 1 + share_of_form(m) * (*tokens - 1);
}

Length Acceptance::mean_length_of_hits(const BuiltMethod& m, double context) const {
  const int depth = m.method.usual_depth();
  return std::visit(
      Match{[&](std::monostate) -> Length {
              return "\"acceptance\" is required: {\"rates\": [..]}, {\"per_position\": [..]}, {\"rate\": x}, "
                     "{\"mean_length\": x}, {\"accepted_share\": x}, {\"ranks\": [[..] per level]}, {\"table\": [..]} "
                     "or {\"trace\": FILE}";
            },
            [&](const Rates& r) { return of_chain(r, m); },
            [&](const Rate& r) -> Length {
              if (m.tree()) return "one rate applies to a chain, not to a tree: give \"mean_length\"";
              return iid_chain_length(r.conditional, depth);
            },
            [&](const MeanLength& l) { return within(l, depth); },  //
            [&](const AcceptedShare& s) -> Length {
              if (m.tree()) return "\"accepted_share\" applies to a chain, not to a tree: give \"mean_length\"";
              return mean_length_of(s, depth);
            },
            [&](const Ranks& r) { return of_levels(r, m); },  //
            [&](const Traced& t) { return replayed(t, m); },
            [&](const AcceptanceTable& t) -> Length {
              if (m.tree()) return "a table of rates applies to a chain, not to a tree: give \"mean_length\"";
              if (depth > t.longest())
                return "the table has chains up to " + std::to_string(t.longest()) + ", but the method drafts " +
                       std::to_string(depth);
              return chain_lengths(t.rates(context, depth)).mean();
            }},
      form_);
}

std::vector<double> Acceptance::rates_of_steps(const BuiltMethod& m, double context) const {
  const int depth = m.method.usual_depth();
  const auto drafts = at(depth);
  if (m.method.window() > 0 && given()) {  // each step is drawn from the stationary states
    const DraftAhead ahead = std::get<DraftAhead>(window(m));
    std::vector<double> rates(ahead.pending_rates().begin(), ahead.pending_rates().end());
    rates.front() *= ahead.post_verify_share();
    return rates;
  }
  const auto alike = [&](double rate) { return std::vector<double>(drafts, rate); };
  std::vector<double> rates = std::visit(
      Match{[&](const Rates& r) { return std::vector<double>(r.conditional.begin(), r.conditional.begin() + depth); },
            [&](const Rate& r) { return alike(r.conditional); },
            [&](const MeanLength& l) { return alike(iid_rate(l.tokens, depth)); },
            [&](const AcceptedShare& s) { return alike(iid_rate(mean_length_of(s, depth), depth)); },
            [&](const Ranks& r) { return rates_of(tree_lengths(rank_paths(m.method), r.levels)); },
            [&](const AcceptanceTable& t) { return t.rates(context, depth); },
            [](const auto&) { return std::vector<double>(); }},
      form_);
  if (!rates.empty()) rates.front() *= share_of_form(m);  // without a hit no draft is accepted
  return rates;
}

LengthDistribution Acceptance::lengths(const BuiltMethod& m, double context) const {
  if (trace() == nullptr) return chain_lengths(rates_of_steps(m, context));
  const DraftPlan plan = std::get<DraftPlan>(replay_plan(std::get<Traced>(form_), m));
  std::vector<double> steps;  // [n]: that emit more than n tokens
  for (int prompt = 0; prompt < trace()->prompts(); ++prompt)
    for (const int emitted : trace()->replay(prompt, plan)) {
      if (steps.size() < at(emitted)) steps.resize(at(emitted));
      for (int n = 0; n < emitted; ++n) ++steps[at(n)];
    }
  if (steps.empty()) return chain_lengths({});
  std::vector<double> survival;
  for (std::size_t n = 1; n < steps.size(); ++n) survival.push_back(steps[n] / steps.front());
  return LengthDistribution(survival);
}

DraftOutcomes Acceptance::outcomes(const BuiltMethod& m, bool from_start) const {
  if (trace() != nullptr) {
    const auto plan = replay_plan(std::get<Traced>(form_), m);
    check(std::holds_alternative<DraftPlan>(plan), "a trace that can't be replayed was refused before");
    return DraftOutcomes::from_trace(std::get<Traced>(form_).trace, std::get<DraftPlan>(plan), from_start);
  }
  if (const auto* of_contexts = table(); of_contexts != nullptr && m.method.window() == 0)
    return DraftOutcomes::from_table(*of_contexts, m.method.usual_depth(), hit_share());
  return DraftOutcomes::from_rates(rates_of_steps(m, 0), intraclass_correlation());
}

std::optional<int> Acceptance::longest_chain() const {
  if (const auto* rates = std::get_if<Rates>(&form_)) return count(rates->conditional);
  if (const auto* ranks = std::get_if<Ranks>(&form_)) return count(ranks->levels);
  if (table() != nullptr) return table()->longest();
  if (const Trace* t = trace()) return t->header().ranks() ? t->header().depth : 0;
  return given() ? std::nullopt : std::optional(0);
}

Acceptance Acceptance::of_run(std::optional<double> drafts) const {
  Options of_run = options_;
  of_run.measured_drafts = drafts;
  return Acceptance(form_, text_, of_run);
}

Acceptance Acceptance::of_other_lengths(int draft_length) const {
  Options of_length = options_;
  of_length.draft_length = draft_length;
  if (!is_mean()) return Acceptance(form_, text_, of_length);
  const auto* share = std::get_if<AcceptedShare>(&form_);
  const double tokens = share != nullptr ? mean_length_of(*share, draft_length) : std::get<MeanLength>(form_).tokens;
  return Acceptance(Rate{iid_rate(tokens, draft_length)}, text_, of_length);
}

}  // namespace draftline
