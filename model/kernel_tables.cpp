// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_tables.h"

#include "core/csv.h"

namespace draftline {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr int kHeadColumns = 128;

int count(const Csv& table, std::size_t row, std::size_t column) {
  const auto value = table.integer(row, column);
  if (value < 0 || value > (1 << 30)) table.fail(row, "a count out of range");
  return static_cast<int>(value);
}
Seconds latency(const Csv& table, std::size_t row, std::size_t column) {
  const double value = table.number(row, column);
  if (value <= 0) table.fail(row, "a latency must be above 0");
  return Seconds{kMillisecond * value};
}

std::vector<AttentionPoint> read_attention(const std::filesystem::path& file, bool decode) {
  const Csv t = Csv::from_file(file);
  const auto sequences = t.column("batch_size"), rows = t.column("isl"), heads = t.column("num_heads"),
             kv_heads = t.column("num_key_value_heads"), columns = t.column("head_dim"),
             cache = t.column("kv_cache_dtype"), step = t.column("step"), time = t.column("latency");
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, cache) != "bfloat16" || t.integer(i, columns) != kHeadColumns) continue;
    if (t.has("window_size") && t.integer(i, "window_size") != 0) continue;
    AttentionPoint p{count(t, i, sequences), decode ? 1 : count(t, i, rows), decode ? count(t, i, step) : 0,
                     count(t, i, heads),     count(t, i, kv_heads),          kHeadColumns,
                     latency(t, i, time)};
    if (decode || p.rows > 1) points.push_back(p);
  }
  return points;
}

}  // namespace

std::vector<GemmPoint> read_gemm_table(const std::filesystem::path& file) {
  const Csv t = Csv::from_file(file);
  const auto type = t.column("gemm_dtype"), m = t.column("m"), n = t.column("n"), k = t.column("k"),
             time = t.column("latency");
  std::vector<GemmPoint> points;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, type) != "bfloat16") continue;
    const GemmPoint p{count(t, i, m), count(t, i, k), count(t, i, n), latency(t, i, time)};
    if (p.rows <= 1024 && p.out >= 1024 && p.out <= 65536 && p.in >= 1024 && p.in <= 16384) points.push_back(p);
  }
  return points;
}

std::vector<AttentionPoint> read_decode_table(const std::filesystem::path& file) { return read_attention(file, true); }
std::vector<AttentionPoint> read_prefill_table(const std::filesystem::path& file) {
  return read_attention(file, false);
}

}  // namespace draftline
