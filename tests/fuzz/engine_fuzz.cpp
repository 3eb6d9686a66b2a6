// SPDX-License-Identifier: Apache-2.0
// An engine's profile; a tiny network is priced with it on a GPU and on a CPU.
#include "tests/fuzz/figures.h"
#include "tests/fuzz/tiny_network.h"

using namespace draftline;
using namespace draftline::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Catalogue catalogue(kData);
  static const auto gpu = catalogue.device("h100-sxm"), cpu = catalogue.device("cpu");
  static const TransformerShape tiny = tiny_network();
  told([&] {
    const Engine engine = read_whole(Document::from_text(text_of(data, size), "engine.json"), read_engine);
    for (const auto& device : {gpu, cpu}) told([&] { price(*device, engine, tiny); });
  });
  return 0;
}
