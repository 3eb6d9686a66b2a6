// SPDX-License-Identifier: Apache-2.0
// The kernel model on shapes it has not seen: fitted on four fifths of the public tables, judged on the rest. GEMM:
// whole (outputs, inputs) pairs are left out; attention: whole head layouts. Beside it a neighbour interpolation in the
// dense table, and the datasheet roofline. The figures stand in docs/explanation/accuracy.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>

#include "model/calibration/gemm_tables.h"
#include "model/calibration/kernel_tables.h"
#include "model/devices/attention_library.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/calibration/heldout.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

namespace {

Device datasheet(const std::string& name) {
  Device d = known_device(name);
  d.model = GpuModel{};
  return d;
}

// The fold of a group of shapes: a fixed hash, the same on every machine.
int fold_of(int a, int b) {
  std::uint64_t x = (static_cast<std::uint64_t>(a) << 32) + static_cast<std::uint64_t>(b) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int>((x ^ (x >> 31)) % kFolds);
}
int fold_of(const GemmPoint& p) { return fold_of(p.out, p.in); }
int fold_of(const AttentionPoint& p) { return fold_of(p.heads, p.kv_heads); }

template <class Point>
std::pair<std::vector<Point>, std::vector<Point>> split(const std::vector<Point>& all, int fold) {
  std::pair<std::vector<Point>, std::vector<Point>> parts;
  for (const Point& p : all) (fold_of(p) == fold ? parts.second : parts.first).push_back(p);
  return parts;
}

Seconds roofline(const Device& d, const GemmPoint& p) {
  return roofline_time(d, work(Gemm{p.rows, p.in, p.out}), DType::bf16);
}
Seconds roofline(const Device& d, const AttentionPoint& p) {
  return roofline_time(d, work(kernel_of(p), span_of(p)), DType::bf16);
}

}  // namespace

TEST_CASE("GEMMs of unseen shapes: tiles and waves against a neighbour interpolation", "[golden]") {
  struct Row {
    const char *device, *folder, *target;
    double most;  // per cent; 0: only the interpolation bounds it
  };
  // The L40S's target of 6.5 % is missed (docs/explanation/accuracy.md says why): 9.4 % keeps it from getting worse
  // unseen.
  const auto row = GENERATE(Row{"a100-sxm", "a100_sxm", "target 1.25 x interpolation", 0},
                            Row{"h100-sxm", "h100_sxm", "target 1.25 x interpolation", 0},
                            Row{"l40s", "l40s", "target 6.5 %: missed", 9.4});
  const auto file = table_of(row.folder, "gemm.csv.gz");
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  const auto all = read_gemm_table(Csv::from_file(file)).points;
  Device d = datasheet(row.device);
  Errors ours, large, plain, neighbours;
  for (int fold = 0; fold < kFolds; ++fold) {
    const auto [seen, unseen] = split(all, fold);
    d.gpu().gemm = fit_gemm(thinned(seen, 1500), d);
    std::map<int, std::vector<GemmPoint>> table;
    for (const GemmPoint& p : seen) table[p.rows].push_back(p);
    for (const GemmPoint& p : unseen) {
      ours.add(predicted(d, p), p.time);
      if (2.0 * p.in * p.out > 20e6) large.add(predicted(d, p), p.time);
      plain.add(roofline(d, p), p.time);
      neighbours.add(interpolated(table, p, [&](const GemmPoint& q) { return roofline(d, q); }), p.time);
    }
  }
  ours.print(row.device, "GEMM, tiles x waves x splits", row.target);
  large.print(row.device, "  ... weights over 20 MB");
  neighbours.print(row.device, "  neighbour interpolation", "(reference)");
  plain.print(row.device, "  datasheet roofline", "(reference)");
  CHECK(ours.mean() <= 1.25 * neighbours.mean());
  CHECK(ours.mean() < 0.5 * plain.mean());
  if (row.most > 0) CHECK(ours.mean() <= row.most);
}

