// SPDX-License-Identifier: Apache-2.0
// The logits of a stored network on the CPU in fp32, for comparisons with other programs (compare_target):
//   stored_logits NETWORK TEXTS OUT
// NETWORK: a Hugging Face folder or a GGUF file; TEXTS: token ids, a line for each text; OUT: fp32 numbers, little
// endian, [tokens of all texts, vocabulary].
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "core/errors.h"
#include "core/text_file.h"
#include "decoder/checkpoint/gguf_weights.h"
#include "decoder/checkpoint/huggingface.h"
#include "decoder/cpu/backend.h"
#include "tests/decoder/logits_of.h"

namespace {

using namespace draftline;

std::vector<std::vector<int>> texts_in(const std::filesystem::path& file) {
  std::vector<std::vector<int>> texts;
  std::istringstream lines(read_text_file(file));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    texts.emplace_back();
    for (int id = 0; words >> id;) texts.back().push_back(id);
    if (texts.back().empty()) texts.pop_back();
  }
  return texts;
}

void write_logits(const std::filesystem::path& network, const std::filesystem::path& texts,
                  const std::filesystem::path& out) {
  std::unique_ptr<StoredNetwork> weights;
  if (network.extension() == ".gguf") weights = std::make_unique<GgufWeights>(network);
  else weights = std::make_unique<HuggingFaceFolder>(network);
  const std::vector<float> logits = test::logits_of<CpuBackend>(*weights, weights->shape(), texts_in(texts));
  std::ofstream to(out, std::ios::binary);
  to.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
  if (!to.flush()) throw InputErrors(out.string() + ": cannot be written");
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: stored_logits NETWORK TEXTS OUT\n";
    return 2;
  }
  try {
    write_logits(words[1], words[2], words[3]);
  } catch (const draftline::InputErrors& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
  return 0;
}
