// SPDX-License-Identifier: Apache-2.0
// Prompt lookup (Saxena 2023): searches the text for an earlier occurrence of its last s tokens, s from max_ngram down
// to 1, leftmost first. The `draft_length` tokens after it are the drafts, if so many exist.
#include <algorithm>

#include "core/int_indexed.h"
#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// The index at which the continuation starts; none without a match.
std::optional<int> find_continuation(const std::vector<int>& text, int max_ngram, int draft_length) {
  const int size = count(text);
  for (int n = std::min(max_ngram, size - 1); n >= 1; --n)
    for (int i = 0; i + n + draft_length <= size; ++i)
      if (std::equal(text.end() - n, text.end(), text.begin() + i)) return i + n;
  return std::nullopt;
}

struct LookupParameters : Parameters {
  Setting<int> max_ngram = 3;
};

class PromptLookup : public Method {
 public:
  explicit PromptLookup(Context& c) : max_ngram_(c.own<LookupParameters>().max_ngram), length_(c.drafts()) {}
  bool static_plan() const override { return false; }
  int drafts_of_hit() const override { return length_; }
  int depth() const override { return length_; }

  Proposal propose(Ops& ops, Session& s) override {
    std::vector<int> starts(s.ids.size(), 0);
    ops.look_up(s.sequences, 0);
    const auto counts = decide_each(
        ops,
        [&](std::size_t i) {
          const auto start = find_continuation(s.text[i], max_ngram_, length_);
          starts[i] = start.value_or(0);
          return start ? length_ : 0;
        },
        std::vector<int>(starts.size(), length_));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      std::vector<int> drafts;
      for (int j = starts[i]; j < starts[i] + counts[i]; ++j)
        drafts.push_back(j < count(s.text[i]) ? s.text[i][at(j)] : 0);  // while pricing there is no text
      rows.add(TokenTree::chain(counts[i]), drafts);
    }
    return rows.proposal(ops, s, "lookup", HostRows::Mask::none);
  }

 private:
  int max_ngram_, length_;
};

}  // namespace

Entry prompt_lookup() {
  using P = LookupParameters;
  return {.name = "prompt_lookup",
          .also = {"ngram"},
          .title = "what followed the same words earlier in the text",
          .source = "saxena2023",
          .locator = "prompt_lookup_decoding_demo",
          .parameters = {integer("max_ngram", &P::max_ngram, 1, 64,
                                 {.meaning = "the longest run of tokens that is searched for"})},
          .make = make<PromptLookup>,
          .examples = {R"("draft_length": 2, "max_ngram": 2)"},
          .lengths = {.most = 64, .usual = 10},
          .engines = {.vllm = "ngram", .sglang = "NGRAM", .tensorrt_llm = "NGram"}};
}

}  // namespace draftline::methods
