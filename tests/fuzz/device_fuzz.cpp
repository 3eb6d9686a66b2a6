// SPDX-License-Identifier: Apache-2.0
// A device file, its datasheet and fits; a tiny network is priced on it.
#include "tests/fuzz/figures.h"
#include "tests/fuzz/tiny_network.h"

using namespace draftline;
using namespace draftline::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Catalogue catalogue(kData);
  static const auto vllm = catalogue.engine("vllm"), own = catalogue.engine("draftline");
  static const TransformerShape tiny = tiny_network();
  told([&] {
    const Document document = Document::from_text(text_of(data, size), "device.json");
    const Device d = read_whole(document, [](const Reader& in) { return read_device(in, kData / "devices"); });
    for (const auto& engine : {vllm, own}) told([&] { price(d, *engine, tiny); });
  });
  return 0;
}
