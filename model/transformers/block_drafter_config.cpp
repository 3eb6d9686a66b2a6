// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/block_drafter_config.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/int_indexed.h"
#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"

namespace draftline::config {

namespace {

// A drafter's config.json in one of its forms: where the keys of its layers are, and those of the block.
struct Form {
  bool speculators;
  Reader root, layer;
  std::optional<Reader> nested;  // z-lab's "dflash_config", which some keys are in, some beside, by the file's age

  std::optional<Reader> find(std::string_view key) const {
    if (nested)
      if (auto inside = given(*nested, key)) return inside;
    return given(root, key);
  }
  int number(std::string_view key, int least, int most, int otherwise) const {
    const auto in = find(key);
    return in ? in->integer(least, most) : otherwise;
  }
  int needed(std::string_view key, int most) const {
    const auto in = find(key);
    return in ? in->integer(1, most) : nested.value_or(root).at(key).integer(1, most);
  }
};

constexpr int kMostRows = 65;

struct KindOfBlock {
  DrafterKind kind;
  std::string_view name;  // of the method, of speculators' type, and of ModelOpt's projector
  std::array<std::string_view, 2> architectures;
};
constexpr std::array kKinds{
    KindOfBlock{DrafterKind::dflash, "dflash", {"DFlashDraftModel", "DFlashSpeculator"}},
    KindOfBlock{DrafterKind::dspark, "dspark", {"Qwen3DSparkModel", "DSparkDraftModel"}},
    KindOfBlock{DrafterKind::dflash2, "dflash2", {"DFlash2DraftModel", "DFlash2Speculator"}},
    KindOfBlock{DrafterKind::domino, "domino", {"DominoDraftModel"}},
};

const KindOfBlock& about(DrafterKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const KindOfBlock& k) { return k.kind == kind; });
}

// Notes a drafter of another kind than the method's. ModelOpt names all of them DFlash and says which by the projector.
void check_kind(const Form& f, const KindOfBlock& wanted) {
  const auto check = [&](const Reader& in, const std::string& found) {
    if (found != wanted.name)
      in.fail("belongs to a \"" + found + "\" drafter, but the method is \"" + std::string(wanted.name) + "\"");
  };
  if (f.speculators) {
    const Reader type = f.root.at("speculators_model_type");
    if (wanted.kind == DrafterKind::domino)
      return type.fail("Domino in the form of the speculators library is not modelled");
    check(type, type.text());
  }
  if (const auto projector = f.find("projector_type")) return check(*projector, projector->text());
  if (f.speculators) return;
  const auto names = given(f.root, "architectures");
  if (!names) return;
  for (const Reader& name : names->items()) {
    const auto known = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindOfBlock& k) {
      return std::find(k.architectures.begin(), k.architectures.end(), name.text()) != k.architectures.end();
    });
    if (known != kKinds.end()) check(name, std::string(known->name));
    else name.fail("a block drafter of the architecture \"" + name.text() + "\" is not modelled");
  }
}

// z-lab, ModelOpt and DeepSpec count what leaves a layer, speculators what enters it.
void read_block_states(const Form& f, DrafterConfig& d) {
  if (f.speculators) return read_states(f.root.at("aux_hidden_state_layer_ids"), 0, d);
  if (const auto ids = f.find("target_layer_ids")) read_states(*ids, 1, d);
}

// layer_types says which layers have a window; where it names none, "use_swa" gives one to all layers. The window's
// length is "swa_window_size", else "sliding_window". This is vLLM's rule, and how ModelOpt writes windows.
void read_windows(const Form& f, DrafterConfig& d) {
  d.windows.assign(at(d.layers), 0);
  std::vector<bool> slides(d.windows.size());
  if (const auto types = given(f.layer, "layer_types")) {  // a word for each layer, as reading these has found
    const auto each = types->items();
    for (std::size_t i = 0; i < slides.size(); ++i) slides[i] = each[i].text() == "sliding_attention";
  }
  const bool any = std::find(slides.begin(), slides.end(), true) != slides.end();
  const auto swa = f.find("use_swa");
  const bool all = !any && swa && swa->boolean();
  if (!any && !all) return;
  auto window = f.find("swa_window_size");
  if (!window) window = given(f.layer, "sliding_window");
  if (!window) return f.root.fail("a window requires \"swa_window_size\" or \"sliding_window\"");
  const int entries = window->positive_int(kMostPositions);
  for (std::size_t i = 0; i < slides.size(); ++i)
    if (slides[i] || all) d.windows[i] = entries;
}

// Whether rows of a block see those behind them: what the file says of all layers, else not in layers with a window, as
// vLLM has it and as the speculators library trains them unless told otherwise.
void read_causality(const Form& f, DrafterConfig& d) {
  const auto of_all = f.find(given(f.root, "is_causal") ? "is_causal" : "causal");
  const auto both_ways = given(f.root, "sliding_window_non_causal");
  const bool windowed = !(both_ways && both_ways->boolean());
  for (const int window : d.windows) d.block.causal.push_back(of_all ? of_all->boolean() : windowed && window > 0);
}

void read_markov_head(const Form& f, DrafterConfig& d) {
  if (const auto type = f.find("markov_head_type"); type && type->text() != "vanilla")
    type->fail("only the \"vanilla\" Markov head is modelled");
  const auto rank = f.find("markov_rank");
  if (rank) d.block.markov_rank = rank->integer(1, 4096);
  else if (f.speculators) d.block.markov_rank = 256;
  else f.root.at("markov_rank").integer(1, 4096);
}

