// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/kernel_tables.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/json_parse.h"
#include "model/calibration/table_cells.h"
#include "model/kernels/kernel_time.h"

namespace draftline {
namespace {

constexpr Seconds kMillisecond{1e-3}, kMicrosecond{1e-6};
constexpr int kHeadColumns = 128;

int all_rows(const Csv& t, std::size_t row, int sequences, int rows) {
  return total(t, row, std::int64_t{sequences} * rows);
}

// The library of a kernel's name in the tables, or of its name here; none: one that is not modelled.
std::optional<std::string> library_of(std::string_view kernel) {
  const auto is = [&](std::string_view start) { return kernel.starts_with(start); };
  for (const char* ours : {"flash_attention_2", "flash_attention_3", "flash_attention_4", "flashinfer", "tensorrt_llm"})
    if (kernel == ours) return ours;
  if (is("vllm_flash_attn_fa3")) return "flash_attention_3";
  if (is("vllm_flash_attn_fa4")) return "flash_attention_4";
  if (is("vllm_flash_attn")) return "flash_attention_2";
  if (is("vllm_flashinfer_trtllm")) return "tensorrt_llm";
  if (is("vllm_flashinfer")) return "flashinfer";
  return {};
}

std::vector<AttentionPoint> read_attention(const Csv& t, bool decode, ExcludedRows& excluded) {
  const auto sequences = t.column("batch_size"), rows = t.column("isl"), heads = t.column("num_heads"),
             kv_heads = t.column("num_key_value_heads"), columns = t.column("head_dim"),
             cache = t.column("kv_cache_dtype"), step = t.column("step"), time = t.column("latency");
  const bool says = t.has("kernel_source");  // else it is one library, whichever
  const std::size_t kernel = says ? t.column("kernel_source") : 0;
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const std::string_view format = t.text(i, cache);
    const bool is_fp8 = format == "fp8";
    AttentionPoint p{count(t, i, sequences, 1),
                     decode ? 1 : count(t, i, rows, 1),
                     count(t, i, step),
                     count(t, i, heads, 1),
                     count(t, i, kv_heads, 1),
                     count(t, i, columns),
                     latency(t, i, time, kMillisecond)};
    all_rows(t, i, p.sequences, p.rows);  // A point's price multiplies them.
    p.format = is_fp8 ? DType::fp8 : DType::bf16;
    const auto library = says ? library_of(t.text(i, kernel)) : std::string();
    p.library = library.value_or("");
    if (p.heads % p.kv_heads != 0) t.fail(i, "the KV heads do not divide the query heads");
    if (!is_fp8 && format != "bfloat16" && format != "float16")
      excluded.add("a cache of " + printable(format, 60) + ", which has no fit");
    else if (p.head_dim != kHeadColumns) excluded.add("heads of other than 128 columns, priced by the fits of 128");
    else if (t.has("window_size") && t.integer(i, "window_size") != 0) excluded.add("a sliding window");
    else if (!library) excluded.add(printable(t.text(i, kernel), 60) + ", a library whose kernels are not modelled");
    else if (!decode && p.rows == 1) excluded.add("prompts of one token, which a library sends to its decode kernel");
    else points.push_back(std::move(p));
  }
  return points;
}

}  // namespace

std::vector<AttentionPoint> read_decode_table(const Csv& t, ExcludedRows& excluded) {
  return read_attention(t, true, excluded);
}
std::vector<AttentionPoint> read_prefill_table(const Csv& t, ExcludedRows& excluded) {
  return read_attention(t, false, excluded);
}

namespace {

// The columns of DeepSeek-V3, whose attention the tables time.
constexpr int kLatent = 512, kRotated = 64, kUnrotated = 128, kValues = 128;

AttentionPoint absorbed_point(int sequences, int rows, int context, int heads, DType cache) {
  AttentionPoint p{sequences, rows, context, heads, 1, kLatent + kRotated, Seconds{}};
  p.format = cache;
  p.library = cache == DType::fp8 ? "flashmla" : "flash_attention_3_mla";
  p.value_dim = kLatent;
  p.latent = true;
  return p;
}

struct Module {
  DType cache;
  std::string products;  // their format
  int heads;
  auto operator<=>(const Module&) const = default;
};
struct ModuleShape {
  int sequences, rows, context;
  auto operator<=>(const ModuleShape&) const = default;
};
struct ModuleCall {
  int all_rows;
  Seconds time;
};

}  // namespace

