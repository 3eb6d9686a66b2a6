// SPDX-License-Identifier: Apache-2.0
// Suffix decoding (Oliaro et al. 2025; as vLLM serves it, vllm/v1/spec_decode/suffix_decoding.py): the
// likeliest continuation of the text's end in a suffix tree of its own prompt and output, or in one of all outputs, is
// the draft, a chain of varying length; of the two trees that with the higher score. alpha -> max_spec_factor.
#include <algorithm>

#include "core/int_indexed.h"
#include "methods/drafting/host_rows.h"
#include "methods/drafting/suffix_tree.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct SuffixParameters : Parameters {  // by vLLM's names and defaults
  Setting<int> max_tree_depth = 24, max_cached_requests = 10000;
  Setting<double> max_spec_factor = 1, min_token_prob = 0.1;
  std::optional<int> mean_drafts;
};

SuffixLimits limits_of(const MethodSpec& spec) {
  const auto& p = spec.own<SuffixParameters>();
  return {spec.draft_length().value_or(p.max_tree_depth), p.max_spec_factor, p.min_token_prob};
}

// The longest draft: what a match may have behind it, while both fit in the tree.
int longest_draft(const MethodSpec& spec) {
  const SuffixLimits limits = limits_of(spec);
  const int depth = spec.own<SuffixParameters>().max_tree_depth;
  int longest = 0;
  for (int match = 1; match < depth; ++match)
    longest = std::max(longest, std::min({limits.max_spec_tokens,
                                          static_cast<int>(match * limits.max_spec_factor + 1e-6), depth - match}));
  return longest;
}

// The trees of the sequences in the batch, and that of all outputs so far.
class SuffixCache {
 public:
  explicit SuffixCache(const MethodSpec& spec)
      : p_(spec.own<SuffixParameters>()), limits_(limits_of(spec)), outputs_(p_.max_tree_depth) {}

  void keep(const std::vector<int>& ids) { keep_present(requests_, ids); }

  // `text`: of the prompt and output so far; at first of the prompt and one token.
  std::vector<int> speculate(int id, const std::vector<int>& text) {
    auto known = requests_.find(id);
    if (known == requests_.end() || text.size() <= known->second.taken) {
      known = requests_.insert_or_assign(id, Request{SuffixTree(p_.max_tree_depth), next_output_++}).first;
      known->second.own.extend(0, std::span(text).first(text.size() - 1));
      known->second.taken = text.size() - 1;
      if (p_.max_cached_requests > 0) outputs_.remove(known->second.output - p_.max_cached_requests);
    }
    Request& request = known->second;
    const auto fresh = std::span(text).subspan(request.taken);
    request.own.extend(0, fresh);
    if (request.output > next_output_ - 1 - p_.max_cached_requests) outputs_.extend(request.output, fresh);
    request.taken = text.size();
    const auto context = std::span(text).last(std::min(text.size(), at(p_.max_tree_depth.value)));
    const SuffixDraft own = request.own.speculate(context, limits_), of_all = outputs_.speculate(context, limits_);
    return own.score >= of_all.score ? own.tokens : of_all.tokens;
  }

 private:
  struct Request {
    SuffixTree own;
    int output;             // its number among all outputs; the oldest leave first
    std::size_t taken = 0;  // tokens of the text that are in the trees
  };
  SuffixParameters p_;
  SuffixLimits limits_;
  SuffixTree outputs_;
  int next_output_ = 0;
  std::map<int, Request> requests_;  // by sequence
};

class SuffixDecoding : public Method {
 public:
  explicit SuffixDecoding(Context& c)
      : cache_(c.spec),
        longest_(longest_draft(c.spec)),
        priced_(c.own<SuffixParameters>().mean_drafts.value_or(longest_)) {}
  bool static_plan() const override { return false; }
  int drafts_of_hit() const override { return priced_; }
  int depth() const override { return longest_; }
  int usual_depth() const override { return priced_; }

  Proposal propose(Ops& ops, Session& s) override {
    std::vector<std::vector<int>> drafts(s.ids.size());
    ops.look_up(0, s.sequences);
    cache_.keep(s.ids);
    const auto counts = decide_each(
        ops,
        [&](std::size_t i) {
          drafts[i] = cache_.speculate(s.ids[i], s.text[i]);
          return count(drafts[i]);
        },
        std::vector<int>(drafts.size(), priced_));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      drafts[i].resize(at(counts[i]));  // while pricing there is no text
      rows.add(TokenTree::chain(counts[i]), drafts[i]);
    }
    return rows.proposal(ops, s, "suffix", HostRows::Mask::none);
  }

 private:
  SuffixCache cache_;
  int longest_, priced_;
};

std::optional<Mistake> wrong_lengths(const MethodSpec& spec) {
  const int longest = longest_draft(spec);
  if (longest == 0) return Mistake{"", "\"max_spec_factor\" and \"max_tree_depth\" leave no room for drafts"};
  const auto& mean = spec.own<SuffixParameters>().mean_drafts;
  if (!mean || *mean <= longest) return std::nullopt;
  return Mistake{"/mean_drafts", "must be at most " + std::to_string(longest) + ", got " + std::to_string(*mean)};
}

}  // namespace

Entry suffix_decoding() {
  using P = SuffixParameters;
  return {
      .name = "suffix_decoding",
      .also = {"suffix"},
      .title = "what most often followed the text's end, in a suffix tree of the text and of earlier outputs",
      .source = "oliaro2025suffix",
      .locator = "code: csrc/suffix_decoding/suffix_tree.cc; vLLM pull request 25784",
      .parameters =
          {integer("max_tree_depth", &P::max_tree_depth, 2, 1024,
                   {.meaning = "tokens of a suffix in the tree, at most", .also = "suffix_decoding_max_tree_depth"}),
           number("max_spec_factor", &P::max_spec_factor, 0, 1024,
                  {.meaning = "drafts per matched token, at most", .also = "suffix_decoding_max_spec_factor"}),
           share("min_token_prob", &P::min_token_prob,
                 {.meaning = "a draft ends below this frequency", .also = "suffix_decoding_min_token_prob"}),
           integer("max_cached_requests", &P::max_cached_requests, 0, 1 << 24,
                   {.meaning = "0: no tree of earlier outputs", .also = "suffix_decoding_max_cached_requests"}),
           integer("mean_drafts", &P::mean_drafts, 1, 1024,
                   {.meaning = "drafts that a step with any is priced at",
                    .usual = "the most",
                    .decides = Decides::price})},
      .make = make<SuffixDecoding>,
      .examples = {R"("draft_length": 4, "max_tree_depth": 8, "max_spec_factor": 2, "max_cached_requests": 0)",
                   R"("max_tree_depth": 6, "min_token_prob": 0.6, "max_cached_requests": 0)"},
      .lengths = {.most = 64, .varies_by_default = true, .meaning = "max_tree_depth"},
      .engines = {.vllm = "suffix"},
      .consistent = wrong_lengths};
}

}  // namespace draftline::methods
