// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/quantization_config.h"

#include "core/json_parse.h"
#include "model/transformers/config_keys.h"
#include "model/transformers/ignored_modules.h"

namespace draftline {

namespace {

using config::given;

void add_note(const Reader& in, TransformerShape& shape, const std::string& note) {
  shape.notes.push_back(note);
  in.note(note);
}

constexpr int kScaleBits = 32, kHalfScaleBits = 16, kMostBlock = 1 << 16;

struct Checkpoint {
  std::string name = {};  // none: as the format is called
  LinearFormat layers;
  std::vector<std::string> ignored = {};
  bool experts_only = false, head_too = false;  // head_too: the LM head as well, unless it is ignored
  std::optional<DType> kv_cache = {};
};

std::vector<std::string> names_in(const Reader& in, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> names;
  if (const auto list = given(in, keys))
    for (const Reader& item : list->items()) names.push_back(item.text());
  return names;
}

LinearFormat layers_of(std::string_view name) { return format_named(name)->layers; }

int block_size(const Reader& in, std::string_view key, int otherwise) {
  const auto value = given(in, key);
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
  f.scales = {std::max(0, group ? group->integer(-1, kMostBlock) : 128), 1,
              kHalfScaleBits + (zero_points ? bits_of(f.weights) : 0)};
  return f;
}

// One side of a group of compressed-tensors, {"num_bits": 8, "type": "float", "strategy": "channel", ..}.
std::optional<DType> number_format(const Reader& in) {
  const int bits = in.at("num_bits").integer(1, 32);
  const auto type = given(in, "type");
  const bool real = type && type->text() == "float";
  if (bits == 8) return real ? DType::fp8 : DType::int8;
  if (bits == 4) return real ? DType::fp4 : DType::int4;
  in.at("num_bits").fail("only 4 and 8 bits are supported");
  return std::nullopt;
}

WeightScales scales_of(const Reader& in, DType format) {
  const auto strategy = given(in, "strategy");
  const std::string how = strategy ? strategy->text() : "tensor";
  const auto symmetric = given(in, "symmetric");
  const int zero = symmetric && !symmetric->boolean() ? bits_of(format) : 0;
  if (how == "block") {
    WeightScales s{128, 128, kScaleBits};
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
  const auto scheme = given(in, "kv_cache_scheme");
  if (!scheme) return std::nullopt;
  const auto format = number_format(*scheme);
  if (format == DType::fp8) return format;
  add_note(in, shape, "the checkpoint's KV cache format is ignored: only fp8 is modelled");
  return std::nullopt;
}

std::optional<Checkpoint> compressed_tensors(const Reader& in, TransformerShape& shape) {
  const auto groups = in.at("config_groups").entries();
  if (groups.empty()) return std::nullopt;
  if (groups.size() > 1)
    add_note(in, shape,
             "the checkpoint has " + std::to_string(groups.size()) +
                 " groups of formats; all layers are priced in the format of the first group");
  return Checkpoint{.layers = compressed(groups.front().second),
                    .ignored = names_in(in, {"ignore"}),
                    .head_too = true,
                    .kv_cache = kv_format(in, shape)};
}

// quant_algo of ModelOpt; null: not quantised, or not known.
std::optional<LinearFormat> of_algorithm(const Reader& algo, const Reader& in) {
  const std::string name = algo.text();
  if (name == "FP8") return layers_of("fp8-static");
  if (name == "FP8_PER_CHANNEL_PER_TOKEN") return layers_of("fp8");
  if (name == "FP8_PB_WO" || name == "FP8_BLOCK_SCALES") return layers_of("fp8-block");
  if (name == "NVFP4") return layers_of("nvfp4");
  if (name == "MXFP4") return layers_of("mxfp4");
  if (name == "W4A16_AWQ" || name == "NVFP4_AWQ") {
    LinearFormat f = name == "NVFP4_AWQ" ? layers_of("nvfp4") : layers_of("int4");
    if (name == "W4A16_AWQ") f.scales.inputs = std::max(0, block_size(in, "group_size", 128));
    return f;
  }
  if (name == "INT8_SQ" || name == "W8A8_SQ_PER_CHANNEL") return layers_of("int8-w8a8");
  if (name == "W8A16") return layers_of("int8");
  return std::nullopt;
}

std::optional<Checkpoint> modelopt(const Reader& in, TransformerShape& shape) {
  const auto algo = given(in, "quant_algo");
  if (!algo) return given(in, "config_groups") ? compressed_tensors(in, shape) : std::nullopt;
  const auto layers = of_algorithm(*algo, in);
  if (!layers) {
    add_note(in, shape,
             "the checkpoint's quant_algo \"" + printable(algo->text(), 100) +
                 "\" is unknown: the precision is that of the scenario");
    return std::nullopt;
  }
  Checkpoint c{.layers = *layers, .ignored = names_in(in, {"ignore", "exclude_modules"}), .head_too = true};
  c.kv_cache = kv_format(in, shape);
  if (const auto kv = given(in, "kv_cache_quant_algo")) {
    if (kv->text() == "FP8") c.kv_cache = DType::fp8;
    else add_note(in, shape, "the checkpoint's KV cache format is ignored: only fp8 is modelled");
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
    return Checkpoint{.layers = f, .ignored = ignored()};
  }
  if (name == "compressed-tensors") return compressed_tensors(in, shape);
  if (name.starts_with("modelopt")) return modelopt(in, shape);
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
  add_note(in, shape,
           "the checkpoint's quant_method \"" + printable(name, 100) +
               "\" is unknown: the precision is that of the scenario");
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

Precision precision_of(const Reader& in, const Checkpoint& c, DType activations, TransformerShape& shape) {
  Precision p(c.name.empty() ? name_of(c.layers) : c.name, c.layers, activations);
  const LinearFormat plain = p.lm_head;
  if (c.experts_only) p.attention = p.mlp = plain;
  if (c.head_too) p.lm_head = c.layers;
  const ModuleList list(c.ignored);
  const IgnoredShares out = ignored_shares(list, shape);
  const auto leave = [&](double share, std::string_view what, LinearFormat& format) {
    if (share > 0 && share < 1)
      add_note(in, shape,
               "the checkpoint keeps a part of its " + std::string(what) + " in 16 bits (" +
                   std::to_string(static_cast<int>(100 * share + 0.5)) + " % of the products): all are priced " +
                   (share < 0.5 ? "as quantised" : "in 16 bits"));
    if (share >= 0.5) format = plain;
  };
  leave(out.attention, "attention", p.attention);
  leave(out.mlp, "MLPs", p.mlp);
  leave(out.experts, "experts", p.experts);
  leave(out.lm_head, "LM head", p.lm_head);
  if (!list.not_understood().empty())
    add_note(in, shape,
             "modules that the checkpoint may keep in 16 bits by \"" + printable(list.not_understood().front(), 100) +
                 "\" are priced as quantised");
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

}  // namespace

std::optional<Precision> read_checkpoint_precision(const Reader& config, TransformerShape& shape) {
  const auto dtype = given(config, {"torch_dtype", "dtype"});
  const DType activations = dtype && dtype->text() == "float16" ? DType::fp16 : DType::bf16;
  if (const auto in = given(config, "quantization_config")) return read_from(*in, activations, shape);
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
