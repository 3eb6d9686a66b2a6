// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/drafter_folder.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/files.h"
#include "core/json_parse.h"
#include "core/reader.h"
#include "decoder/checkpoint/block_drafter_weights.h"
#include "decoder/checkpoint/stored_layer.h"
#include "model/transformers/block_drafter_config.h"

namespace draftline {

namespace {

bool proposes_blocks(DrafterKind kind) {
  return kind == DrafterKind::dflash || kind == DrafterKind::dspark || kind == DrafterKind::dflash2 ||
         kind == DrafterKind::domino;
}

DrafterConfig read_config(const std::filesystem::path& folder, DrafterKind kind) {
  if (!disk().is_folder(folder)) throw InputErrors(printable(folder.string(), 1000) + ": no such folder");
  return read_file(folder / "config.json", [&](const Reader& in) {
    DrafterConfig d = read_drafter(in, kind);
    if (proposes_blocks(kind) && !in.failed()) config::refuse_scales(in);
    return d;
  });
}

std::string stem_of(const std::filesystem::path& folder, DrafterKind kind) {
  if (kind != DrafterKind::medusa) return "model";
  for (const char* end : {".safetensors", ".pt"})
    if (disk().exists(folder / (std::string("medusa_lm_head") + end))) return "medusa_lm_head";
  return "model";
}

std::string sizes(int drafter, int target) {
  return std::to_string(drafter) + ", the target's is " + std::to_string(target);
}

void check_sizes(const std::filesystem::path& folder, const DrafterConfig& d, const TransformerShape& target) {
  std::vector<std::string> mistakes;
  const std::string config = printable((folder / "config.json").string(), 1000);
  if (const int hidden = d.target_hidden.value_or(d.network.hidden); hidden != target.hidden && hidden > 0)
    mistakes.push_back(config + "#: the drafter's hidden size is " + sizes(hidden, target.hidden));
  if (d.network.vocabulary != target.vocabulary && d.network.vocabulary > 0)
    mistakes.push_back(config + "#: the drafter's vocabulary is " + sizes(d.network.vocabulary, target.vocabulary));
  for (const int layer : d.auxiliary_layers)
    if (layer >= target.layers())
      mistakes.push_back(config + "#: the drafter reads the state that enters layer " + std::to_string(layer) +
                         ", the target has " + std::to_string(target.layers()) + " layers");
  if ((proposes_blocks(d.kind) || d.kind == DrafterKind::p_eagle) && !d.mask_token)
    mistakes.push_back(config + "#: does not say which token its masks are");
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

}  // namespace

std::uint64_t drafter_fingerprint(const std::filesystem::path& folder, DrafterKind kind) {
  return CheckpointFiles(folder, stem_of(folder, kind)).fingerprint();
}

DrafterFolder::DrafterFolder(const std::filesystem::path& folder, DrafterKind kind, const StoredNetwork& target)
    : config_(read_config(folder, kind)), files_(folder, stem_of(folder, kind)) {
  check_sizes(folder, config_, target.shape());
  TensorCheck check({files_, config_.network.checkpoint});
  switch (kind) {
    case DrafterKind::eagle: add_eagle(target, check); break;
    case DrafterKind::eagle3:
    case DrafterKind::p_eagle: add_eagle3(target, check); break;
    case DrafterKind::medusa: add_medusa(target, check); break;
    case DrafterKind::mtp: add_mtp(target, check); break;
    case DrafterKind::gemma4_assistant: add_assistant(target, check); break;
    case DrafterKind::dflash:
    case DrafterKind::dspark:
    case DrafterKind::dflash2:
    case DrafterKind::domino: add_block_drafter(target, check); break;
  }
  check.finish();
}

void DrafterFolder::add_layer(const std::string& tensors, const LayerShape& layer) {
  for (StoredWeight& w : stored_layer(files_, config_.network.architecture, layer, "layer.", tensors))
    add(std::move(w));
}

// Most drafters store a copy of the target's embedding; one with other values has its own, or one whose form says so.
void DrafterFolder::add_embedding(const std::string& tensor, const StoredNetwork& target, TensorCheck& check) {
  if (!files_.has(tensor) && !config_.own_embedding) return;
  const StoredWeight embedding = stored_table("embedding", tensor, target.shape().vocabulary, target.shape().hidden);
  check.expect({embedding});
  if (check.any()) return;
  if (!config_.own_embedding && files_.same_values(tensor, target.files(), target.embedding_tensor())) return;
  config_.own_embedding = true;
  add(embedding);
}

void DrafterFolder::check_head(const std::string& tensor, const StoredNetwork& target, TensorCheck& check) {
  if (!files_.has(tensor)) return;
  check.use(tensor);
  if (!files_.file_of(tensor).can_read(*files_.find(tensor)) ||
      !files_.same_values(tensor, target.files(), target.head_tensor()))
    check.fail(files_.place(tensor) + ": a drafter of this kind has the target's LM head, and this is another");
}

void DrafterFolder::add_eagle(const StoredNetwork& target, TensorCheck& check) {
  const int d = config_.layer.hidden;
  add(stored_matrix("fc", "fc.weight", 2 * d, d));
  if (files_.has("fc.bias")) add(stored_vector("fc_bias", "fc.bias", d));
  else all_zeros_.emplace_back("fc_bias");
  add_layer("layers.0.", without_input_norm(config_.layer));
  check.expect(weights_);
  add_embedding("embed_tokens.weight", target, check);
  check_head("lm_head.weight", target, check);
  check.refuse_others([](const std::string& tensor) { return tensor.ends_with("rotary_emb.inv_freq"); });
}

int DrafterFolder::joined_columns() const {
  return (config_.auxiliary_layers.empty() ? 3 : count(config_.auxiliary_layers)) * config_.layer.hidden;
}

void DrafterFolder::add_eagle3(const StoredNetwork& target, TensorCheck& check) {
  const int d = config_.layer.hidden, joined = joined_columns();
  const std::string layer = files_.has("midlayer.hidden_norm.weight") ? "midlayer." : "layers.0.";
  if (config_.norm_before_fc) add(stored_vector("fusion_norm", "input_norm.weight", joined));
  add(stored_matrix("fc", "fc.weight", joined, d));
  add(stored_vector("token_norm", layer + "input_layernorm.weight", d));
  add(stored_vector("state_norm", layer + "hidden_norm.weight", d));
  add_layer(layer, first_eagle3_layer(config_.layer));
  if (config_.kind == DrafterKind::p_eagle) {
    StoredPart mask{"mask_hidden", 1, joined};
    mask.transposed = false;
    mask.stacked = 1;
    add(side_by_side("mask_hidden", 1, joined, {mask}));
  }
  for (int i = 1; i < config_.layers; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".";
    for (StoredWeight& w : stored_layer(files_, config_.network.architecture, config_.layer, name, name))
      add(std::move(w));
  }
  add(stored_vector("out_norm", "norm.weight", d));
  add(stored_matrix("lm_head", "lm_head.weight", d, config_.vocabulary));
  check.expect(weights_);
  add_embedding("embed_tokens.weight", target, check);
  read_ids(target, check);
  check.use("t2d");  // says of each of the target's tokens whether d2t leads to it
  check.refuse_others([](const std::string& tensor) { return tensor.ends_with("rotary_emb.inv_freq"); });
}

void DrafterFolder::read_ids(const StoredNetwork& target, TensorCheck& check) {
  const int words = target.shape().vocabulary;
  const StoredTensor* stored = files_.find("d2t");
  check.use("d2t");
  if (stored == nullptr) {
    if (config_.vocabulary < words)
      check.fail(files_.shown_folder() + ": tensor \"d2t\" is missing, which says which " +
                 std::to_string(config_.vocabulary) + " of the target's " + std::to_string(words) +
                 " tokens are drafted");
    return;
  }
  const std::uint64_t rows = config_.vocabulary;
  if (stored->shape != std::vector{rows})
    return check.fail(files_.place("d2t") + ": its shape is " + shape_text(stored->shape) +
                      ", but the described network makes it " + shape_text({rows}));
  std::vector<std::int64_t> offsets(rows);
  files_.file_of("d2t").read("d2t", 0, offsets);
  std::vector<bool> taken(at(words));
  for (int i = 0; i < config_.vocabulary; ++i) {
    const std::int64_t offset = offsets[at(i)];
    if (offset < -i || offset > words - 1 - i)
      return check.fail(files_.place("d2t") + ": value " + std::to_string(i) + " leads out of the target's vocabulary");
    const std::size_t id = i + offset;
    if (taken[id])
      return check.fail(files_.place("d2t") + ": value " + std::to_string(i) + " leads to token " + std::to_string(id) +
                        ", as one before it does");
    taken[id] = true;
    id_offsets_.push_back(static_cast<float>(offset));
  }
  if (config_.vocabulary == words && std::any_of(offsets.begin(), offsets.end(), [](auto o) { return o != 0; }))
    check.fail(files_.place("d2t") + ": a drafter of the whole vocabulary has the target's order of tokens");
}

// Rows of masks have a learned vector in place of the target's states. It passes the same projection and norm as they
// do, once, when it is loaded.
void DrafterFolder::load_mask_state(std::span<float> to) const {
  const auto joined = at(joined_columns()), columns = to.size();
  const StoredValues values(files_, config_.network.checkpoint);
  const auto loaded = [&](const char* name, int in, int out) {
    std::vector<float> weight(at(in) * at(out));
    load_stored(values, weights_, name, in, out, weight);
    return weight;
  };
  std::vector<float> mask = loaded("mask_hidden", 1, joined_columns());
  if (config_.norm_before_fc) {
    double squares = 0;
    for (const float x : mask) squares += double{x} * x;
    const double scale = 1 / std::sqrt(squares / joined_columns() + config_.layer.norm_epsilon);
    const std::vector<float> norm = loaded("fusion_norm", 1, joined_columns());
    for (std::size_t i = 0; i < joined; ++i) mask[i] = single(mask[i] * scale * norm[i]);
  }
  const std::vector<float> fc = loaded("fc", joined_columns(), count(to));
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < joined; ++i) sum += double{mask[i]} * fc[i * columns + c];
    to[c] = single(sum);
  }
}

