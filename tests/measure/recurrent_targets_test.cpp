// SPDX-License-Identifier: Apache-2.0
// Checkpoints whose layers keep states, decoded on the CPU: step by step, and by methods that return to earlier states.
#include <algorithm>

#include "decoder/checkpoint/huggingface.h"
#include "decoder/cpu/backend.h"
#include "methods/decoder.h"
#include "tests/catch.h"
#include "tests/decoder/logits_of.h"
#include "tests/source_folder.h"

using namespace draftline;
using draftline::test::kFixtures;

namespace {

using Texts = std::vector<std::vector<int>>;

const Texts kPrompts{{5, 9, 11, 5, 9, 11, 5, 9}, {40, 41, 42, 40, 41}, {7}};

std::vector<Generated> decoded(HuggingFaceFolder& folder, const std::string& method) {
  const Document spec = Document::from_text(method, "--method");
  Decoder decoder(
      {.target = folder.shape(), .slots = 2, .capacity = 256}, MethodSpec(spec.root()),
      [](const NamedNetwork&) { return TransformerShape{}; },
      [&](const WeightStore& store) { return std::make_unique<CpuBackend>(store, folder); });
  return generate(decoder.generator, kPrompts, {.new_tokens = 40, .end_of_text = {}, .batch_size = 2});
}

// The likeliest token after each token of a text, by one pass over all of it.
std::vector<int> likeliest_next(HuggingFaceFolder& folder, const std::vector<int>& text) {
  const std::vector<float> logits = test::logits_of<CpuBackend>(folder, folder.shape(), {text});
  const auto vocabulary = static_cast<std::ptrdiff_t>(folder.shape().vocabulary);
  std::vector<int> tokens;
  for (auto row = logits.begin(); row != logits.end(); row += vocabulary)
    tokens.push_back(static_cast<int>(std::max_element(row, row + vocabulary) - row));
  return tokens;
}

}  // namespace

TEST_CASE("checkpoints with states decode to the likeliest tokens, and speculative methods to the same ones") {
  const std::string network = GENERATE("qwen3_next", "nemotron_h", "nemotron_h_experts", "granite_hybrid",
                                       "granite_hybrid_dense", "falcon_h1", "falcon_h1_norm");
  CAPTURE(network);
  HuggingFaceFolder folder(kFixtures / network);
  const auto expected = decoded(folder, R"({"name": "autoregressive"})");
  for (std::size_t i = 0; i < kPrompts.size(); ++i) {
    std::vector<int> text = kPrompts[i];
    text.insert(text.end(), expected[i].tokens.begin(), expected[i].tokens.end());
    const std::vector<int> next = likeliest_next(folder, text);
    const auto first = next.begin() + static_cast<std::ptrdiff_t>(kPrompts[i].size()) - 1;
    CHECK(std::vector<int>(first, next.end() - 1) == expected[i].tokens);
  }
  int taken = 0, returned = 0;  // drafts
  for (const char* method : {R"({"name": "prompt_lookup", "draft_length": 3, "max_ngram": 2})",
                             R"({"name": "lookahead", "ngram": 3, "window": 3, "guesses": 3})"}) {
    CAPTURE(method);
    const auto speculated = decoded(folder, method);
    for (std::size_t i = 0; i < kPrompts.size(); ++i) {
      CHECK(speculated[i].tokens == expected[i].tokens);
      for (std::size_t step = 0; step < speculated[i].accepted.size(); ++step) {
        taken += speculated[i].accepted[step] - 1;
        returned += speculated[i].drafted[step] - (speculated[i].accepted[step] - 1);
      }
    }
  }
  CHECK(taken > 5);
  CHECK(returned > 5);
}
