// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/quantization_config.h"

#include <algorithm>

#include "core/json_parse.h"
#include "model/transformers/config_keys.h"
#include "model/transformers/module_formats.h"

namespace draftline {

namespace {

using config::given;

void add_note(const Reader& in, TransformerShape& shape, const std::string& note) {
  shape.notes.push_back(note);
  in.note(note);
}

// Its weights have no price unless the scenario gives them a format.
void not_priced(const Reader& in, TransformerShape& shape, const std::string& what) {
  shape.unknown_format = what;
  add_note(in, shape, "the checkpoint's " + what + " is unknown: the precision is that of the scenario");
}

constexpr int kScaleBits = 32, kHalfScaleBits = 16, kMostBlock = 1 << 16;

struct Checkpoint {
  std::string name = {};                    // none: as the format of most weights is called
  std::optional<LinearFormat> layers = {};  // of modules that no list names; none: of the activations
  std::vector<std::string> ignored = {};    // in the activations' format
  struct Named {
    std::vector<std::string> modules;
    LinearFormat format;
  };
  std::vector<Named> named = {};                // formats of single modules
  bool experts_only = false, head_too = false;  // head_too: the LM head as well, unless it is ignored
  std::optional<DType> kv_cache = {}, embedding = {};
};

std::vector<std::string> names_in(const Reader& in, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> names;
  if (const auto list = given(in, keys))
    for (const Reader& item : list->items()) names.push_back(item.text());
  return names;
}

LinearFormat layers_of(std::string_view name) { return format_named(name)->layers; }

void assume(const Reader& in, std::string_view key, const std::string& value) {
  if (!in.has(key)) in.note("lacks \"" + std::string(key) + "\": " + value + " is assumed");
}

int block_size(const Reader& in, std::string_view key, int otherwise) {
  const auto value = given(in, key);
  assume(in, key, std::to_string(otherwise));
  return value ? value->integer(-1, kMostBlock) : otherwise;
}

// gptq, awq: integers in groups of a matrix's inputs; -1: the whole column.
LinearFormat integer_groups(const Reader& in, bool zero_points) {
  const auto bits = given(in, {"bits", "w_bit"});
  const bool eight = bits && bits->integer(4, 8) == 8;
  if (bits && !eight && bits->integer(4, 8) != 4) bits->fail("only 4 and 8 bits are supported");
  LinearFormat f;
  f.weights = eight ? DType::int8 : DType::int4;
  const auto group = given(in, {"group_size", "q_group_size"});
  if (!bits) assume(in, "bits", "4");
  if (!group) assume(in, "group_size", "128");
  f.scales = {std::max(0, group ? group->integer(-1, kMostBlock) : 128), 1,
              kHalfScaleBits + (zero_points ? bits_of(f.weights) : 0)};
  return f;
}

// One side of a group of compressed-tensors, {"num_bits": 8, "type": "float", "strategy": "channel", ..}.
std::optional<DType> number_format(const Reader& in) {
  const int bits = in.at("num_bits").integer(1, 32);
  const auto type = given(in, "type");
  assume(in, "type", "int");
  const bool real = type && type->text() == "float";
  if (bits == 8) return real ? DType::fp8 : DType::int8;
  if (bits == 4) return real ? DType::fp4 : DType::int4;
  in.at("num_bits").fail("only 4 and 8 bits are supported");
  return std::nullopt;
}

WeightScales scales_of(const Reader& in, DType format) {
  const auto strategy = given(in, "strategy");
  const std::string how = strategy ? strategy->text() : "tensor";
  assume(in, "strategy", "one scale for each tensor");
  const auto symmetric = given(in, "symmetric");
  const int zero = symmetric && !symmetric->boolean() ? bits_of(format) : 0;
  if (how == "block") {
    WeightScales s{128, 128, kScaleBits};
    assume(in, "block_structure", "128 x 128");
    if (const auto block = given(in, "block_structure"); block && block->is_array() && block->size() == 2)
      s.outputs = block->item(0).positive_int(kMostBlock), s.inputs = block->item(1).positive_int(kMostBlock);
    return s;
  }
  if (how == "channel") return {0, 1, kScaleBits + zero};
  if (how == "tensor") return {0, 0, kScaleBits};
  if (how == "tensor_group") return {std::max(0, block_size(in, "group_size", 16)), 1, 8};
  if (how == "group") return {std::max(0, block_size(in, "group_size", 128)), 1, kHalfScaleBits + zero};
  strategy->fail("unknown strategy \"" + how + "\"");
  return {};
}

// `group`: of config_groups.
LinearFormat compressed(const Reader& group) {
  LinearFormat f;
  const Reader weights = group.at("weights");
  assume(group, "input_activations", "inputs in the activations' format");
  if (const auto format = number_format(weights)) {
    f.weights = *format;
    f.scales = scales_of(weights, *format);
  }
  if (const auto inputs = given(group, "input_activations")) {
    f.inputs = number_format(*inputs);
    const auto strategy = given(*inputs, "strategy");
    const bool grouped = strategy && strategy->text().find("group") != std::string::npos;
    if (f.inputs && grouped) {
      f.input_scales.group = std::max(0, block_size(*inputs, "group_size", 128));
      if (bits_of(*f.inputs) == 4) f.input_scales.format = DType::fp8;
    }
    // The scales are static unless "dynamic" says otherwise, as compressed-tensors reads it; a token's scales can't be
    // known in advance.
    const auto dynamic = given(*inputs, "dynamic");
    const bool known = !dynamic || (dynamic->is_boolean() && !dynamic->boolean());
    const bool whole = !strategy || strategy->text() == "tensor";
    f.static_inputs = f.weights == DType::fp8 && f.inputs == DType::fp8 && known && whole;
  }
  return f;
}

std::optional<DType> kv_format(const Reader& in, TransformerShape& shape) {
  if (!in.has("kv_cache_quant_algo")) assume(in, "kv_cache_scheme", "a KV cache in the activations' format");
  const auto scheme = given(in, "kv_cache_scheme");
  if (!scheme) return std::nullopt;
  if (scheme->is_string()) {
    const std::string word = scheme->text();
    if (word.find("fp8") != std::string::npos || word.find("FP8") != std::string::npos) return DType::fp8;
  } else if (number_format(*scheme) == DType::fp8) {
    return DType::fp8;
  }
  add_note(in, shape, "the checkpoint's KV cache format is ignored: only fp8 is modelled");
  return std::nullopt;
}

// The groups of compressed-tensors: each has a format and its targets, which are names of modules or "Linear".
std::optional<Checkpoint> compressed_tensors(const Reader& in, TransformerShape& shape) {
  Checkpoint c{
      .ignored = names_in(in, {"ignore", "exclude_modules"}), .head_too = true, .kv_cache = kv_format(in, shape)};
  assume(in, "ignore", "no module in 16 bits, the LM head included,");
  for (const auto& [name, group] : in.at("config_groups").entries()) {
    const LinearFormat format = compressed(group);
    const auto targets = given(group, "targets") ? names_in(group, {"targets"}) : std::vector<std::string>{"Linear"};
    if (std::find(targets.begin(), targets.end(), "Linear") == targets.end()) c.named.push_back({targets, format});
    else if (!c.layers) c.layers = format;
  }
  if (!c.layers && c.named.empty()) in.at("config_groups").fail("has no group");
  return c;
}

// quant_algo of ModelOpt; null: not quantised, or not known.
std::optional<LinearFormat> of_algorithm(const Reader& algo, const Reader& in) {
  const std::string name = algo.text();
  if (name == "FP8") return layers_of("fp8-static");
  if (name == "FP8_PER_CHANNEL_PER_TOKEN") return layers_of("fp8");
  if (name == "FP8_PB_WO" || name == "FP8_BLOCK_SCALES") return layers_of("fp8-block");
  if (name == "NVFP4") {
    LinearFormat f = layers_of("nvfp4");
    if (const auto group = given(in, "group_size")) f.scales.inputs = group->positive_int(kMostBlock);
    return f;
  }
  if (name == "MXFP4") return layers_of("mxfp4");
  if (name == "MXFP8") return LinearFormat{DType::fp8, {32, 1, 8}, DType::fp8, {32, DType::fp8}, false};
  if (name == "W4A16_AWQ" || name == "NVFP4_AWQ") {
    LinearFormat f = name == "NVFP4_AWQ" ? layers_of("nvfp4") : layers_of("int4");
    if (name == "W4A16_AWQ") f.scales.inputs = std::max(0, block_size(in, "group_size", 128));
    return f;
  }
  if (name == "INT8_SQ" || name == "W8A8_SQ_PER_CHANNEL") return layers_of("int8-w8a8");
  if (name == "W8A16") return layers_of("int8");
  if (name == "W4A16_NVFP4" || name == "W4A16_MXFP4") {
    LinearFormat f = layers_of(name == "W4A16_NVFP4" ? "nvfp4" : "mxfp4");
    if (const auto group = given(in, "group_size")) f.scales.inputs = group->positive_int(kMostBlock);
    return LinearFormat{f.weights, f.scales, {}, {}, false};
  }
  return std::nullopt;
}

// MIXED_PRECISION of ModelOpt: an algorithm for each module; the others have the activations' format.
std::vector<Checkpoint::Named> formats_of_modules(const Reader& list) {
  std::vector<Checkpoint::Named> all;
  for (const auto& [module, in] : list.entries()) {
    const Reader algo = in.at("quant_algo");
    const auto format = of_algorithm(algo, in);
    if (!format) {
      if (algo.is_string()) algo.fail("\"" + printable(algo.text(), 100) + "\" is not modelled");
      continue;
    }
    const auto like = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.format == *format; });
    if (like == all.end()) all.push_back({{module}, *format});
    else like->modules.push_back(module);
  }
  return all;
}

