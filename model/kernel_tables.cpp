// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_tables.h"

#include <map>

#include "core/csv.h"

namespace draftline {
namespace {

constexpr double kMillisecond = 1e-3, kMicrosecond = 1e-6;
constexpr int kHeadColumns = 128;

int count(const Csv& table, std::size_t row, std::size_t column) {
  const auto value = table.integer(row, column);
  if (value < 0 || value > (1 << 30)) table.fail(row, "a count out of range");
  return static_cast<int>(value);
}
Seconds latency_of(const Csv& table, std::size_t row, std::size_t column) {  // in whatever the table counts
  const double value = table.number(row, column);
  if (value <= 0) table.fail(row, "a latency must be above 0");
  return Seconds{value};
}

// The library of a kernel's name in the tables; empty: one that is not modelled.
std::string library_of(std::string_view kernel) {
  const auto is = [&](std::string_view start) { return kernel.starts_with(start); };
  if (is("vllm_flash_attn_fa3")) return "flash_attention_3";
  if (is("vllm_flash_attn_fa4")) return "flash_attention_4";
  if (is("vllm_flash_attn")) return "flash_attention_2";
  if (is("vllm_flashinfer_trtllm")) return "tensorrt_llm";
  if (is("vllm_flashinfer")) return "flashinfer";
  return {};
}

std::vector<AttentionPoint> read_attention(const std::filesystem::path& file, bool decode) {
  const Csv t = Csv::from_file(file);
  const auto sequences = t.column("batch_size"), rows = t.column("isl"), heads = t.column("num_heads"),
             kv_heads = t.column("num_key_value_heads"), columns = t.column("head_dim"),
             cache = t.column("kv_cache_dtype"), step = t.column("step"), time = t.column("latency"),
             kernel = t.column("kernel_source");
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const bool is_fp8 = t.text(i, cache) == "fp8";
    if ((!is_fp8 && t.text(i, cache) != "bfloat16") || t.integer(i, columns) != kHeadColumns) continue;
    if (t.has("window_size") && t.integer(i, "window_size") != 0) continue;
    AttentionPoint p{count(t, i, sequences),
                     decode ? 1 : count(t, i, rows),
                     decode ? count(t, i, step) : 0,
                     count(t, i, heads),
                     count(t, i, kv_heads),
                     kHeadColumns,
                     kMillisecond * latency_of(t, i, time)};
    p.format = is_fp8 ? DType::fp8 : DType::bf16;
    p.library = library_of(t.text(i, kernel));
    if (!p.library.empty() && (decode || p.rows > 1)) points.push_back(std::move(p));
  }
  return points;
}

}  // namespace

std::vector<AttentionPoint> read_decode_table(const std::filesystem::path& file) { return read_attention(file, true); }
std::vector<AttentionPoint> read_prefill_table(const std::filesystem::path& file) {
  return read_attention(file, false);
}

std::vector<GemmPoint> read_step_gemms(const std::filesystem::path& file, const TransformerShape& shape) {
  const std::map<std::string, std::pair<int, int>> layers{
      {"qkv_proj", {shape.hidden, shape.q_columns() + 2 * shape.kv_columns()}},
      {"o_proj", {shape.q_columns(), shape.hidden}},
      {"gate_up_proj", {shape.hidden, 2 * shape.intermediate}},
      {"down_proj", {shape.intermediate, shape.hidden}}};
  const Csv t = Csv::from_file(file);
  const auto name = t.column("layer"), rows = t.column("tokens"), time = t.column("time_us");
  std::vector<GemmPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const auto layer = layers.find(std::string(t.text(i, name)));
    if (layer == layers.end()) continue;
    const GemmPoint p{count(t, i, rows), layer->second.first, layer->second.second,
                      kMicrosecond * latency_of(t, i, time), kColdCopies};
    if (p.rows <= 1024) points.push_back(p);
  }
  return points;
}

std::vector<AttentionPoint> read_step_attention(const std::filesystem::path& file, const TransformerShape& shape) {
  const Csv t = Csv::from_file(file);
  const auto chunk = t.column("prefill_chunk"), before = t.column("kv_prefill"), sequences = t.column("n_decode"),
             context = t.column("kv_decode"), time = t.column("time_us");
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    AttentionPoint p{0, 1, 0, shape.heads, shape.kv_heads, shape.head_dim, kMicrosecond * latency_of(t, i, time)};
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
  }
  return points;
}

}  // namespace draftline
