// SPDX-License-Identifier: Apache-2.0
// A network's config.json, priced on a GPU and on a CPU; the same text as a published drafter's.
#include "model/transformers/drafter_config.h"
#include "tests/fuzz/figures.h"

using namespace draftline;
using namespace draftline::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Catalogue catalogue(kData);
  static const auto gpu = catalogue.device("h100-sxm"), cpu = catalogue.device("cpu");
  static const auto vllm = catalogue.engine("vllm"), own = catalogue.engine("draftline");
  const std::string_view text = text_of(data, size);
  told([&] {
    const auto shape = read_whole(Document::from_text(text, "config.json"), read_transformer);
    if (!is_small(shape)) return;
    told([&] { price(*gpu, *vllm, shape); });
    told([&] { price(*cpu, *own, shape); });
  });
  using enum DrafterKind;
  for (const DrafterKind kind :
       {eagle, eagle3, medusa, mtp, p_eagle, dflash, dspark, dflash2, domino, gemma4_assistant})
    told([&] {
      const Document document = Document::from_text(text, "config.json");
      read_whole(document, [&](const Reader& in) { return read_drafter(in, kind); });
    });
  return 0;
}
