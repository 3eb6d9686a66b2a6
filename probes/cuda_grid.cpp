// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda_grid.h"

#include <algorithm>
#include <utility>

#include "probes/tiny_decoder.h"

namespace draftline {
namespace {

struct CudaLayout {
  int heads, kv_heads, head_dim;
};

class CudaGrid {
 public:
  explicit CudaGrid(double l2) : l2_(l2) {}
  void add(const char* op, std::map<std::string, int> shape) {
    points.push_back({.op = op, .shape = std::move(shape)});
  }
  void gemm(int rows, int in, int out) {
    add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies_past_l2(2.0 * in * out)}});
  }
  void attention(const CudaLayout& l, int sequences, int rows, int context, int tree) {
    constexpr double kMostCache = 24e9, kMostPairColumns = 4e11;  // bytes; some tens of milliseconds of arithmetic
    const double keys = 1.0 * sequences * (context + rows);
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
  void latent_attention(int heads, int sequences, int rows, int context) {
    constexpr int kRank = 512, kRope = 64;
    add("latent_attention", {{"copies", copies_past_l2(2.0 * sequences * (context + rows) * (kRank + kRope))},
                             {"sequences", sequences},
                             {"rows", rows},
                             {"context", context},
                             {"heads", heads},
                             {"rank", kRank},
                             {"rope", kRope}});
  }
  void experts(int rows, int hidden, int intermediate, int experts, int per_token) {
    const double least = 2.0 * 3.0 * hidden * intermediate * per_token;  // bytes of weights that a row reads
    add("experts", {{"copies", std::min(copies_past_l2(least), 4)},
                    {"rows", rows},
                    {"hidden", hidden},
                    {"intermediate", intermediate},
                    {"experts", experts},
                    {"per_token", per_token}});
  }
  // Plain steps of a small decoder: the host's time to record them, to launch them as graphs and kernel by kernel, and
  // the time that the GPU waits for it.
  void steps(const std::vector<int>& layers, const std::vector<int>& sequences) {
    for (const int l : layers) {
      const int ops = ops_of_plain_step(l);
      for (const int s : sequences) {
        add("step_host", {{"layers", l}, {"sequences", s}, {"ops", ops}});
        for (const int graphs : {1, 0})
          for (const char* op : {"step_issue", "step_exposed"})
            add(op, {{"layers", l}, {"sequences", s}, {"ops", ops}, {"graphs", graphs}});
      }
    }
  }
  // A decoder's layer as a whole.
  void layer(int hidden, const CudaLayout& l, int intermediate, int sequences, int context) {
    add("layer", {{"hidden", hidden},
                  {"heads", l.heads},
                  {"kv_heads", l.kv_heads},
                  {"head_dim", l.head_dim},
                  {"intermediate", intermediate},
                  {"sequences", sequences},
                  {"context", context}});
  }
  void all_reduce(int devices, const std::vector<int>& kibs) {
    constexpr int kMostRanks = 16;
    if (devices < 2) add("all_reduce", {{"ranks", 2}, {"kib", kibs.front()}});
    for (int ranks = 2; ranks <= std::min(devices, kMostRanks); ranks *= 2)
      for (const int kib : kibs) add("all_reduce", {{"ranks", ranks}, {"kib", kib}});
  }
  std::vector<MeasuredPoint> points;

 private:
  // Enough copies that, used in turn, none is found in L2.
  int copies_past_l2(double bytes) const { return std::min(512, to_int(2 * l2_ / bytes) + 2); }
  double l2_;
};

