// SPDX-License-Identifier: Apache-2.0
// Readers for keys of a config.json that mean the same in all architectures. Each reads one key, or a few that belong
// together, into the network, with the default of the calling family. A key with null counts as absent.
#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "model/transformers/config_network.h"

namespace draftline::config {

// Larger sizes are typing errors; within these limits every product below fits its type.
constexpr int kMostColumns = 1 << 20, kMostLayers = 1 << 14, kMostVocabulary = 1 << 26, kMostPositions = 1 << 30;
constexpr int kMostStackedRows = 1 << 30;  // over all experts: matrices count their rows with int

std::optional<Reader> given(const Reader&, std::string_view key);
std::optional<Reader> given(const Reader&, std::initializer_list<std::string_view> keys);  // the first one present
int needed(const Reader&, std::initializer_list<std::string_view> keys, int most);
bool flag(const Reader&, std::string_view key, bool otherwise);
// A note, at this key, of a part of the network that is not priced as it is.
void note_unpriced(const Reader& key, ConfigNetwork&, const std::string& note);
void refuse(const Reader&, std::string_view key, std::string why);                  // notes a mistake if it is true
void demand(const Reader&, std::string_view key, bool otherwise, std::string why);  // ... if it is false
void demand_word(const Reader&, std::string_view key, std::string_view word, std::string why);  // if it differs

void read_epsilon(const Reader&, std::string_view key, double otherwise, ConfigNetwork&);
void read_biases(const Reader&, ConfigNetwork&);  // by "attention_bias", of the matrices before and behind attention
void read_tied(const Reader&, bool otherwise, ConfigNetwork&);
double read_theta(const Reader&);
void read_activation(const Reader&, std::string_view key, std::initializer_list<std::string_view> same);
// `kv_default`: whether an absent num_key_value_heads means as many as heads. Otherwise the key is required:
// transformers has its own constant, on which no real file relies.
void read_heads(const Reader&, ConfigNetwork&, bool kv_default);
// `otherwise`: the value of an absent key; 0: the hidden size divided by the heads.
void read_head_dim(const Reader&, ConfigNetwork&, std::string_view key = "head_dim", int otherwise = 0);
// Notes a mistake if the heads are not a multiple of the KV heads, have too many columns, or rotate an odd number of
// columns.
void check_heads(const Reader&, const ConfigNetwork&);
double yarn_scale(double factor, double mscale);  // YaRN's attention factor (Peng et al. 2023, equation 22)
// Reads `rope_scaling`. `config`: the object that contains it; some kinds of scaling need its maximum positions.
void read_scaling(const Reader&, const Reader& config, ConfigNetwork&);
// Reads rope_theta and rope_scaling, or rope_parameters, which contains both, for all layers or by kind of layer.
void read_rope(const Reader&, ConfigNetwork&);
void read_positions(const Reader&, int otherwise, ConfigNetwork&);
// Reads each layer's kind of attention from layer_types. Without that key, the layers for which `windowed` is true get
// the windowed kind. A window that no text fills counts as no window. The shape's layers and positions must be known.
using WhichLayers = std::function<bool(int)>;
void read_layer_types(const Reader&, AttentionKind windowed_kind, std::optional<int> window,
                      const WhichLayers& windowed, ConfigNetwork&);
// Whether a list has an entry for each layer; if not, notes that.
bool one_for_each_layer(const Reader& list, int entries, const ConfigNetwork&);
// Reads the tokens of `sliding_window`. `otherwise`: the value of an absent key. A null means no window.
std::optional<int> read_window(const Reader&, std::optional<int> otherwise);
// Reads `sliding_window`, which holds for all layers unless layer_types says otherwise. `otherwise`: the value of an
// absent key. A null means no window.
void read_sliding_window(const Reader&, std::optional<int> otherwise, ConfigNetwork&);

// ---- what Llama and its descendants say alike
inline constexpr auto kNoOutputBias = "a bias on the attention's output is not modelled";

// Reads sizes and rope; the MLP's columns are `intermediate_size`.
void read_ungated(const Reader&, ConfigNetwork&);
void read_gated(const Reader&, ConfigNetwork&);  // also the activation, SiLU

// What families built like Llama take absent keys to mean, and what they have that is no key.
struct Defaults {
  bool kv_heads_may_lack = false;  // then as many as heads
  int positions;
  double epsilon;
  int head_dim = 0;  // 0: the hidden size's share
  double theta = 10000;
  QkNorm qk_norm = QkNorm::none;
};
void read_like_llama(const Reader&, const Defaults&, ConfigNetwork&);

}  // namespace draftline::config
