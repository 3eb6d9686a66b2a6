// SPDX-License-Identifier: Apache-2.0
// A GGUF file: its header, the network that it describes, then the values of every tensor.
#include <vector>

#include "decoder/checkpoint/gguf_file.h"
#include "decoder/checkpoint/gguf_weights.h"
#include "model/transformers/gguf_network.h"
#include "tests/fuzz/input_file.h"

using namespace draftline;
using namespace draftline::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = input_file("model.gguf", text_of(data, size));
  told([&] { read_gguf_network(GgufHeader::read(path)); });
  told([&] { GgufWeights{path}; });
  told([&] {
    const GgufFile file(GgufHeader::read(path), "LlamaForCausalLM", disk());
    for (const auto& [name, tensor] : file.tensors())
      told([&, &n = name, &t = tensor] {
        std::vector<float> values(t.elements);  // at most eight for each byte of the file
        file.read(n, 0, values);
      });
  });
  return 0;
}
