// SPDX-License-Identifier: Apache-2.0
#include "probes/cpu_grid.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/int_indexed.h"

namespace draftline {
namespace {

struct CpuLayout {
  int heads, kv_heads, head_dim;
};

// Adds shapes of one kind of op.
class CpuGrid {
 public:
  void add(const char* op, std::map<std::string, int> shape) {
    points.push_back({.op = op, .shape = std::move(shape)});
  }
  // One copy of the weights is hot; copies that fill the LLC twice are cold; fewer copies are like the weights of a
  // small network. During a pause, co-runner traffic evicts weights from the LLC.
  void gemm(int rows, int in, int out, int copies = 1, int pause_us = 0) {
    std::map<std::string, int> shape{{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies}};
    if (pause_us > 0) shape["pause_us"] = pause_us;
    add("gemm", std::move(shape));
  }
  void attention(const CpuLayout& l, int sequences, int rows, int context, int tree,
                 std::optional<int> reuse_kib = {}) {
    constexpr double kMostPairColumns = 5e7;
    if (1.0 * sequences * rows * (context + rows) * l.heads * l.head_dim > kMostPairColumns) return;
    std::map<std::string, int> shape{
        {"sequences", sequences}, {"rows", rows},           {"context", context}, {"heads", l.heads},
        {"kv_heads", l.kv_heads}, {"head_dim", l.head_dim}, {"tree", tree}};
    if (reuse_kib) shape.merge(of_network(*reuse_kib));
    add("attention", std::move(shape));
  }
  void append(const CpuLayout& l, int sequences, int rows, int reuse_kib = 0) {
    std::map<std::string, int> shape{{"sequences", sequences},
                                     {"rows", rows},
                                     {"heads", l.heads},
                                     {"kv_heads", l.kv_heads},
                                     {"head_dim", l.head_dim}};
    shape.merge(of_network(reuse_kib));
    add("rope_append", std::move(shape));
  }
  // The ops of several layers in turn, each after `reuse_kib` of other data were accessed.
  static std::map<std::string, int> of_network(int reuse_kib) {
    std::map<std::string, int> shape{{"copies", 6}};
    if (reuse_kib > 0) shape["reuse_kib"] = reuse_kib;
    return shape;
  }
  std::vector<MeasuredPoint> points;
};

int copies_past(double last_level_cache, double bytes) { return to_int(2 * last_level_cache / bytes) + 2; }
int copies_within(double bytes, double of_one) { return std::max(2, to_int(bytes / of_one)); }
int past_kib(double last_level_cache) { return std::max(1 << 18, to_int(3 * last_level_cache / 1024)); }

std::vector<MeasuredPoint> small_grid(double last_level_cache) {
  CpuGrid g;
  g.add("read", {{"kib", past_kib(last_level_cache)}});
  for (const int rows : {1, 2, 3, 4, 9}) {
    for (const auto& [in, out] : {std::pair{64, 256}, {256, 256}, {512, 128}}) g.gemm(rows, in, out);
    if (rows < 4) g.gemm(rows, 512, 512, copies_past(last_level_cache, 4.0 * 512 * 512));
  }
  for (const CpuLayout& l : {CpuLayout{4, 4, 32}, CpuLayout{8, 2, 64}})
    for (const int context : {15, 257})
      for (const int rows : {1, 4}) {
        g.attention(l, 2, rows, context, 0);
        if (rows > 1) g.attention(l, 1, rows, context, 1);
        if (rows == 1)
          for (const int reuse_kib : {0, 4096}) g.attention(l, 2, rows, context, 0, reuse_kib);
      }
  for (const int rows : {1, 8, 16}) {
    for (const char* op : {"add", "silu_mul", "rms_norm", "argmax"}) g.add(op, {{"rows", rows}, {"columns", 256}});
    for (const int reuse_kib : {0, 4096}) g.append({4, 2, 32}, 2, rows, reuse_kib);
    g.add("top_k", {{"rows", rows}, {"columns", 256}, {"k", 4}});
    g.add("sample", {{"rows", rows}, {"columns", 256}});
  }
  return g.points;
}

}  // namespace

std::vector<MeasuredPoint> cpu_grid(double last_level_cache, GridSize size) {
  if (size == GridSize::small) return small_grid(last_level_cache);
  CpuGrid g;
  for (const int kib : {64, 4096, past_kib(last_level_cache)})
    for (const char* op : {"read", "copy"}) g.add(op, {{"kib", kib}});
  // Inputs and outputs of small networks, powers of two and not.
  const std::vector<std::pair<int, int>> products{{64, 256},    {128, 384},  {256, 256},   {256, 1024},  {384, 640},
                                                  {512, 512},   {512, 2048}, {768, 768},   {1024, 256},  {1024, 1024},
                                                  {1536, 512},  {768, 3072}, {2048, 2048}, {1024, 4096}, {3072, 768},
                                                  {4096, 1024}, {640, 8192}};
  for (const auto& [in, out] : products)
    for (const int rows : {1, 2, 3, 4, 5, 8, 16, 33}) {
      g.gemm(rows, in, out);
      const double bytes = 4.0 * in * out;
      if (rows <= 8 && rows != 3 && bytes >= 1 << 20) g.gemm(rows, in, out, copies_past(last_level_cache, bytes));
    }
  for (const auto& [in, out] : {std::pair{128, 384}, {256, 256}, {192, 128}})  // a small network's
    for (const double share : {0.06, 0.15, 0.35})
      for (const int rows : {1, 4, 16}) g.gemm(rows, in, out, copies_within(share * last_level_cache, 4.0 * in * out));
  for (const auto& [in, out] : {std::pair{256, 512}, {640, 384}})  // of networks about as large as the LLC
    for (const double share : {0.7, 1.0, 1.4})
      for (const int rows : {1, 4}) g.gemm(rows, in, out, copies_within(share * last_level_cache, 4.0 * in * out));
  for (const auto& [in, out] : {std::pair{640, 768}, {768, 2048}, {2048, 1152}})
    for (const int milliseconds : {1, 3, 10})
      for (const int rows : {1, 5}) g.gemm(rows, in, out, 1, 1000 * milliseconds);
  for (const CpuLayout& l :
       {CpuLayout{4, 4, 32}, CpuLayout{8, 2, 64}, CpuLayout{16, 4, 128}, CpuLayout{12, 12, 64}, CpuLayout{6, 3, 96}}) {
    for (const int context : {15, 64, 257, 1024, 4096})
      for (const int sequences : {1, 4, 16}) g.attention(l, sequences, 1, context, 0);  // decode
    for (const int rows : {16, 64, 192}) g.attention(l, 1, rows, 0, 0);                 // prefill
    for (const int rows : {2, 4, 8, 24, 64})                                            // verify
      for (const int context : {64, 700, 4096})
        for (const int tree : {0, 1}) g.attention(l, rows <= 8 ? 4 : 1, rows, context, tree);
    for (const int rows : {16, 64}) g.append(l, 1, rows);  // prefill
    for (const double share : {0.0, 0.05, 0.3, 2.0}) {
      const int reuse_kib = to_int(share * last_level_cache / 1024);
      for (const int sequences : {1, 8}) {
        for (const int rows : {1, 4}) g.append(l, sequences, rows, reuse_kib);
        for (const int context : {24, 80, 300}) g.attention(l, sequences, 1, context, 0, reuse_kib);
      }
    }
  }
  for (const int rows : {1, 4, 16, 64}) {
    for (const char* op : {"add", "silu_mul", "rms_norm"})
      for (const int columns : {128, 256, 768, 1024, 2560, 4096}) g.add(op, {{"rows", rows}, {"columns", columns}});
    for (const int columns : {1000, 8000, 32000, 128000}) g.add("argmax", {{"rows", rows}, {"columns", columns}});
  }
  for (const int columns : {1000, 4096, 16000, 64000})
    for (const int rows : {1, 2, 4, 8, 16}) {
      g.add("top_k", {{"rows", rows}, {"columns", columns}, {"k", rows % 4 == 0 ? 4 : 10}});
      g.add("sample", {{"rows", rows}, {"columns", columns}});
    }
  return g.points;
}

}  // namespace draftline
