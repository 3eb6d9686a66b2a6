// SPDX-License-Identifier: Apache-2.0
// Prompt lookup (Saxena 2023): searches the text for an earlier occurrence of its last s tokens, s from max_ngram down
// to 1, leftmost first. The `draft_length` tokens after it are the drafts, if so many exist.
#include <algorithm>

#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// The index at which the continuation starts; none without a match.
std::optional<int> find_continuation(const std::vector<int>& text, int max_ngram, int draft_length) {
  const int size = static_cast<int>(text.size());
  for (int n = std::min(max_ngram, size - 1); n >= 1; --n)
    for (int at = 0; at + n + draft_length <= size; ++at)
      if (std::equal(text.end() - n, text.end(), text.begin() + at)) return at + n;
  return std::nullopt;
}

class PromptLookup : public Method {
 public:
  PromptLookup(int max_ngram, int draft_length) : max_ngram_(max_ngram), length_(draft_length) {}
  bool static_plan() const override { return false; }
  int drafts_of_hit() const override { return length_; }
  int depth() const override { return length_; }

  Proposal propose(Ops& ops, Session& s) override {
    const auto b = static_cast<std::size_t>(s.sequences);
    std::vector<int> starts(b, 0);
    ops.look_up(0);
    const auto counts = ops.decide(
        {},
        [&](std::span<const int>) {
          std::vector<int> found;
          for (std::size_t i = 0; i < b; ++i) {
            const auto start = find_continuation(s.text[i], max_ngram_, length_);
            starts[i] = start.value_or(0);
            found.push_back(start ? length_ : 0);
          }
          return found;
        },
        std::vector<int>(b, length_));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < b; ++i) {
      std::vector<int> drafts;
      for (int j = 0; j < counts[i]; ++j) {
        const auto at = static_cast<std::size_t>(starts[i] + j);
        drafts.push_back(at < s.text[i].size() ? s.text[i][at] : 0);  // while pricing there is no text
      }
      rows.add(TokenTree::chain(counts[i]), drafts);
    }
    return rows.proposal(ops, s, "lookup", HostRows::Mask::none);
  }

 private:
  int max_ngram_, length_;
};

struct LookupParameters : Parameters {
  Setting<int> max_ngram = 3;
};

}  // namespace

Entry prompt_lookup() {
  using P = LookupParameters;
  return {
      .name = "prompt_lookup",
      .also = {"ngram"},
      .title = "what followed the same words earlier in the text",
      .source = "saxena2023",
      .locator = "prompt_lookup_decoding_demo",
      .lossless = Losslessness::lossless,
      .parameters = ParameterList::of<P>(
          {integer("max_ngram", &P::max_ngram, 1, 64, {.meaning = "the longest run of tokens that is searched for"})}),
      .make =
          made_of<P>([](const P& p, Context& c) { return std::make_unique<PromptLookup>(p.max_ngram, c.drafts()); }),
      .examples = {R"("draft_length": 2, "max_ngram": 2)"},
      .lengths = {.most = 64, .usual = 10},
      .engines = {.vllm = "ngram", .sglang = "NGRAM", .tensorrt_llm = "NGram"}};
}

}  // namespace draftline::methods