void read_selector(const Form& f, DrafterConfig& d) {
  d.block.conv_taps = f.needed("conv_kernel_size", 16);
  d.block.conv_group = f.needed("conv_group_size", kMostColumns);
  d.block.selector_rank = f.needed("selector_rank", 4096);
  d.block.selector_top_k = f.needed("selector_top_k", 64);
}

// Without "shift_label" the authors' code has DFlash's rows, whose root predicts nothing.
void read_domino_head(const Form& f, DrafterConfig& d) {
  if (const auto shift = f.find("shift_label"); !shift || !shift->boolean())
    shift.value_or(f.nested.value_or(f.root)).fail("only a Domino drafter with \"shift_label\": true is modelled");
  d.block.domino = {f.needed("gru_hidden_dim", 1 << 16), f.needed("emb_dim", 4096),
                    f.number("pure_draft_prefix_len", 0, kMostRows, 0)};
}

// Their layers are Qwen3's, whatever the target's are.
void check_layer(const Form& f) {
  if (const auto type = given(f.layer, "model_type"); type && type->text() != "qwen3")
    type->fail("a block drafter with layers of \"" + type->text() + "\" is not modelled; known: \"qwen3\"");
  if (!f.speculators && !f.nested && !f.find("target_layer_ids"))
    f.root.fail("is not a block drafter's config.json: it has neither \"dflash_config\" nor \"target_layer_ids\"");
}

Form form_of(const Reader& in) {
  const bool speculators = given(in, "speculators_model_type").has_value();
  return {speculators, in, speculators ? in.at("transformer_layer_config") : in, given(in, "dflash_config")};
}

}  // namespace

void refuse_scales(const Reader& in) {
  const Form f = form_of(in);
  for (const char* scale : {"input_embedding_scale", "output_multiplier", "attention_value_scale"})
    if (const auto found = f.find(scale); found && found->number() != 1)
      found->fail("a block drafter with a scale can be priced, but not decoded");
  if (const auto cap = f.find("final_logit_softcapping"); cap && cap->number() > 0)
    cap->fail("a block drafter with capped logits can be priced, but not decoded");
}

void read_block_drafter(const Reader& in, DrafterConfig& d) {
  constexpr int kMostBlockLayers = 32;
  const Form f = form_of(in);
  check_kind(f, about(d.kind));
  check_layer(f);
  if (in.failed()) return;
  d.network = read_transformer_as("Qwen3ForCausalLM", f.layer);
  if (in.failed()) return;
  d.layer = d.network.usual_layer();
  std::get<HeadAttention>(d.layer.attention).window.reset();  // which read_windows() decides
  d.layers = d.network.layers();
  if (d.layers > kMostBlockLayers)
    return f.layer.at("num_hidden_layers").fail("more than " + std::to_string(kMostBlockLayers) + " are not modelled");
  if (d.layer.heads()->qkv_bias || d.layer.heads()->o_bias)
    f.layer.at("attention_bias").fail("biases of a block drafter are not modelled");
  refuse_other_width(in, d);
  if (f.speculators) {  // which stores tables of its own
    read_own_head(in, d);
    d.own_embedding = true;
    if (d.vocabulary < d.network.vocabulary && d.kind == DrafterKind::dflash2)
      in.at("draft_vocab_size").fail("a selector over a part of the vocabulary is not modelled");
  }
  read_block_states(f, d);
  read_windows(f, d);
  read_causality(f, d);
  d.block.rows = f.number("block_size", root_predicts(d.kind) ? 1 : 2, kMostRows, 0);
  if (const auto mask = f.find("mask_token_id")) d.mask_token = mask->integer(0, d.network.vocabulary - 1);
  if (const auto anchor = f.find("sample_from_anchor"); anchor && anchor->boolean() != root_predicts(d.kind))
    anchor->fail(root_predicts(d.kind) ? "a DSpark drafter whose root row predicts nothing is not modelled"
                                       : "a block whose root row predicts a draft is only modelled for DSpark");
  if (d.kind == DrafterKind::dspark) read_markov_head(f, d);
  if (d.kind == DrafterKind::dflash2) read_selector(f, d);
  if (d.kind == DrafterKind::domino) read_domino_head(f, d);
}

void read_states(const Reader& ids, int later, DrafterConfig& d) {
  constexpr std::size_t kMost = 16;
  for (const Reader& id : ids.items()) d.auxiliary_layers.push_back(id.integer(-later, kMostLayers) + later);
  if (d.auxiliary_layers.empty() || d.auxiliary_layers.size() > kMost)
    ids.fail("must be 1 to " + std::to_string(kMost) + " layers of the target");
}

void refuse_other_width(const Reader& in, const DrafterConfig& d) {
  if (const auto width = given(in, "target_hidden_size"); width && width->positive_int() != d.network.hidden)
    width->fail("a drafter with another hidden size than its target is not modelled");
}

void read_own_head(const Reader& in, DrafterConfig& d) {
  const auto own = given(in, "draft_vocab_size");
  d.vocabulary = own ? own->positive_int(kMostVocabulary) : d.network.vocabulary;
  if (own && d.vocabulary > d.network.vocabulary) own->fail("is larger than the target's vocabulary");
}

}  // namespace draftline::config