TEST_CASE("attention of unseen head layouts: decode over a cold cache, and prefill, by library and cache", "[golden]") {
  struct Row {
    const char *device, *folder;
    DType cache;
    double decode, prefill;                      // targets, per cent
    double most_decode, most_hot, most_prefill;  // what is reached and must not get worse unseen
  };
  const auto row = GENERATE(Row{"a100-sxm", "a100_sxm", DType::bf16, 4, 8, 7.0, 14.7, 9.1},
                            Row{"h100-sxm", "h100_sxm", DType::bf16, 4, 8, 3.8, 9.2, 7.2},
                            Row{"h100-sxm", "h100_sxm", DType::fp8, 4, 8, 3.1, 8.1, 9.8},
                            Row{"h200", "h200_sxm", DType::bf16, 4, 8, 3.7, 8.2, 7.5},
                            Row{"h200", "h200_sxm", DType::fp8, 4, 8, 3.4, 6.4, 9.5},
                            Row{"b200", "b200_sxm", DType::bf16, 4, 8, 3.8, 10.9, 6.9},
                            Row{"b200", "b200_sxm", DType::fp8, 4, 8, 3.6, 10.0, 10.2},
                            Row{"l40s", "l40s", DType::bf16, 4, 8, 6.8, 12.7, 7.7},
                            Row{"l40s", "l40s", DType::fp8, 4, 8, 4.4, 15.1, 12.4});
  const auto decode_file = table_of(row.folder, "generation_attention.csv.gz");
  if (const auto why = obstacle(decode_file); !why.empty()) SKIP_TEST(why);
  std::vector<AttentionPoint> all;
  ExcludedRows left_out;
  for (const auto& points :
       {read_decode_table(Csv::from_file(decode_file), left_out),
        read_prefill_table(Csv::from_file(table_of(row.folder, "context_attention.csv.gz")), left_out)})
    std::copy_if(points.begin(), points.end(), std::back_inserter(all),
                 [&](const AttentionPoint& p) { return p.format == row.cache; });
  // A library's layout is its habit, which the shipped fit names; whether the data find it is kernel_fit_test's.
  const AttentionModel shipped = known_device(row.device).gpu().attention;
  const HeadLayout habit = attention_choice(shipped, all.front().library, row.cache).layout;
  Device d = datasheet(row.device);
  Errors decode, hot, prefill, plain_decode, plain_prefill;
  for (int fold = 0; fold < kFolds; ++fold) {
    const auto [seen, unseen] = split(all, fold);
    d.gpu().attention.fits = {fit_attention(thinned(seen, 1500), d, nullptr, habit)};
    for (const AttentionPoint& p : unseen) {
      const bool cold = cache_bytes(p) > 2.0 * d.l2;
      Errors& errors = p.rows > 1 ? prefill : cold ? decode : hot;
      errors.add(predicted(d, p), p.time);
      if (p.rows > 1) plain_prefill.add(roofline(d, p), p.time);
      else if (cold) plain_decode.add(roofline(d, p), p.time);
    }
  }
  const std::string which = std::string(row.device) + " " + all.front().library + " " + std::string(name(row.cache));
  char target[64];
  std::snprintf(target, sizeof target, "target %.1f %%%s", row.decode, decode.mean() <= row.decode ? "" : ": missed");
  decode.print(which, "decode attention, cache > 2 L2", target);
  hot.print(which, "  ... cache within 2 L2");
  plain_decode.print(which, "  datasheet roofline", "(reference)");
  std::snprintf(target, sizeof target, "target %.1f %%%s", row.prefill,
                prefill.mean() <= row.prefill ? "" : ": missed");
  prefill.print(which, "prefill attention", target);
  plain_prefill.print(which, "  datasheet roofline", "(reference)");
  CHECK(decode.mean() <= row.most_decode);
  CHECK(hot.mean() <= row.most_hot);
  CHECK(prefill.mean() <= row.most_prefill);
}

TEST_CASE("where a library was not measured, the interval is what two libraries of one card differ by", "[golden]") {
  const auto decode_file = table_of("l40s", "generation_attention.csv.gz");
  if (const auto why = obstacle(decode_file); !why.empty()) SKIP_TEST(why);
  const Device d = known_device("l40s");
  REQUIRE(d.gpu().attention.fits.size() == 2);
  std::vector<double> log_ratio;  // of measured over predicted, each library by the other's fit
  ExcludedRows left_out;
  for (const auto& points :
       {read_decode_table(Csv::from_file(decode_file), left_out),
        read_prefill_table(Csv::from_file(table_of("l40s", "context_attention.csv.gz")), left_out)})
    for (const AttentionPoint& p : points) {
      AttentionModel other;
      other.fits = {d.gpu().attention.fits[p.library == d.gpu().attention.fits[0].library ? 1 : 0]};
      const AttentionChoice choice = attention_choice(other, p.library, p.format);
      CHECK_FALSE(choice.measured);
      log_ratio.push_back(std::log(p.time / gpu_time(d, choice, kernel_of(p), span_of(p), p.cache)));
    }
  const auto shipped = d.gpu().attention.other_library;
  REQUIRE(shipped);
  CHECK(std::exp(quantile(log_ratio, 0.05)) == Approx(shipped->low).margin(0.01));  // a figure of two digits
  CHECK(std::exp(quantile(log_ratio, 0.95)) == Approx(shipped->high).margin(0.01));
}

TEST_CASE("the RTX 4090 on a product of a network's layers that it has not seen", "[golden]") {
  const auto file =
      std::filesystem::path(DRAFTLINE_REFERENCE_DATA) / "serving/rtx4090_llama31_8b_vllm/step_tables/dense.csv";
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  const auto shape =
      read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/transformers/llama-3.1-8b.json", read_transformer);
  ExcludedRows left_out;
  const auto all = read_step_gemms(Csv::from_file(file), shape, left_out);
  Device d = datasheet("rtx-4090");
  Errors ours, plain;
  for (const int out : {6144, 4096, 28672})
    for (const int in : {4096, 14336}) {
      std::vector<GemmPoint> seen, unseen;
      for (const GemmPoint& p : all) (p.out == out && p.in == in ? unseen : seen).push_back(p);
      if (unseen.empty()) continue;
      d.gpu().gemm = fit_gemm(seen, d);
      for (const GemmPoint& p : unseen) {
        ours.add(predicted(d, p), p.time);
        plain.add(roofline(d, p), p.time);
      }
    }
  ours.print("rtx-4090", "GEMM, one of four products unseen");
  plain.print("rtx-4090", "  datasheet roofline", "(reference)");
  CHECK(ours.mean() < 0.6 * plain.mean());
}