void DrafterFolder::add_block_drafter(const StoredNetwork& target, TensorCheck& check) {
  BlockDrafterWeights own = block_drafter_weights(files_, config_);
  for (StoredWeight& w : own.stored) add(std::move(w));
  all_zeros_ = std::move(own.zeros);
  const bool own_head = config_.vocabulary > 0;
  if (own_head) add(stored_matrix("lm_head", "lm_head.weight", config_.layer.hidden, config_.vocabulary));
  check.expect(weights_);
  for (const std::string& tensor : own.unread) check.use(tensor);
  add_embedding("embed_tokens.weight", target, check);
  if (own_head) {
    read_ids(target, check);
    check.use("t2d");
  } else {
    check_head("lm_head.weight", target, check);
  }
  if (disk().exists(files_.folder() / "mask_embedding.pt"))
    check.fail(files_.shown_folder() + ": mask_embedding.pt: a mask with an embedding of its own is not modelled");
  check.refuse_others([](const std::string& tensor) { return tensor.ends_with("rotary_emb.inv_freq"); });
}

void DrafterFolder::add_medusa(const StoredNetwork& target, TensorCheck& check) {
  const int d = target.shape().hidden, words = target.shape().vocabulary;
  const bool vllm = files_.has("blocks.0.layers.0.weight");
  for (int h = 0; h < config_.heads; ++h) {
    const std::string head = std::to_string(h) + ".";
    for (int b = 0; b < config_.blocks; ++b) {
      const std::string ours = b == 0 ? head : head + std::to_string(b) + ".";
      const std::string theirs =
          vllm ? "blocks." + head + "layers." + std::to_string(b) + "." : head + std::to_string(b) + ".linear.";
      add(stored_matrix(ours + "w", theirs + "weight", d, d));
      if (!vllm || files_.has(theirs + "bias")) add(stored_vector(ours + "b", theirs + "bias", d));
      else all_zeros_.push_back(ours + "b");
    }
    add(stored_matrix(head + "lm_head",
                      vllm ? "lm_heads." + head + "weight" : head + std::to_string(config_.blocks) + ".weight", d,
                      words));
  }
  check.expect(weights_);
  check.refuse_others([](const std::string&) { return false; });
}