std::vector<MeasuredPoint> small_grid(double l2, int devices) {
  CudaGrid g(l2);
  for (const char* op : {"read", "copy"}) g.add(op, {{"kib", 1 << 18}});
  for (const int rows : {1, 16, 128}) {
    g.gemm(rows, 1024, 1024);
    g.gemm(rows, 4096, 4096);
  }
  const CudaLayout l{32, 8, 128};
  for (const int context : {256, 4096}) {
    g.attention(l, 1, 1, context, 0);
    g.attention(l, 4, 8, context, 0);
    g.attention(l, 4, 8, context, 1);
  }
  g.attention(l, 1, 512, 0, 0);
  g.latent_attention(16, 1, 2, 64);
  g.experts(4, 64, 32, 8, 2);
  for (const char* op : {"add", "silu_mul", "rms_norm", "argmax"}) g.add(op, {{"rows", 8}, {"columns", 4096}});
  g.add("rope_append", {{"rows", 8}, {"heads", 32}, {"kv_heads", 8}, {"head_dim", 128}});
  for (const char* op : {"launch", "graph", "synchronise"}) g.add(op, {{"kernels", 16}});
  for (const char* op : {"read_back", "upload"}) g.add(op, {{"bytes", 256}});
  for (const char* op : {"kernel_launched", "kernel_replayed"}) g.add(op, {{"kernels", 16}});
  g.add("top_k", {{"rows", 8}, {"columns", 4096}, {"k", 8}});
  g.add("sample", {{"rows", 8}, {"columns", 4096}});
  g.steps({1, 3}, {1, 8, 32});
  g.layer(128, {2, 1, 64}, 256, 4, 130);
  g.all_reduce(devices, {8, 1024});
  return g.points;
}

}  // namespace

std::vector<MeasuredPoint> cuda_grid(double l2, GridSize size, int devices) {
  if (size == GridSize::small) return small_grid(l2, devices);
  CudaGrid g(l2);
  for (const int kib : {1 << 12, 1 << 16, 1 << 20})
    for (const char* op : {"read", "copy"}) g.add(op, {{"kib", kib}});
  for (const int kernels : {1, 16, 256})
    for (const char* op : {"launch", "graph", "synchronise"}) g.add(op, {{"kernels", kernels}});
  for (const int bytes : {4, 1024, 65536})
    for (const char* op : {"read_back", "upload"}) g.add(op, {{"bytes", bytes}});
  for (const char* op : {"kernel_launched", "kernel_replayed"}) g.add(op, {{"kernels", 64}});

  g.steps({1, 6, 24}, {1, 16, 64});

  // Matrices of networks of 0.5 to 70 billion weights, and sizes that are no power of two.
  const std::vector<std::pair<int, int>> products{
      {1024, 1024},  {1024, 4096},   {2048, 2048}, {2560, 9728},   {4096, 1024},  {4096, 4096},
      {4096, 6144},  {4096, 14336},  {5120, 5120}, {8192, 8192},   {14336, 4096}, {4096, 28672},
      {8192, 28672}, {16384, 16384}, {896, 4864},  {4096, 128256}, {11008, 2048}};
  for (const auto& [in, out] : products)
    for (const int rows : {1, 4, 16, 48, 64, 96, 160, 256, 512, 1024}) {
      if (out > 1 << 16 && rows > 64) continue;
      g.gemm(rows, in, out);
    }
  for (const int rows : {71, 327, 697})  // of a step whose sequences verify different numbers of drafts
    for (const auto& [in, out] : {std::pair{4096, 28672}, {14336, 4096}}) g.gemm(rows, in, out);
  const CudaLayout grouped{32, 8, 128}, equal{32, 32, 128};
  for (const CudaLayout& l : {grouped, equal})
    for (const int sequences : {1, 4, 16, 64, 256})
      for (const int context : {63, 256, 1023, 4095, 16383, 32767}) g.attention(l, sequences, 1, context, 0);
  for (const CudaLayout& l : {grouped, equal, CudaLayout{14, 2, 64}, CudaLayout{64, 8, 128}})
    for (const int rows : {2, 4, 8, 16, 32, 64})
      for (const int context : {64, 1024, 8192, 32000})
        for (const int sequences : {1, 16})
          for (const int tree : {0, 1}) {
            if (sequences > 1 && (rows > 16 || context == 32000)) continue;
            g.attention(l, sequences, rows, context, tree);
          }
  for (const CudaLayout& l : {grouped, equal})  // large batches that verify
    for (const int rows : {2, 4, 8})
      for (const int context : {64, 512, 2048}) g.attention(l, 64, rows, context, 0);
  for (const int heads : {16, 128})  // DeepSeek-V2-Lite and V3
    for (const int rows : {1, 4})
      for (const int sequences : {1, 16, 64})
        for (const int context : {512, 4096, 16384})
          if (sequences * context <= 64 * 4096) g.latent_attention(heads, sequences, rows, context);
  for (const int rows : {1, 4, 16, 64, 256}) {
    g.experts(rows, 2048, 768, 128, 8);  // Qwen3-30B-A3B
    g.experts(rows, 2048, 1408, 64, 6);  // DeepSeek-V2-Lite
    g.experts(rows, 2880, 2880, 32, 4);  // gpt-oss-20b
  }
  for (const CudaLayout& l : {grouped, equal, CudaLayout{24, 8, 96}, CudaLayout{16, 8, 256}}) {
    for (const int rows : {128, 512, 2048})
      for (const int context : {0, 2048}) g.attention(l, 1, rows, context, 0);
    for (const int rows : {1, 16, 256})
      g.add("rope_append", {{"rows", rows}, {"heads", l.heads}, {"kv_heads", l.kv_heads}, {"head_dim", l.head_dim}});
  }
  for (const int rows : {1, 16, 64, 256, 1024}) {
    for (const char* op : {"add", "silu_mul", "rms_norm"})
      for (const int columns : {1024, 4096, 14336}) g.add(op, {{"rows", rows}, {"columns", columns}});
    for (const int columns : {32000, 128256}) {
      g.add("argmax", {{"rows", rows}, {"columns", columns}});
      if (rows > 256) continue;
      g.add("top_k", {{"rows", rows}, {"columns", columns}, {"k", 10}});
      for (const int percent : {90, 100}) g.add("sample", {{"rows", rows}, {"columns", columns}, {"percent", percent}});
    }
  }
  for (const int sequences : {1, 4, 16, 64, 256})
    for (const int context : {512, 4096}) {
      if (sequences > 16 && context > 512) continue;
      g.layer(3072, {24, 8, 128}, 8192, sequences, context);
      g.layer(5120, {40, 8, 128}, 13824, sequences, context);
      g.layer(1024, {16, 4, 64}, 2816, sequences, context);  // of a draft network
    }
  // A decoder's messages hold rows x hidden values: a few KiB to some MiB. Sizes in between are interpolated.
  std::vector<int> kibs;
  for (int kib = 1; kib <= 1 << 14; kib *= 2) kibs.push_back(kib);
  kibs.push_back(1 << 16);
  kibs.push_back(1 << 18);
  g.all_reduce(devices, kibs);
  return g.points;
}