std::optional<Checkpoint> modelopt(const Reader& in, TransformerShape& shape) {
  const auto algo = given(in, "quant_algo");
  if (!algo) return given(in, "config_groups") ? compressed_tensors(in, shape) : std::nullopt;
  Checkpoint c{.ignored = names_in(in, {"ignore", "exclude_modules"}), .head_too = true};
  const auto modules = given(in, "quantized_layers");
  if (algo->text() == "MIXED_PRECISION" && modules) {
    c.named = formats_of_modules(*modules);
  } else if (algo->text() == "MIXED_PRECISION") {
    return compressed_tensors(in, shape);
  } else if (c.layers = of_algorithm(*algo, in); !c.layers) {
    not_priced(in, shape, "quant_algo \"" + printable(algo->text(), 100) + "\"");
    return std::nullopt;
  } else if (!given(in, "exclude_modules")) {
    assume(in, "ignore", "no module in 16 bits, the LM head included,");
  }
  c.kv_cache = kv_format(in, shape);
  if (const auto kv = given(in, "kv_cache_quant_algo")) {
    if (kv->text() == "FP8") c.kv_cache = DType::fp8;
    else add_note(in, shape, "the checkpoint's KV cache format is ignored: only fp8 is modelled");
  }
  return c;
}

// MLX: a scale and an offset for each group, of the embedding and the LM head too, or a format with shared scales.
// Beside them lie the formats of single modules; false leaves one as it is.
LinearFormat mlx_format(const Reader& in, const Reader& of_all) {
  const auto mode = given(of_all, "mode");
  const std::string how = mode ? mode->text() : "affine";
  if (how == "mxfp4" || how == "nvfp4") {
    const LinearFormat f = layers_of(how);
    return {f.weights, f.scales, {}, {}, false};
  }
  const Reader bits = in.at("bits");
  const int n = bits.integer(1, 8);
  if (how != "affine") mode->fail("\"" + printable(how, 100) + "\" is not modelled; known: affine, mxfp4, nvfp4");
  else if (n < 4)
    bits.fail(
        "weights of less than 4 bits are not modelled; price a format of 4 bits: \"quantization\" removed in a "
        "copy, and \"precision\" in the scenario");
  const int group = in.at("group_size").positive_int(kMostBlock), beside = 2 * kHalfScaleBits;
  if (n == 8) return {DType::int8, {group, 1, beside}, {}, {}, false};
  return {DType::int4, {group, 1, beside + (n - 4) * group}, {}, {}, false};  // further bits count as scales
}

