// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/block_drafter_config.h"

#include <algorithm>
#include <array>
#include <string>

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
};

struct KindOfBlock {
  DrafterKind kind;
  std::string_view name;  // of the method, of speculators' type, and of ModelOpt's projector
  std::array<std::string_view, 2> architectures;
};
constexpr std::array kKinds{
    KindOfBlock{DrafterKind::dflash, "dflash", {"DFlashDraftModel", "DFlashSpeculator"}},
    KindOfBlock{DrafterKind::dspark, "dspark", {"Qwen3DSparkModel", "DSparkDraftModel"}},
    KindOfBlock{DrafterKind::dflash2, "dflash2", {"DFlash2DraftModel", "DFlash2Speculator"}},
};

const KindOfBlock& about(DrafterKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const KindOfBlock& k) { return k.kind == kind; });
}

// Notes a drafter of another kind than the method's. ModelOpt names all of them DFlash and says which by the projector.
void check_kind(const Form& f, const KindOfBlock& wanted) {
  const auto check = [&](const Reader& in, const std::string& found) {
    if (found != wanted.name)
      in.fail("is of a \"" + found + "\" drafter, the method is \"" + std::string(wanted.name) + "\"");
  };
  if (f.speculators) {
    const Reader type = f.root.at("speculators_model_type");
    return check(type, type.text());
  }
  if (const auto projector = f.find("projector_type")) return check(*projector, projector->text());
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

// z-lab, ModelOpt and DeepSpec count what leaves a layer, -1 being the embedding; speculators what enters it.
void read_states(const Form& f, DrafterConfig& d) {
  constexpr std::size_t kMost = 16;
  const auto ids = f.speculators ? std::optional(f.root.at("aux_hidden_state_layer_ids")) : f.find("target_layer_ids");
  if (!ids) return;
  const int later = f.speculators ? 0 : 1;
  for (const Reader& id : ids->items()) d.auxiliary_layers.push_back(id.integer(-later, kMostLayers) + later);
  if (d.auxiliary_layers.empty() || d.auxiliary_layers.size() > kMost)
    ids->fail("must be 1 to " + std::to_string(kMost) + " layers of the target");
}

// Windows are those of layer_types; or of all layers where no layer_types has one and "use_swa" says so (vLLM's rule,
// and how ModelOpt writes a window).
void read_windows(const Form& f, DrafterConfig& d) {
  for (int i = 0; i < d.layers; ++i)
    d.block.windows.push_back(d.layer.layer(i).attention == AttentionKind::full ? 0 : d.layer.window);
  const auto swa = f.find("use_swa");
  if (!swa || !swa->boolean()) return;
  if (std::any_of(d.block.windows.begin(), d.block.windows.end(), [](int w) { return w > 0; })) return;
  auto window = f.find("swa_window_size");
  if (!window) window = f.find("sliding_window");
  if (window) std::fill(d.block.windows.begin(), d.block.windows.end(), window->positive_int(kMostPositions));
  else swa->fail("needs \"swa_window_size\" or \"sliding_window\"");
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
  const auto needed = [&](std::string_view key, int most) {
    const auto in = f.find(key);
    return in ? in->integer(1, most) : f.nested.value_or(f.root).at(key).integer(1, most);
  };
  d.block.conv_taps = needed("conv_kernel_size", 16);
  d.block.conv_group = needed("conv_group_size", kMostColumns);
  d.block.selector_rank = needed("selector_rank", 4096);
  d.block.selector_top_k = needed("selector_top_k", 64);
}

}  // namespace

void read_block_drafter(const Reader& in, DrafterConfig& d) {
  constexpr int kMostBlockLayers = 32, kMostRows = 65;
  const bool speculators = given(in, "speculators_model_type").has_value();
  const Form f{speculators, in, speculators ? in.at("transformer_layer_config") : in, given(in, "dflash_config")};
  check_kind(f, about(d.kind));
  if (in.failed()) return;
  d.layer = read_transformer_as("Qwen3ForCausalLM", f.layer);
  if (in.failed()) return;
  d.layers = d.layer.layers;
  if (d.layers > kMostBlockLayers)
    return f.layer.at("num_hidden_layers").fail("more than " + std::to_string(kMostBlockLayers) + " are not modelled");
  if (d.layer.qkv_bias || d.layer.o_bias)
    f.layer.at("attention_bias").fail("biases of a block drafter are not modelled");
  if (const auto width = f.find("target_hidden_size"); width && width->positive_int() != d.layer.hidden)
    width->fail("a drafter of another hidden size than its target's is not modelled");
  if (speculators) {  // with tables of its own
    const auto own = given(in, "draft_vocab_size");
    d.vocabulary = own ? own->positive_int(kMostVocabulary) : d.layer.vocabulary;
    if (own && d.vocabulary > d.layer.vocabulary) own->fail("is larger than the target's vocabulary");
    if (own && d.vocabulary < d.layer.vocabulary && d.kind == DrafterKind::dflash2)
      own->fail("a selector over a part of the vocabulary is not modelled");
  }
  read_states(f, d);
  read_windows(f, d);
  d.block.rows = f.number("block_size", 1, kMostRows, 0);
  if (const auto mask = f.find("mask_token_id")) d.mask_token = mask->integer(0, kMostVocabulary);
  const bool root_predicts = d.kind == DrafterKind::dspark;
  if (const auto anchor = f.find("sample_from_anchor"); anchor && anchor->boolean() != root_predicts)
    anchor->fail(root_predicts ? "a DSpark whose root's row predicts nothing is not modelled"
                               : "a block whose root's row predicts a draft is modelled as DSpark's alone");
  if (root_predicts) read_markov_head(f, d);
  if (d.kind == DrafterKind::dflash2) read_selector(f, d);
}

}  // namespace draftline::config
