// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda_grid.h"

#include <algorithm>
#include <utility>

namespace draftline {
namespace {

struct Layout {
  int heads, kv_heads, head_dim;
};

class Grid {
 public:
  explicit Grid(double l2) : l2_(l2) {}
  void add(const char* op, std::map<std::string, int> shape) {
    points.push_back({op, std::move(shape), {}, {}, {}, 0, 0, {}});
  }
  void gemm(int rows, int in, int out) {
    add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies_past_l2(2.0 * in * out)}});
  }
  void attention(const Layout& l, int sequences, int rows, int context, int tree) {
    constexpr double kMostCache = 24e9, kMostPairColumns = 4e11;  // bytes; some tens of milliseconds of arithmetic
    const double keys = static_cast<double>(sequences) * (context + rows);
    if (4.0 * keys * l.kv_heads * l.head_dim > kMostCache || keys * rows * l.heads * l.head_dim > kMostPairColumns)
      return;
    const double bytes = 4.0 * keys * l.kv_heads * l.head_dim;
    add("attention", {{"copies", copies_past_l2(bytes)},
                      {"sequences", sequences},
                      {"rows", rows},
                      {"context", context},
                      {"heads", l.heads},
                      {"kv_heads", l.kv_heads},
                      {"head_dim", l.head_dim},
                      {"tree", tree}});
  }
  std::vector<MeasuredPoint> points;

 private:
  // Met in turn, none of so many is found in L2.
  int copies_past_l2(double bytes) const { return std::min(512, static_cast<int>(2 * l2_ / bytes) + 2); }
  double l2_;
};

std::vector<MeasuredPoint> small_grid(double l2) {
  Grid g(l2);
  for (const char* op : {"read", "copy"}) g.add(op, {{"kib", 1 << 18}});
  for (const int rows : {1, 16, 128}) {
    g.gemm(rows, 1024, 1024);
    g.gemm(rows, 4096, 4096);
  }
  const Layout l{32, 8, 128};
  for (const int context : {256, 4096}) {
    g.attention(l, 1, 1, context, 0);
    g.attention(l, 4, 8, context, 0);
    g.attention(l, 4, 8, context, 1);
  }
  g.attention(l, 1, 512, 0, 0);
  for (const char* op : {"add", "silu_mul", "rms_norm", "argmax"}) g.add(op, {{"rows", 8}, {"columns", 4096}});
  g.add("rope_append", {{"rows", 8}, {"heads", 32}, {"kv_heads", 8}, {"head_dim", 128}});
  for (const char* op : {"launch", "graph", "synchronise"}) g.add(op, {{"kernels", 16}});
  g.add("read_back", {{"bytes", 256}});
  return g.points;
}

}  // namespace

std::vector<MeasuredPoint> cuda_grid(double l2, GridSize size) {
  if (size == GridSize::small) return small_grid(l2);
  Grid g(l2);
  for (const int kib : {1 << 12, 1 << 16, 1 << 20})
    for (const char* op : {"read", "copy"}) g.add(op, {{"kib", kib}});
  for (const int kernels : {1, 16, 256})
    for (const char* op : {"launch", "graph", "synchronise"}) g.add(op, {{"kernels", kernels}});
  for (const int bytes : {4, 1024, 65536}) g.add("read_back", {{"bytes", bytes}});

  // Inputs and outputs of networks of 0.5 to 70 billion weights, and sizes that are no power of two.
  const std::vector<std::pair<int, int>> products{{1024, 1024},  {1024, 4096},   {2048, 2048},  {2560, 9728},
                                                  {4096, 1024},  {4096, 4096},   {4096, 6144},  {4096, 14336},
                                                  {5120, 5120},  {8192, 8192},   {14336, 4096}, {4096, 28672},
                                                  {8192, 28672}, {16384, 16384}, {896, 4864},   {4096, 128256}};
  for (const auto& [in, out] : products)
    for (const int rows : {1, 4, 16, 48, 64, 96, 160, 256, 512, 1024}) {
      if (out > 1 << 16 && rows > 64) continue;
      g.gemm(rows, in, out);
    }
  const Layout grouped{32, 8, 128}, equal{32, 32, 128};
  for (const Layout& l : {grouped, equal})
    for (const int sequences : {1, 4, 16, 64, 256})
      for (const int context : {63, 256, 1023, 4095, 16383, 32767}) g.attention(l, sequences, 1, context, 0);
  for (const Layout& l : {grouped, equal, Layout{14, 2, 64}, Layout{64, 8, 128}})
    for (const int rows : {2, 4, 8, 16, 32, 64})
      for (const int context : {64, 1024, 8192, 32000})
        for (const int sequences : {1, 16})
          for (const int tree : {0, 1}) {
            if (sequences > 1 && (rows > 16 || context == 32000)) continue;
            g.attention(l, sequences, rows, context, tree);
          }
  for (const Layout& l : {grouped, equal, Layout{24, 8, 96}, Layout{16, 8, 256}}) {
    for (const int rows : {128, 512, 2048})
      for (const int context : {0, 2048}) g.attention(l, 1, rows, context, 0);
    for (const int rows : {1, 16, 256})
      g.add("rope_append", {{"rows", rows}, {"heads", l.heads}, {"kv_heads", l.kv_heads}, {"head_dim", l.head_dim}});
  }
  for (const int rows : {1, 16, 64, 256, 1024}) {
    for (const char* op : {"add", "silu_mul", "rms_norm"})
      for (const int columns : {1024, 4096, 14336}) g.add(op, {{"rows", rows}, {"columns", columns}});
    for (const int columns : {32000, 128256}) g.add("argmax", {{"rows", rows}, {"columns", columns}});
  }
  return g.points;
}

}  // namespace draftline
