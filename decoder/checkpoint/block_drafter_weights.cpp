// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/block_drafter_weights.h"

#include "decoder/checkpoint/stored_layer.h"

namespace draftline {

namespace {

// A layer of Qwen3's kind, whose queries are apart from its keys and values: committed tokens have no queries.
void add_layer(const CheckpointFiles& files, const DrafterConfig& d, const std::string& name,
               std::vector<StoredWeight>& all) {
  const AttentionHeads& h = d.layer.heads()->heads;
  for (StoredWeight& w : stored_layer(files, d.network.architecture, d.layer, name, name)) {
    if (w.name != name + "qkv") {
      all.push_back(std::move(w));
      continue;
    }
    all.push_back(side_by_side(name + "q", d.layer.hidden, h.q_columns(), {w.parts[0]}));
    all.push_back(side_by_side(name + "kv", d.layer.hidden, 2 * h.k_columns(), {w.parts[1], w.parts[2]}));
  }
}

// DFlash 2's convolution: the taps before and behind the sublayer are one tensor.
void add_convolution(const DrafterConfig& d, const std::string& name, std::vector<StoredWeight>& all) {
  const int columns = d.layer.hidden, taps = d.block.conv_taps;
  all.push_back(stored_matrix(name + "kernel", name + "kernel_projection.weight", columns,
                              2 * taps * (columns / d.block.conv_group)));
  StoredPart into{name + "base_kernel", taps, columns};
  into.transposed = false;
  into.rows = 2 * taps;
  into.stacked = 2;
  StoredPart out_of = into;
  out_of.skipped = taps;
  all.push_back(side_by_side(name + "into", taps, columns, {into}));
  all.push_back(side_by_side(name + "out_of", taps, columns, {out_of}));
}

// The codebooks are parameters or, of the speculators library, embeddings.
void add_selector(const CheckpointFiles& files, const DrafterConfig& d, std::vector<StoredWeight>& all) {
  const std::string name = "candidate_selector.";
  const int rank = d.block.selector_rank, words = d.network.vocabulary;
  const auto codebook = [&](const std::string& ours, const std::string& theirs) {
    const std::string tensor = name + theirs;
    all.push_back(stored_table(ours, files.has(tensor + ".weight") ? tensor + ".weight" : tensor, words, rank));
  };
  codebook("before", "predecessor_codebook");
  codebook("after", "successor_codebook");
  all.push_back(stored_matrix("gate", name + "hidden_projection.weight", d.layer.hidden, rank));
}

// ModelOpt's names lack what DeepSpec's and the speculators library's begin with. No scheduler reads the confidence
// here, so that a head over the state alone is left aside, as the bias of a whole one is.
void add_markov_head(const CheckpointFiles& files, const DrafterConfig& d, BlockDrafterWeights& all) {
  const int rank = d.block.markov_rank, words = d.network.vocabulary, inputs = d.layer.hidden + rank;
  const std::string markov = files.has("markov_w1.weight") ? "" : "markov_head.";
  all.stored.push_back(stored_table("w1", markov + "markov_w1.weight", words, rank));
  all.stored.push_back(stored_matrix("w2", markov + "markov_w2.weight", rank, d.vocabulary > 0 ? d.vocabulary : words));
  const std::string confidence = files.has("confidence_proj.weight") ? "confidence_proj." : "confidence_head.proj.";
  const StoredTensor* head = files.find(confidence + "weight");
  if (head != nullptr && head->shape == std::vector{std::uint64_t{1}, std::uint64_t(inputs)})
    all.stored.push_back(stored_matrix("confidence", confidence + "weight", inputs, 1));
  else all.zeros.emplace_back("confidence");
  for (const char* part : {"weight", "bias"}) all.unread.push_back(confidence + part);
}

void add_domino_head(const DrafterConfig& d, std::vector<StoredWeight>& all) {
  const auto [gru, rank, uncorrected] = d.block.domino;
  all.push_back(stored_matrix("gru.input", "prefix_gru.weight_ih_l0", d.layer.hidden, 3 * gru));
  all.push_back(stored_matrix("gru.gates", "prefix_gru.weight_hh_l0", gru, 3 * gru));
  all.push_back(stored_matrix("into", "embed_proj.0.weight", d.layer.hidden + gru, rank));
  all.push_back(stored_matrix("out_of", "embed_proj.2.weight", rank, d.network.vocabulary));
}

}  // namespace

BlockDrafterWeights block_drafter_weights(const CheckpointFiles& files, const DrafterConfig& d) {
  const int columns = d.layer.hidden;
  const int states = d.auxiliary_layers.empty() ? d.layers : count(d.auxiliary_layers);
  BlockDrafterWeights all;
  all.stored = {stored_matrix("fc", "fc.weight", states * columns, columns),
                stored_vector("state_norm", "hidden_norm.weight", columns),
                stored_vector("out_norm", "norm.weight", columns)};
  for (int i = 0; i < d.layers; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".";
    add_layer(files, d, name, all.stored);
    if (d.kind != DrafterKind::dflash2) continue;
    for (const char* sublayer : {"attention_conv.", "mlp_conv."}) add_convolution(d, name + sublayer, all.stored);
  }
  if (d.kind == DrafterKind::dflash2) add_selector(files, d, all.stored);
  if (d.kind == DrafterKind::dspark) add_markov_head(files, d, all);
  if (d.kind == DrafterKind::domino) add_domino_head(d, all.stored);
  return all;
}

}  // namespace draftline