Checkpoint mlx(const Reader& in) {
  Checkpoint c{.name = "mlx", .layers = mlx_format(in, in), .head_too = true};
  c.embedding = c.layers->weights;
  for (const auto& [module, own] : in.entries()) {
    if (own.is_boolean() && !own.boolean()) c.ignored.push_back(module);
    else if (own.is_object()) c.named.push_back({{module}, mlx_format(own, in)});
  }
  return c;
}

std::optional<Checkpoint> read_method(const Reader& in, TransformerShape& shape) {
  const auto method = given(in, "quant_method");
  const std::string name = method ? method->text() : given(in, "quant_algo") ? "modelopt" : "";
  const auto ignored = [&] { return names_in(in, {"modules_to_not_convert", "ignored_layers"}); };
  if (name == "fp8") {
    const auto scheme = given(in, "activation_scheme");
    LinearFormat f = layers_of(scheme && scheme->text() == "static" ? "fp8-static" : "fp8");
    if (!scheme || scheme->text() != "static") assume(in, "weight_block_size", "one scale for each matrix");
    if (const auto block = given(in, "weight_block_size")) {
      f = layers_of("fp8-block");
      const auto sizes = block->items();
      if (sizes.size() != 2) {
        block->fail("must be the two sizes of a block");
      } else {
        f.scales.outputs = sizes[0].positive_int(kMostBlock);
        f.input_scales.group = f.scales.inputs = sizes[1].positive_int(kMostBlock);
      }
    }
    Checkpoint c{.layers = f, .ignored = ignored()};
    if (const auto modules = given(in, "quantized_layers")) {  // ModelOpt's, of experts in another format
      c.named = formats_of_modules(*modules);
      for (const char* key : {"group_size", "quant_algo"}) given(in, key);  // which each module repeats
    }
    return c;
  }
  if (name == "compressed-tensors") return compressed_tensors(in, shape);
  if (name.starts_with("modelopt")) return modelopt(in, shape);
  if (name.empty() && given(in, "bits") && given(in, "group_size")) return mlx(in);
  if (name.empty() && in.has("quant_algo")) return std::nullopt;  // null: ModelOpt left the weights as they are
  if (name == "mxfp4") return Checkpoint{.layers = layers_of("mxfp4"), .ignored = ignored(), .experts_only = true};
  if (name == "gptq") {  // its files have packed zero points even where it is symmetric
    const auto head = given(in, "lm_head");
    return Checkpoint{.name = name, .layers = integer_groups(in, true), .head_too = head && head->boolean()};
  }
  if (name == "awq") {
    const auto zero = given(in, "zero_point");
    return Checkpoint{.name = name, .layers = integer_groups(in, !zero || zero->boolean()), .ignored = ignored()};
  }
  if (name == "bitsandbytes") {
    const auto four = given(in, "load_in_4bit");
    LinearFormat f = layers_of(four && four->boolean() ? "int4" : "int8");
    if (f.weights == DType::int4) f.scales = {64, 1, kScaleBits};
    return Checkpoint{.layers = f, .ignored = names_in(in, {"llm_int8_skip_modules"})};
  }
  not_priced(in, shape, "quant_method \"" + printable(name, 100) + "\"");
  return std::nullopt;
}