Seconds expected_overhead(const MeasuredPoint& p) {
  constexpr double kClockReadings = 2e-3, kByte = 2e-12,
                   kChecked = 6e-9;  // per byte allocated, filled and freed; per value checked on the host
  double t = kClockReadings;
  if (p.op == "gemm") {
    constexpr double kAlgorithms = 0.02;
    t += kAlgorithms + kByte * 2 * p.at("in") * p.at("out") * p.at("copies") + kChecked * 32 * p.at("in");
  } else if (p.op == "attention") {
    const double keys = to_double(p.at("context")) + p.at("rows"), dim = p.at("head_dim");
    t += 5e-3 + kByte * 4 * keys * p.at("sequences") * p.at("kv_heads") * dim * p.at("copies", 1) +
         kChecked * 2 * keys * dim;
  } else if (p.op == "latent_attention") {
    const double keys = to_double(p.at("context")) + p.at("rows"), dim = p.at("rank") + p.at("rope");
    t += 5e-3 + kByte * 2 * keys * p.at("sequences") * dim * p.at("copies") + kChecked * 2 * keys * dim;
  } else if (p.op == "experts") {
    const double matrix = 1.0 * p.at("hidden") * p.at("intermediate");  // of three; two are verified
    t += 5e-3 + kByte * 2 * 3 * matrix * p.at("experts") * p.at("copies") + kChecked * 2 * matrix * p.at("per_token");
  } else if (p.op == "top_k" || p.op == "sample" || p.op == "argmax") {
    t += 20 * kChecked * p.at("columns");
  } else if (p.op == "read" || p.op == "copy") {
    t += 3e-3 + kByte * 2048 * p.at("kib");
  } else if (p.op == "layer") {
    constexpr double kTwoDecoders = 1;
    t += kTwoDecoders;
  } else if (p.op == "all_reduce") {
    t += 0.05 + kByte * 2048 * p.at("kib");
  } else if (p.op.starts_with("step_")) {
    t += p.op == "step_exposed" && p.at("graphs") == 0 ? 0.6 : 0.15;
  }
  return Seconds{t};
}

}  // namespace draftline
