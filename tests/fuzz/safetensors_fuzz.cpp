// SPDX-License-Identifier: Apache-2.0
// A safetensors file: its header, then the values of every tensor.
#include "decoder/checkpoint/safetensors.h"

#include <vector>

#include "tests/fuzz/input_file.h"

using namespace draftline;
using namespace draftline::fuzz;

template <class Value>
static void read_all(const SafetensorsFile& file, const std::string& name, const StoredTensor& tensor) {
  std::vector<Value> values(tensor.elements);  // no more than there are bytes in the file
  file.read(name, 0, std::span(values));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  told([&] {
    const SafetensorsFile file(input_file("model.safetensors", text_of(data, size)));
    for (const auto& [name, tensor] : file.tensors()) {
      told([&, &n = name, &t = tensor] { read_all<float>(file, n, t); });
      told([&, &n = name, &t = tensor] { read_all<std::int64_t>(file, n, t); });
    }
  });
  return 0;
}
