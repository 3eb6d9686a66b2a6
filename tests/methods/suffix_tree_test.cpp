// SPDX-License-Identifier: Apache-2.0
// The suffix tree against counting by eye, and the method against its promises.
#include <cmath>

#include "methods/drafting/suffix_tree.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::methods;
using namespace draftline::test;

namespace {

using Texts = std::map<int, std::vector<int>>;

int occurrences(const Texts& texts, const std::vector<int>& of) {
  int n = 0;
  for (const auto& [id, text] : texts)
    for (std::size_t at = 0; at + of.size() <= text.size(); ++at)
      n += std::equal(of.begin(), of.end(), text.begin() + static_cast<std::ptrdiff_t>(at)) ? 1 : 0;
  return n;
}

// What speculate() promises, by counting strings in the texts.
SuffixDraft counted(const Texts& texts, const std::vector<int>& context, int max_depth, const SuffixLimits& limits,
                    int vocabulary) {
  SuffixDraft best;
  for (int match = 1; match <= std::min(static_cast<int>(context.size()), max_depth); ++match) {
    std::vector<int> known(context.end() - match, context.end());
    if (occurrences(texts, known) == 0) break;
    SuffixDraft draft;
    double probability = 1;
    const int most = std::min(limits.max_spec_tokens, static_cast<int>(std::floor(match * limits.max_spec_factor)));
    while (static_cast<int>(draft.tokens.size()) < most && static_cast<int>(known.size()) < max_depth) {
      int token = 0, count = 0;
      for (int t = 0; t < vocabulary; ++t) {
        auto longer = known;
        longer.push_back(t);
        if (const int n = occurrences(texts, longer); n > count) token = t, count = n;
      }
      probability *= static_cast<double>(count) / occurrences(texts, known);
      if (count == 0 || probability < limits.min_token_prob) break;
      draft.tokens.push_back(token);
      draft.score += probability;
      known.push_back(token);
    }
    if (draft.score >= best.score) best = draft;
  }
  return best;
}

}  // namespace

TEST_CASE("a suffix tree drafts what counting strings in its texts drafts, while they grow side by side and leave") {
  std::size_t drafted = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed, "suffixes");
    const int vocabulary = 2 + static_cast<int>(rng.below(4)), depth = 2 + static_cast<int>(rng.below(7));
    const SuffixLimits limits{1 + static_cast<int>(rng.below(6)), 0.5 * static_cast<double>(1 + rng.below(6)),
                              seed % 3 == 0 ? 0 : 0.3};
    SuffixTree tree(depth);
    Texts texts;
    for (int round = 0; round < 40; ++round) {
      const int id = static_cast<int>(rng.below(4));
      if (rng.below(8) == 0) {
        tree.remove(id);
        texts.erase(id);
      } else {
        std::vector<int> more;
        for (auto n = 1 + rng.below(5); n > 0; --n)
          more.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(vocabulary))));
        tree.extend(id, more);
        texts[id].insert(texts[id].end(), more.begin(), more.end());
      }
      std::vector<int> context;
      if (!texts.empty() && rng.below(2) == 0) context = texts.begin()->second;
      else
        for (int i = 0; i < 6; ++i)
          context.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(vocabulary))));
      const SuffixDraft expected = counted(texts, context, depth, limits, vocabulary),
                        got = tree.speculate(context, limits);
      INFO("seed " << seed << ", round " << round);
      REQUIRE(got.tokens == expected.tokens);
      CHECK(got.score == Approx(expected.score));
      drafted += got.tokens.size();
    }
  }
  CHECK(drafted > 2000);
}

TEST_CASE("a draft is at most factor x match long, and stops where it is unlikely") {
  SuffixTree tree(24);
  const std::vector<int> text{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3};  // "1 2 3" ends here too: each token was next in half
  tree.extend(0, text);
  CHECK(tree.speculate(text, {24, 1, 0.1}).tokens == std::vector<int>{4, 5, 6});
  CHECK(tree.speculate(text, {24, 2, 0.1}).tokens == std::vector<int>{4, 5, 6, 7, 8, 1});
  CHECK(tree.speculate(text, {2, 2, 0.1}).tokens == std::vector<int>{4, 5});
  CHECK(tree.speculate(text, {24, 1, 0.1}).score == Approx(1.5));
  CHECK(tree.speculate(text, {24, 1, 0.6}).tokens.empty());
  CHECK(tree.speculate(std::vector{9}, {24, 1, 0.1}).tokens.empty());
}

TEST_CASE("an output is drafted for the next request, if outputs are kept; the text stays the target's") {
  const std::vector<int> prompt{3, 1, 4};
  const auto run = [&](const std::string& parameters) {
    Rig rig({"suffix_decoding", parameters}, Rig::Kind::cpu_planned, 1);
    return rig.run({prompt, prompt}, {12, {}, 1});
  };
  Rig plain({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  const auto expected = texts(plain.run({prompt, prompt}, {12, {}, 1}));
  const auto kept = run(""), forgotten = run(R"(,"max_cached_requests":0)"),
             first_left = run(R"(,"max_cached_requests":1)");
  for (const auto* generated : {&kept, &forgotten, &first_left}) CHECK(texts(*generated) == expected);
  CHECK(kept[1].accepted.size() < kept[0].accepted.size());
  CHECK(kept[0].accepted == forgotten[0].accepted);
  CHECK(forgotten[1].accepted == forgotten[0].accepted);
  CHECK(first_left[1].accepted == forgotten[1].accepted);  // the first output leaves when the second begins
}

TEST_CASE("vLLM's names of its parameters are read, and a step is priced at the longest draft that can be") {
  const auto rows_of = [](const std::string& parameters) {
    Rig rig({"suffix_decoding", parameters}, Rig::Kind::priced, 1);
    const std::vector<std::vector<int>> usual;
    rig.decoder.ops.follow(&usual);
    rig.decoder.generator.assume(1, 8);
    rig.decoder.generator.step();
    return rig.steps.back().back().rows.front().front();
  };
  CHECK(rows_of("") == 13);  // a match of 12 and a draft of 12 fill the depth of 24
  CHECK(rows_of(R"(,"suffix_decoding_max_tree_depth":64,"num_speculative_tokens":20)") == 21);
  CHECK(rows_of(R"(,"suffix_decoding_max_spec_factor":0.5)") == 9);  // 16 and 8
  CHECK(rows_of(R"(,"mean_drafts":5)") == 6);
}