namespace {

struct MtpForm {  // names in a module's files, without ".weight"
  std::string module, layer, token_norm, state_norm, join, out_norm;
  bool state_first = false;  // the join reads the state before the token; ours the token first
};

std::vector<MtpForm> mtp_forms(int layers) {
  const std::string behind = "model.layers." + std::to_string(layers) + ".", mimo = "model.mtp_layers.0.";
  return {{behind, behind, "enorm", "hnorm", "eh_proj", "shared_head.norm"},
          {mimo, mimo, "token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm", true},
          {"mtp.", "mtp.layers.0.", "pre_fc_norm_embedding", "pre_fc_norm_hidden", "fc", "norm"}};
}

}  // namespace

void DrafterFolder::add_mtp(const StoredNetwork& target, TensorCheck& check) {
  const int d = config_.layer.hidden;
  const auto forms = mtp_forms(config_.network.layers());
  const auto form = std::find_if(forms.begin(), forms.end(),
                                 [&](const MtpForm& f) { return files_.has(f.module + f.join + ".weight"); });
  if (form == forms.end()) {
    std::string known;
    for (const MtpForm& f : forms) known += (known.empty() ? "" : ", ") + in_quotes(f.module + f.join + ".weight");
    return check.fail(files_.shown_folder() + ": has no MTP module that can be read: none of " + known);
  }
  const auto norm = [&](const std::string& ours, const std::string& theirs) {
    add(stored_norm(config_.network.architecture, ours, form->module + theirs, d));
  };
  norm("token_norm", form->token_norm);
  norm("state_norm", form->state_norm);
  norm("out_norm", form->out_norm);
  StoredPart token{form->module + form->join + ".weight", d, d}, state = token;
  token.of = state.of = 2 * d;
  (form->state_first ? token : state).first = d;
  add(side_by_side("join", 2 * d, d, {token, state}));
  add_layer(form->layer, config_.layer);
  check.expect(weights_);
  add_embedding(form->module + "embed_tokens.weight", target, check);
  check_head(form->module + "shared_head.head.weight", target, check);
  check.refuse_others([&](const std::string& tensor) {
    return !tensor.starts_with(form->module) || tensor.ends_with("rotary_emb.inv_freq");
  });
}

