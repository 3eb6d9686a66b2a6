// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/gguf_weights.h"

#include <utility>

#include "core/printable.h"
#include "decoder/checkpoint/gguf_file.h"
#include "model/transformers/gguf_config.h"
#include "model/transformers/gguf_network.h"

namespace draftline {

namespace {

StoredContents contents_of(const std::filesystem::path& path, const Files& files) {
  GgufHeader header = GgufHeader::read(path, files);
  const GgufFamily& family = gguf_family(header);
  TransformerShape shape = read_gguf_network(header, files);
  const bool usual = shape.architecture == family.architecture || shape.experts() != nullptr;  // OLMo 3 is of "olmo2"
  if (!family.decoded || !usual) {
    std::string all;
    for (const GgufFamily& f : gguf_families())
      if (f.decoded) all += (all.empty() ? "" : ", ") + std::string(f.name);
    header.fail("the weights of the architecture " + in_quotes(family.name) +
                " are not loaded from GGUF files; those of " + all + " are. `run` prices the network");
  }
  const std::string own = "\"" + std::string(family.name) + ".";
  for (const std::string& note : shape.notes)
    if (note.starts_with(own)) header.fail("its weights can't be decoded: " + note);
  auto tensors = std::make_unique<GgufFile>(std::move(header), shape.architecture, files);
  return {std::move(shape), CheckpointFiles(path, std::move(tensors), family.pairs_heads)};
}

}  // namespace

GgufWeights::GgufWeights(const std::filesystem::path& path, const Files& files)
    : StoredNetwork(contents_of(path, files)) {}

}  // namespace draftline
