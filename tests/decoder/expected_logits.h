// SPDX-License-Identifier: Apache-2.0
// Logits of small networks by Hugging Face transformers (tests/fixtures; tools/make_fixtures.py), and ours on the same
// files, on any backend that can be read.
#pragma once
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/reader.h"
#include "decoder/checkpoint/huggingface.h"
#include "tests/catch.h"
#include "tests/decoder/logits_of.h"
#include "tests/source_folder.h"

namespace draftline::test {

struct Expected {
  std::vector<std::vector<int>> prompts;
  std::vector<std::vector<float>> logits;  // of each prompt: [tokens, vocabulary]
  double error_of_fp32 = 0;

  explicit Expected(const std::filesystem::path& folder) {
    const Document text = Document::from_file(folder / "expected.json");
    for (const Reader& prompt : text.root().at("prompts").items()) {
      prompts.emplace_back();
      for (const Reader& id : prompt.items()) prompts.back().push_back(id.integer(0));
    }
    error_of_fp32 = text.root().at("largest_error_of_fp32").number(1e-9, 1e-4);
    text.finish();
    const SafetensorsFile file(folder / "expected.safetensors");
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::string name = "logits." + std::to_string(i);
      logits.emplace_back(file.tensors().at(name).elements);
      file.read(name, 0, logits.back());
    }
  }
};

// The largest difference from the expected logits, which are of fp64.
inline double furthest(const Expected& expected, const std::vector<float>& ours) {
  std::size_t at = 0;
  double worst = 0;
  for (const auto& logits : expected.logits)
    for (const float e : logits) worst = std::max(worst, std::abs(static_cast<double>(ours.at(at++)) - e));
  CHECK(at == ours.size());
  return worst;
}

}  // namespace draftline::test