std::vector<AttentionPoint> read_absorbed_modules(const Csv& t, const Device& d, ExcludedRows& excluded) {
  constexpr int kHardly = 2;            // keys at most of what the other times are counted from
  constexpr int kMostPromptRows = 128;  // beyond, that many launches of one row cost more than what is looked for
  const auto sequences = t.column("batch_size"), rows = t.column("isl"), heads = t.column("num_heads"),
             cache = t.column("kv_cache_dtype"), products = t.column("gemm_type"), step = t.column("step"),
             time = t.column("latency"), source = t.column("kernel_source");
  std::map<Module, std::map<ModuleShape, ModuleCall>> modules;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const Module module{t.text(i, cache) == "fp8" ? DType::fp8 : DType::bf16, std::string(t.text(i, products)),
                        count(t, i, heads, 1)};
    const ModuleShape shape{count(t, i, sequences, 1), count(t, i, rows, 1), count(t, i, step)};
    const int all = all_rows(t, i, shape.sequences, shape.rows);
    if (t.text(i, source) == "FLASH_ATTN") excluded.add("modules whose keys and values are expanded");
    else if (!modules[module].insert_or_assign(shape, ModuleCall{all, latency(t, i, time, kMillisecond)}).second)
      excluded.add("a module and context that stands again, below");
  }
  std::vector<AttentionPoint> points;
  for (const auto& [module, calls] : modules)
    for (const auto& [shape, call] : calls) {
      const auto base = calls.lower_bound({call.all_rows, 1, 0});
      const bool has_base = base != calls.end() && base->first.sequences == call.all_rows && base->first.rows == 1 &&
                            base->first.context <= kHardly;
      if (!has_base || (shape.rows > 1 && call.all_rows > kMostPromptRows)) {
        excluded.add("modules that no other with as many rows and hardly a context stands beside");
        continue;
      }
      AttentionPoint p = absorbed_point(shape.sequences, shape.rows, shape.context, module.heads, module.cache);
      const AttentionPoint launch = absorbed_point(call.all_rows, 1, base->first.context, module.heads, module.cache);
      const Seconds launched = gpu_time(d, attention_choice(d.gpu().attention, {}, module.cache), kernel_of(launch),
                                        span_of(launch), p.cache);
      p.time = call.time - base->second.time + launched;
      if (shape != base->first && p.time > 0.5 * launched) points.push_back(std::move(p));
      else excluded.add("hardly a context, which the others' times are counted from, or less than half of that launch");
    }
  return points;
}

std::vector<AttentionPoint> read_latent_prompts(const Csv& t, const Device& d, ExcludedRows& excluded) {
  constexpr Seconds kLeastAbsorbed{1e-3}, kLeastExpanded{0.3e-3};
  const auto sequences = t.column("batch_size"), rows = t.column("isl"), heads = t.column("num_heads"),
             cache = t.column("kv_cache_dtype"), time = t.column("latency");
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const Seconds took = latency(t, i, time, kMillisecond);
    AttentionPoint p =
        absorbed_point(count(t, i, sequences, 1), count(t, i, rows, 1), 0, count(t, i, heads, 1), DType::bf16);
    const int all = all_rows(t, i, p.sequences, p.rows);
    const bool absorbed = p.rows <= LatentAttention{}.most_absorbed;
    if (t.text(i, cache) != "bfloat16" || took < (absorbed ? kLeastAbsorbed : kLeastExpanded)) {
      excluded.add(t.text(i, cache) != "bfloat16"
                       ? "a cache that is not of 16 bits"
                       : "absorbed below 1 ms or expanded below 0.3 ms, which are the host's");
      continue;
    }
    Seconds products;
    if (absorbed) {
      Gemm product{.rows = all, .in = kUnrotated, .out = kLatent, .count = p.heads};
      products = kernel_time(d, product);
      std::swap(product.in, product.out);
      products += kernel_time(d, product);
    } else {
      products = kernel_time(d, Gemm{all, kLatent, total(t, i, std::int64_t{p.heads} * (kUnrotated + kValues))});
      p.library = "flash_attention_3";
      p.kv_heads = p.heads;
      p.head_dim = kUnrotated + kRotated;
      p.value_dim = kValues;
      p.latent = false;
    }
    p.time = took - products;
    if (p.rows > 1 && p.time > 0.5 * took) points.push_back(std::move(p));
    else excluded.add("prompts of one token, or calls most of whose time is that of products");
  }
  return points;
}

std::vector<GemmPoint> read_step_gemms(const Csv& t, const TransformerShape& shape, ExcludedRows& excluded) {
  const AttentionHeads h = shape.usual_heads();
  const std::map<std::string, std::pair<int, int>> layers{{"qkv_proj", {shape.hidden, h.projected_columns()}},
                                                          {"o_proj", {h.result_columns(), shape.hidden}},
                                                          {"gate_up_proj", {shape.hidden, 2 * shape.intermediate}},
                                                          {"down_proj", {shape.intermediate, shape.hidden}}};
  const auto name = t.column("layer"), rows = t.column("tokens"), time = t.column("time_us");
  std::vector<GemmPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const auto layer = layers.find(std::string(t.text(i, name)));
    if (layer == layers.end()) {
      excluded.add("layers that are no product of a transformer's layer");
      continue;
    }
    const GemmPoint p{count(t, i, rows, 1), layer->second.first, layer->second.second,
                      latency(t, i, time, kMicrosecond), kColdCopies};
    if (p.rows <= 1024) points.push_back(p);
    else excluded.add("more than 1024 rows, beyond the model's domain");
  }
  return points;
}

std::vector<AttentionPoint> read_step_attention(const Csv& t, const TransformerShape& shape, ExcludedRows& excluded) {
  const auto chunk = t.column("prefill_chunk"), before = t.column("kv_prefill"), sequences = t.column("n_decode"),
             context = t.column("kv_decode"), time = t.column("time_us");
  const AttentionHeads h = shape.usual_heads();
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    AttentionPoint p{0, 1, 0, h.heads, h.kv_heads, h.head_dim, latency(t, i, time, kMicrosecond)};
    p.library = "flash_attention_2";
    if (count(t, i, chunk) == 0) {
      p.sequences = count(t, i, sequences);
      p.context = count(t, i, context);
    } else if (count(t, i, sequences) == 0) {
      p.sequences = 1;
      p.rows = count(t, i, chunk);
      p.context = count(t, i, before);
    }
    if (p.sequences > 0) points.push_back(p);
    else excluded.add("steps with rows of prompts and of decoding");
  }
  return points;
}

}  // namespace draftline
