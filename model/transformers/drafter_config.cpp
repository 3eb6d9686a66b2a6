// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/drafter_config.h"

#include <algorithm>
#include <array>

#include "core/int_indexed.h"
#include "model/transformers/block_drafter_config.h"
#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"

namespace draftline {

namespace {

using config::flag;
using config::given;
using config::needed;
using config::refuse;

constexpr std::string_view kLlama = "LlamaForCausalLM";
constexpr int kMostHeads = 64;

// EAGLE's files name architectures of their own for a layer that is Llama's.
void read_llama_layer(const Reader& in, DrafterConfig& d) {
  constexpr std::array kSame{kLlama,
                             std::string_view("LlamaForCausalLMEagle"),
                             std::string_view("EagleLlamaForCausalLM"),
                             std::string_view("LlamaForCausalLMEagle3"),
                             std::string_view("Eagle3LlamaForCausalLM"),
                             std::string_view("PEagleDraftModel"),
                             std::string_view("PeagleLlamaForCausalLM")};
  if (const auto names = given(in, "architectures"))
    for (const Reader& name : names->items())
      if (std::find(kSame.begin(), kSame.end(), name.text()) == kSame.end())
        name.fail("a drafter of the architecture \"" + name.text() +
                  "\" is not modelled; only drafters with Llama's layer are");
  d.network = config::read_transformer_as(kLlama, in);
  const bool bias = flag(in, "qkv_bias", false);
  for (LayerShape& layer : d.network.kinds)
    if (auto* a = std::get_if<HeadAttention>(&layer.attention); a != nullptr && given(in, "qkv_bias"))
      a->qkv_bias = bias;
}

// The layer of a drafter whose layers are all alike.
void take_layer(DrafterConfig& d) {
  if (d.network.layers() > 0) d.layer = d.network.layer(0);
}

void demand_one_layer(const Reader& in, const DrafterConfig& d) {
  if (d.network.layers() > 1) in.at("num_hidden_layers").fail("only drafters with one layer are modelled");
}

void read_eagle(const Reader& in, DrafterConfig& d) {
  if (const auto type = given(in, "speculators_model_type"))
    return type->fail("of the speculators library's drafters, only \"eagle3\" can be read");
  read_llama_layer(in, d);
  demand_one_layer(in, d);
  if (!in.failed()) take_layer(d);
  refuse(in, "add_para_norm", "norms before the first matrix are not modelled");
}

// Which states an EAGLE-3 drafter was trained on. Files whose ids begin with 1 count what leaves a layer, others (and
// vLLM and the speculators library always) what enters it; SGLang tells them apart so too (its pull request 25454).
void read_auxiliary_layers(const Reader& in, bool speculators, DrafterConfig& d) {
  constexpr const char* kIds = "eagle_aux_hidden_state_layer_ids";
  auto ids = given(in, kIds);
  if (const auto nested = given(in, "eagle_config")) {
    if (const auto uses = given(*nested, "use_aux_hidden_state"); uses && !uses->boolean())
      uses->fail("EAGLE-3 with a single state of the target is not modelled");
    if (!ids) ids = given(*nested, kIds);
  }
  if (!ids) return;
  config::read_states(*ids, 0, d);
  if (d.auxiliary_layers.empty()) return;
  if (!speculators && d.auxiliary_layers.front() == 1)
    for (int& layer : d.auxiliary_layers) ++layer;
}

// What P-EAGLE has beyond EAGLE-3: a mask token, and with speculators the depth to which it was trained.
void read_parallel(const Reader& in, DrafterConfig& d) {
  if (const auto mask = given(in, {"ptd_token_id", "pard_token", "mask_token_id"}))
    d.mask_token = mask->integer(0, d.network.vocabulary - 1);
  const auto speculators = given(in, "speculators_config");
  const auto proposals = speculators ? given(*speculators, "proposal_methods") : std::nullopt;
  if (!proposals) return;
  for (const Reader& one : proposals->items())
    if (const auto drafts = given(one, "speculative_tokens")) d.trained_drafts = drafts->positive_int(1024);
}

// EAGLE-3, and P-EAGLE, which has a mask token; both may have plain layers behind the first.
void read_eagle3(const Reader& in, DrafterConfig& d) {
  const bool parallel = d.kind == DrafterKind::p_eagle;
  const auto type = given(in, "speculators_model_type");
  Reader layer = in;
  if (type) {
    const std::string wanted = parallel ? "peagle" : "eagle3";
    if (type->text() != wanted)
      return type->fail("\"" + type->text() + "\" is not modelled here; known: \"" + wanted + "\"");
    layer = in.at("transformer_layer_config");
    d.network = read_transformer(layer);
    const auto normed = given(in, "norm_before_residual");
    if (!normed && !parallel) in.at("norm_before_residual");  // its readers differ in what absence means
    d.norm_before_residual = normed && normed->boolean();
    d.own_embedding = parallel;  // which is trained, too
    refuse(in, "fc_norm", "a norm of each of the target's states is not modelled");
  } else {
    read_llama_layer(in, d);
    d.norm_before_residual = flag(in, "norm_before_residual", false);
  }
  d.layers = d.network.layers();
  if (d.network.experts() != nullptr || d.network.latent() != nullptr || d.network.states())
    layer.fail("a drafter with experts, latent attention or recurrent states is not modelled");
  if (!in.failed()) take_layer(d);
  for (const LayerShape& other : d.network.kinds)
    if (!in.failed() && other.window() != d.layer.window())
      layer.at("layer_types").fail("layers with and without a window in one drafter of this kind are not modelled");
  if (parallel && !in.failed()) read_parallel(in, d);
  d.norm_before_fc = flag(in, "norm_before_fc", false);
  d.normed_state = flag(in, "norm_output", false);
  config::refuse_other_width(in, d);
  config::read_own_head(in, d);
  read_auxiliary_layers(in, type.has_value(), d);
}

void read_medusa(const Reader& in, DrafterConfig& d) {
  const auto heads = given(in, {"medusa_num_heads", "num_heads"});
  d.heads = heads ? heads->positive_int(kMostHeads) : in.at("medusa_num_heads").positive_int(kMostHeads);
  const auto blocks = given(in, {"medusa_num_layers", "num_hidden_layers"});
  d.blocks = blocks ? blocks->positive_int(kMostHeads) : 1;
  if (const auto hidden = given(in, "hidden_size")) d.network.hidden = hidden->positive_int(config::kMostColumns);
  if (const auto words = given(in, "vocab_size")) d.network.vocabulary = words->positive_int(config::kMostVocabulary);
  if (const auto some = given(in, "truncated_vocab_size"); some && some->positive_int() != d.network.vocabulary)
    some->fail("heads over a part of the vocabulary are not modelled");
  refuse(in, "original_lm_head", "heads that share one LM head are not modelled");
}

void read_mtp(const Reader& in, DrafterConfig& d) {
  d.network = read_transformer(in);
  const std::string& family = d.network.architecture;
  const bool hybrid = family.starts_with("Qwen3Next") || family.starts_with("Qwen3_5");
  const Reader tower = config::text_tower(in).value_or(in);
  auto modules = given(tower, hybrid ? "mtp_num_hidden_layers" : "num_nextn_predict_layers");
  if (!modules && !hybrid) modules = tower.at("num_nextn_predict_layers");  // Qwen3-Next has one and doesn't say so
  if (modules && modules->integer(0, kMostHeads) != 1)
    modules->fail("only one module, applied repeatedly, is modelled");
  if (hybrid) refuse(tower, "mtp_use_dedicated_embeddings", "a module with its own embedding is not modelled");
  d.normed_state = hybrid || d.network.architecture == "MiMoForCausalLM";
  if (in.failed() || d.network.layers() == 0) return;
  const LayerShape& last = d.network.layer(d.network.layers() - 1);
  if (d.network.mtp_layer || std::holds_alternative<ExpertsBesideMlp>(last.mlp))
    return in.fail("checkpoints of this network's MTP modules can't be read; remove \"checkpoint\" to price them");
  if (!hybrid && !last.sees_all()) in.fail("a module without full attention is not modelled");
  d.layer = d.network.usual_layer();  // the module's layer is like the last, but attends in a hybrid
  d.layer.mlp = last.mlp;
}

// Gemma4AssistantConfig of transformers 5.24. Its layers have queries alone; keys and values are the target's, whose
// window and rope it must have.
void read_assistant(const Reader& in, DrafterConfig& d) {
  refuse(in, "use_ordered_embeddings", "logits for a part of the vocabulary, chosen by centroids, are not modelled");
  d.target_hidden = in.at("backbone_hidden_size").positive_int(config::kMostColumns);
  const Reader text = in.at("text_config");
  if (in.failed()) return;
  config::ConfigNetwork s;
  s.whole.hidden = needed(text, {"hidden_size"}, config::kMostColumns);
  s.whole.intermediate = needed(text, {"intermediate_size"}, config::kMostColumns);
  s.layers = d.layers = needed(text, {"num_hidden_layers"}, config::kMostLayers);
  s.whole.vocabulary = needed(text, {"vocab_size"}, config::kMostVocabulary);
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(text, {"num_attention_heads"}, config::kMostColumns);
  config::read_activation(text, "hidden_activation", {"gelu_pytorch_tanh"});
  config::read_epsilon(text, "rms_norm_eps", 1e-6, s);
  refuse(text, "attention_bias", "a bias in the attention is not modelled for this architecture");
  refuse(text, "enable_moe_block", "an assistant with experts is not modelled");
  s.attention.rope.theta = 1e6;
  s.window_rope = config::WindowRope{};
  if (given(text, "rope_parameters")) config::read_rope(text, s);
  else s.attention.rope.scaling = RopeScaling{.kind = RopeScaling::Kind::proportional, .turned = 0.25};
  const auto window = given(text, "sliding_window");
  s.window = window ? window->positive_int(config::kMostPositions) : 512;
  const Reader types = text.at("layer_types");
  static constexpr std::array<std::string_view, 2> words{"full_attention", "sliding_attention"};
  for (const Reader& type : types.items())
    s.layer_kinds.push_back(
        {.attention = type.word(words) == words[0] ? config::AttentionKind::full : config::AttentionKind::sliding});
  config::one_for_each_layer(types, count(s.layer_kinds), s);
  d.network = in.failed() ? s.whole : network_of(s);
}

}  // namespace

std::optional<int> last_alike(const TransformerShape& target, const LayerShape& own) {
  for (int i = target.layers() - 1; i >= 0; --i)
    if (target.layer(i).attends() && target.layer(i).sees_all() == own.sees_all()) return i;
  return std::nullopt;
}

LayerShape without_input_norm(LayerShape layer) {
  layer.input_norm = false;
  return layer;
}

LayerShape first_eagle3_layer(LayerShape layer) {
  layer.inputs = 2 * layer.hidden;
  return without_input_norm(std::move(layer));
}

DrafterConfig read_drafter(const Reader& in, DrafterKind kind) {
  DrafterConfig d;
  d.kind = kind;
  switch (kind) {
    case DrafterKind::eagle: read_eagle(in, d); break;
    case DrafterKind::eagle3:
    case DrafterKind::p_eagle: read_eagle3(in, d); break;
    case DrafterKind::medusa: read_medusa(in, d); break;
    case DrafterKind::mtp: read_mtp(in, d); break;
    case DrafterKind::gemma4_assistant: read_assistant(in, d); break;
    case DrafterKind::dflash:
    case DrafterKind::dspark:
    case DrafterKind::dflash2:
    case DrafterKind::domino: config::read_block_drafter(in, d); break;
  }
  return d;
}

}  // namespace draftline