std::string name_of(const LinearFormat& f) {
  for (const NamedFormat& known : named_formats())
    if (!known.gguf && known.layers == f) return std::string(known.name);
  for (const NamedFormat& known : named_formats())
    if (!known.gguf && known.layers.same_products(f)) return std::string(known.name);
  const int inputs = f.inputs ? bits_of(*f.inputs) : 16;
  return std::string(name(f.weights)) + "-w" + std::to_string(bits_of(f.weights)) + "a" + std::to_string(inputs);
}

void note_mix(const Reader& in, TransformerShape& shape, const FormatMix& mix, std::string_view what) {
  constexpr double kLeast = 0.995;  // of the weights in one format: the others are a router's or a few gates'
  if (mix.mixed() && mix.share(mix.usual()) < kLeast)
    add_note(in, shape,
             "the checkpoint's " + std::string(what) + " differ in format (" + mix.text() +
                 " of the weights): priced with the bytes of all, computed in the format of most");
}

Precision precision_of(const Reader& in, const Checkpoint& c, DType activations, TransformerShape& shape) {
  const LinearFormat plain = Precision(activations).mlp, layers = c.layers.value_or(plain);
  ModuleFormats formats{.rules = {}, .otherwise = layers, .plain = plain, .head = c.head_too ? layers : plain};
  formats.rules.push_back({ModuleList(c.ignored), std::nullopt});
  for (const Checkpoint::Named& n : c.named) formats.rules.push_back({ModuleList(n.modules), n.format});
  const ClassMixes mixes = formats.of(shape);
  const auto mean = [&](const FormatMix& mix) { return mix.empty() ? layers : mix.mean(); };
  const FormatMix& most = mixes.experts.empty() ? mixes.mlp : mixes.experts;
  const LinearFormat usual = most.empty() ? layers : most.usual();
  Precision p(c.name.empty() ? name_of(usual == plain ? layers : usual) : c.name, layers, activations);
  p.attention = mean(mixes.attention);
  p.mlp = mean(mixes.mlp);
  p.experts = mean(mixes.experts);
  p.lm_head = mean(mixes.lm_head);
  if (c.experts_only) p.attention = p.mlp = plain;
  if (c.embedding) p.embedding = *c.embedding;
  if (!c.experts_only) {
    note_mix(in, shape, mixes.attention, "attention modules");
    note_mix(in, shape, mixes.mlp, "MLPs");
  }
  note_mix(in, shape, mixes.experts, "experts");
  for (const ModuleRule& rule : formats.rules)
    if (!rule.modules.not_understood().empty())
      add_note(in, shape,
               "modules that the checkpoint may keep in 16 bits by \"" +
                   printable(rule.modules.not_understood().front(), 100) + "\" are priced as quantised");
  if (c.kv_cache && *c.kv_cache != activations) {
    p.kv_cache = *c.kv_cache;
    p.name += ",kv_cache:" + std::string(name(p.kv_cache));
  }
  return p;
}