void DrafterFolder::add_assistant(const StoredNetwork& target, TensorCheck& check) {
  const TransformerShape& own = config_.network;
  const int d = *config_.target_hidden, hidden = own.hidden, inner = own.intermediate;
  const auto norm = [&](const std::string& ours, const std::string& theirs) {
    add(stored_vector(ours, theirs + ".weight", hidden));
  };
  add(stored_matrix("pre", "pre_projection.weight", 2 * d, hidden));
  add(stored_matrix("post", "post_projection.weight", hidden, d));
  const bool tied = !files_.has("lm_head.weight");
  add(stored_matrix("lm_head", tied ? "model.embed_tokens.weight" : "lm_head.weight", hidden, own.vocabulary));
  norm("out_norm", "model.norm");
  for (int i = 0; i < own.layers(); ++i) {
    const std::string ours = "layers." + std::to_string(i) + ".", theirs = "model." + ours;
    const auto of = last_alike(target.shape(), own.layer(i));
    if (!of) return check.fail(files_.shown_folder() + ": the target has no layer like its layer " + std::to_string(i));
    AttentionHeads h = target.shape().layer(*of).heads()->heads;
    h.heads = own.layer(i).heads()->heads.heads;
    add(stored_matrix(ours + "q", theirs + "self_attn.q_proj.weight", hidden, h.q_columns()));
    add(stored_vector(ours + "q_norm", theirs + "self_attn.q_norm.weight", h.head_dim));
    add(stored_matrix(ours + "o", theirs + "self_attn.o_proj.weight", h.result_columns(), hidden));
    add(side_by_side(
        ours + "gate_up", hidden, 2 * inner,
        {{theirs + "mlp.gate_proj.weight", hidden, inner}, {theirs + "mlp.up_proj.weight", hidden, inner}}));
    add(stored_matrix(ours + "down", theirs + "mlp.down_proj.weight", inner, hidden));
    add(stored_vector(ours + "scale", theirs + "layer_scalar", 1));
    norm(ours + "input_norm", theirs + "input_layernorm");
    norm(ours + "attention_post_norm", theirs + "post_attention_layernorm");
    norm(ours + "mlp_norm", theirs + "pre_feedforward_layernorm");
    norm(ours + "mlp_post_norm", theirs + "post_feedforward_layernorm");
  }
  check.expect(weights_);
  if (!tied) check.use("model.embed_tokens.weight");
  check.refuse_others([](const std::string& tensor) { return tensor.ends_with("rotary_emb.inv_freq"); });
}

void DrafterFolder::load(const std::string& name, int in, int out, std::span<float> to) {
  if (std::find(all_zeros_.begin(), all_zeros_.end(), name) != all_zeros_.end())
    return std::fill(to.begin(), to.end(), 0.0F);
  if (name == "id_offsets" && id_offsets_.size() == to.size()) {
    std::copy(id_offsets_.begin(), id_offsets_.end(), to.begin());
    return;
  }
  if (name == "mask_state" && config_.kind == DrafterKind::p_eagle) return load_mask_state(to);
  load_stored({files_, config_.network.checkpoint}, weights_, name, in, out, to);
}

}  // namespace draftline