std::optional<Precision> read_from(const Reader& in, DType activations, TransformerShape& shape) {
  const auto checkpoint = read_method(in, shape);
  if (!checkpoint || in.failed()) return std::nullopt;
  return precision_of(in, *checkpoint, activations, shape);
}

// DeepSeek-V4's experts have a format of their own, which V4.1 has beside the others.
void read_expert_format(const Reader& config, const Reader& in, Precision& p) {
  const auto own = given(given(config, "expert_dtype") ? config : in, "expert_dtype"),
             other = given(in, "moe_quant_algo");
  if (!own || own->text() == "fp8") return;
  if (own->text() != "fp4") return own->fail("is not modelled; known: fp4, fp8");
  p.experts = layers_of(other && other->text() == "NVFP4" ? "nvfp4" : "mxfp4");
  p.name += ",experts:" + std::string(name(p.experts.weights));
}

}  // namespace

std::optional<Precision> read_checkpoint_precision(const Reader& config, TransformerShape& shape) {
  const auto dtype = given(config, {"torch_dtype", "dtype"});
  const DType activations = dtype && dtype->text() == "float16" ? DType::fp16 : DType::bf16;
  for (const auto key : {"quantization_config", "quantization"})  // MLX writes both, once by each name
    if (const auto in = given(config, key)) {
      auto p = read_from(*in, activations, shape);
      if (p && shape.experts() != nullptr) read_expert_format(config, *in, *p);
      return p;
    }
  const auto beside = config.file().parent_path() / "hf_quant_config.json";
  if (config.file().filename() != "config.json" || !config.files().is_file(beside)) return std::nullopt;
  try {
    const Document document = Document::below(config, beside);
    const auto in = given(document.root(), "quantization");
    auto precision = in ? read_from(*in, activations, shape) : std::nullopt;
    document.finish();
    return precision;
  } catch (const InputErrors& mistakes) {
    config.pass_on(mistakes);
    return std::nullopt;
  }
}

}  // namespace draftline
