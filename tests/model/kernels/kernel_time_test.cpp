// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/kernel_time.h"

#include <cmath>
#include <tuple>

#include "model/kernels/gpu_time.h"
#include "model/kernels/operand_fits.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

const std::vector<std::string> kAll{"a100-sxm", "a100-pcie", "a800-pcie",    "a10g",         "rtx-3060", "rtx-4090",
                                    "l40s",     "h100-sxm",  "h200",         "b200",         "l4",       "a10",
                                    "rtx-3090", "rtx-5090",  "rtx-pro-6000", "h20",          "gb200",    "b300",
                                    "gb300",    "gh200",     "gb10",         "a100-sxm-40gb"};

// 1 FLOP/s, 1 B/s, 1 multiprocessor, no fixed costs: times can be told by head.
Device unit_device() {
  Device d;
  d.peak.fill(FlopsPerSecond{1});
  d.bandwidth = BytesPerSecond{1};
  d.l2 = Bytes{1};
  d.multiprocessors = 1;
  d.gpu().gemm.blend = 1000;
  d.gpu().gemm.l2_speed = 1e300;
  return d;
}

struct Sequences {
  int count = 1, rows = 1;
  double context = 0;
};
Seconds attention(const Device& d, int heads, int kv_heads, Sequences s, bool dense_tail = false) {
  Attention k;
  k.sequences = s.count;
  k.rows = s.count * s.rows;
  k.widest = s.rows;
  k.heads = heads;
  k.kv_heads = kv_heads;
  k.head_dim = 128;
  const double rows = s.rows, tail = dense_tail ? rows * rows : rows * (rows + 1) / 2;
  return kernel_time(d, k, Span{s.count * (rows * s.context + tail), s.count * (rows + s.context)});
}

}  // namespace

TEST_CASE("a smooth maximum is at least the maximum, at most the sum, and symmetric") {
  CHECK(smooth_max(3, 4, 2) == Approx(5));
  CHECK(smooth_max(4, 3, 2) == smooth_max(3, 4, 2));
  CHECK(smooth_max(0, 4, 3) == 4);
  CHECK(smooth_max(0, 0, 3) == 0);
  CHECK(smooth_max(1, 1, 1) == Approx(2));
  CHECK(smooth_max(1e-300, 1, 3) == Approx(1));
}

TEST_CASE("a GEMM that fills one tile takes its FLOP over the peak") {
  // [16, 1000] x [1000, 64]: 2 * 16 * 64 * 1000 FLOP at 1 FLOP/s; the 144 kB of memory are hidden behind it.
  CHECK(kernel_time(unit_device(), Gemm{16, 1000, 64}).value == Approx(2 * 16 * 64 * 1000));
}

TEST_CASE(
    "a kernel above the limit of power takes the geometric mean of its time and that of its energy at the limit") {
  Device d = unit_device();
  const Work w{.flops = Flops{300}, .read = Bytes{40}, .written = Bytes{10}};
  CHECK(at_power_limit(d, w, DType::bf16, Seconds{1}).value == 1);  // nothing is known of its power
  d.power_watts = 200;
  d.gpu().power = PowerFit{.idle_watts = 100, .joules_per_flop = 1, .joules_per_byte = 2};
  // 400 J at 100 W: 4 s. At half the clock the kernel takes 2 s, and half the energy.
  CHECK(at_power_limit(d, w, DType::bf16, Seconds{1}).value == Approx(2));
  CHECK(at_power_limit(d, w, DType::fp8, Seconds{1}).value == Approx(std::sqrt(2.5)));
  CHECK(at_power_limit(d, w, DType::bf16, Seconds{4}).value == 4);
  CHECK(at_power_limit(d, w, DType::bf16, Seconds{5}).value == 5);
}

TEST_CASE("a GEMM with one row more than its tile pays a second wave") {
  const double one = kernel_time(unit_device(), Gemm{16, 1000, 64}).value;
  CHECK(kernel_time(unit_device(), Gemm{17, 1000, 64}).value == Approx(2 * one));
}

TEST_CASE(
    "a GEMM of one row takes its weights over the bandwidth, less where they are hot, less where they are narrower") {
  Device d = unit_device();
  d.peak.fill(FlopsPerSecond{1e12});
  CHECK(kernel_time(d, Gemm{1, 4096, 4096}).value == Approx(2.0 * 4096 * 4096));
  CHECK(gpu_time(d, Gemm{1, 4096, 4096}, 0.5).value == Approx(4096 * 4096));
  Gemm narrow{1, 4096, 4096};
  narrow.weights = DType::int8;
  CHECK(kernel_time(d, narrow).value == Approx(4096 * 4096));
}

TEST_CASE("a library that takes its tiles by rows pays for whole tiles, and for whole clusters of them") {
  // 1 FLOP/s, 1 multiprocessor, 64 x 128 and 128 x 128 results a tile, two tiles below each other.
  Device d = unit_device();
  d.gpu().narrow_gemm[NarrowFormat::fp8] = d.gpu().gemm;
  const auto of = [&](int rows, GemmTiles tiles) {
    d.gpu().narrow_gemm[NarrowFormat::fp8]->tiles = tiles;
    return kernel_time(d, Gemm{rows, 1000, 128, DType::fp8, DType::fp8}).value / (2 * 1000 * 128);
  };
  CHECK(of(64, GemmTiles::by_rows_128) == Approx(64).epsilon(1e-3));
  CHECK(of(65, GemmTiles::by_rows_128) == Approx(128).epsilon(1e-3));
  CHECK(of(129, GemmTiles::by_rows_128) == Approx(256).epsilon(1e-3));
  CHECK(of(257, GemmTiles::by_rows_128) == Approx(512).epsilon(1e-3));
  CHECK(of(129, GemmTiles::by_rows_256) == Approx(256).epsilon(1e-3));
  CHECK(of(65, GemmTiles::by_rows_256) == Approx(128).epsilon(1e-3));
  CHECK(of(129, GemmTiles::fastest) < 150);
}

TEST_CASE("inputs are divided among idle multiprocessors only where the library does so") {
  Device d = unit_device();
  d.multiprocessors = 8;
  d.gpu().narrow_gemm[NarrowFormat::fp8] = d.gpu().gemm;
  Gemm k{16, 4096, 64, DType::fp8, DType::fp8};
  const double divided = kernel_time(d, k).value;
  d.gpu().narrow_gemm[NarrowFormat::fp8]->tiles = GemmTiles::by_rows_128;
  CHECK(kernel_time(d, k).value == Approx(8 * divided).epsilon(0.1));
}

TEST_CASE("arithmetic runs at the wider operand's rate, and at the 16-bit rate where a format has none") {
  Device d = unit_device();
  d.peak[static_cast<std::size_t>(DType::int8)] = FlopsPerSecond{2};
  d.peak[static_cast<std::size_t>(DType::int4)] = FlopsPerSecond{0};
  CHECK(matrix_rate(d, DType::int8, DType::bf16).value == 1);
  CHECK(matrix_rate(d, DType::int8, DType::int8).value == 2);
  CHECK(matrix_rate(d, DType::int4, DType::int4).value == 1);
}

TEST_CASE("more rows, inputs or outputs never make a GEMM cheaper, whatever the operands") {
  const Device d = known_device(GENERATE(from_range(kAll)));
  const Operands format = GENERATE(Operands{}, operands_of(NarrowFormat::fp8), operands_of(NarrowFormat::fp8_static),
                                   operands_of(NarrowFormat::fp8_block), operands_of(NarrowFormat::nvfp4));
  const auto time = [&](int n, int from, int to) {
    return kernel_time(d, Gemm{n, from, to, format.weights, format.activations, false, format.scaling});
  };
  for (const int fixed : {128, 1000, 4096, 14336}) {
    Seconds rows{}, in{}, out{};
    for (int n = 1; n < 20000; n = n < 300 ? n + 1 : n * 11 / 10 + 3) {
      const Seconds r = time(n, fixed, 4096), i = time(17, n, fixed), o = time(33, fixed, n);
      INFO(d.name << " " << fixed << " " << n);
      CHECK(r >= 0.999999999 * rows);
      CHECK(i >= 0.999999999 * in);
      CHECK(o >= 0.999999999 * out);
      CHECK(std::isfinite(r.value + i.value + o.value));
      rows = r, in = i, out = o;
    }
  }
}

TEST_CASE("calibrated GEMMs are slower than the datasheet promises") {
  const Device d = known_device(GENERATE(from_range(kAll)));
  for (const int rows : {1, 7, 64, 300, 2048, 8192}) {
    const Gemm k{rows, 4096, 11008};
    INFO(d.name << " " << rows);
    CHECK(kernel_time(d, k) > roofline_time(d, work(k), DType::bf16));
    CHECK(kernel_time(d, k) < 6.0 * roofline_time(d, work(k), DType::bf16) + Seconds{50e-6});
  }
}

TEST_CASE("more rows a sequence, more context, more sequences never make attention cheaper") {
  const Device d = known_device(GENERATE(from_range(kAll)));
  const bool dense = GENERATE(false, true);
  struct Heads {
    int q, kv;
  };
  for (const Heads h : {Heads{32, 32}, Heads{32, 8}, Heads{28, 4}, Heads{71, 1}})
    for (const int other : {1, 3, 16, 100}) {
      Seconds rows{}, context{}, wide_context{}, count{};
      for (int n = 1; n < 9000; n = n < 300 ? n + 1 : n * 11 / 10 + 3) {
        const Seconds r = attention(d, h.q, h.kv, {other, n, 1000}, dense),
                      c = attention(d, h.q, h.kv, {other, 5, n - 1.0}, dense);
        const Seconds w = attention(d, h.q, h.kv, {1, 40 * other, n - 1.0}, dense),
                      s = attention(d, h.q, h.kv, {n, other, 700}, dense);
        INFO(d.name << " heads " << h.q << "/" << h.kv << " other " << other << " n " << n);
        CHECK(r >= 0.999999999 * rows);
        CHECK(c >= 0.999999999 * context);
        CHECK(w >= 0.999999999 * wide_context);
        CHECK(s >= 0.999999999 * count);
        CHECK(std::isfinite(r.value + c.value + w.value + s.value));
        rows = r, context = c, wide_context = w, count = s;
      }
    }
}

TEST_CASE("attention has no seam between decode, verify and prefill") {
  // One row more a sequence costs at most a tile more, and doubles the time only where a tall tile of 128 rows was
  // full.
  Device d = known_device(GENERATE(as<std::string>{}, "a100-sxm", "h100-sxm", "l40s", "b200"));
  for (AttentionFit& f : d.gpu().attention.fits)  // libraries that change kernels have seams of their own
    f.prefill.layout = f.library == "flash_attention_2" ? HeadLayout::apart : HeadLayout::packed;
  for (const double context : {0.0, 500.0, 8000.0, 100000.0})
    for (int rows = 1; rows < 1000; ++rows) {
      const double now = attention(d, 32, 8, {1, rows, context}).value,
                   next = attention(d, 32, 8, {1, rows + 1, context}).value;
      INFO(d.name << " " << context << " " << rows);
      CHECK(next < (4 * rows % 128 == 0 ? 1.9 : 1.35) * now);
    }
}

// What our own kernels on an H100 cost beside arithmetic and memory, roughly.
void end_in_rows(AttentionFit& f) {
  f.decode.join = Seconds{2e-6};
  f.prefill.per_stage = Seconds{1.8e-6};
  f.prefill.per_tile_row = Seconds{100e-9};
  f.prefill.per_part_row = Seconds{40e-9};
  f.prefill.per_part = Seconds{35e-9};
}

TEST_CASE("whatever a library's layout, and whichever of its launches is dearer, more work is never cheaper") {
  Device d = known_device("l40s");
  AttentionFit& f = d.gpu().attention.fits.front();
  f.prefill.layout = GENERATE(HeadLayout::packed, HeadLayout::apart, HeadLayout::swapped, HeadLayout::packed_decode,
                              HeadLayout::stacked);
  f.prefill.per_key = Seconds{GENERATE(0.0, 25e-9)};
  if (f.prefill.per_key.value > 0) end_in_rows(f);
  std::tie(f.decode.fixed, f.prefill.fixed) =
      GENERATE(std::pair{Seconds{8e-6}, Seconds{12e-6}}, std::pair{Seconds{12e-6}, Seconds{8e-6}});
  // Our own kernels choose their parts by a rule that does not know what parts cost: more work may come to better ones.
  const bool ours = f.prefill.layout == HeadLayout::stacked;
  const double least = ours ? 0.8 : 0.999999999, least_of_keys = ours ? 0.9 : 0.999999999;
  for (const auto& [heads, kv_heads] : {std::pair{32, 8}, {8, 8}, {71, 1}})
    for (const int other : {1, 6, 40}) {
      Seconds rows{}, context{}, count{};
      for (int n = 1; n < 5000; n = n < 70 ? n + 1 : n * 12 / 10) {
        INFO(static_cast<int>(f.prefill.layout) << " heads " << heads << "/" << kv_heads << " " << other << " " << n);
        const Seconds r = attention(d, heads, kv_heads, {other, n, 900}),
                      c = attention(d, heads, kv_heads, {2, other, n - 1.0}),
                      s = attention(d, heads, kv_heads, {n, other, 900});
        CHECK(r >= least * rows);
        CHECK(c >= least_of_keys * context);
        CHECK(s >= least * count);
        rows = r, context = c, count = s;
      }
    }
}

TEST_CASE("elementwise work of more bytes is never cheaper, wherever they lie") {
  const Device d = known_device("draftline-h100-sxm");
  for (const auto& [name, op] : kElementOps) {
    Seconds before{};
    for (double bytes = 1e3; bytes < 1e10; bytes *= 1.1) {
      INFO(name << " " << bytes);
      const Seconds t = kernel_time(d, Copy{.read = Bytes{bytes}, .written = {}, .op = op});
      CHECK(t >= before);
      before = t;
    }
  }
}

TEST_CASE("a prompt may cost more to launch than a short decode") {
  Device d = known_device("h100-sxm");
  AttentionFit& f = d.gpu().attention.fits.front();
  f.decode.fixed = Seconds{10e-6};
  const Seconds decode = attention(d, 32, 8, {1, 1, 15}), prompt = attention(d, 32, 8, {1, 16, 0});
  f.prefill.fixed = f.prefill.fixed + Seconds{5e-6};
  CHECK(attention(d, 32, 8, {1, 1, 15}) == decode);
  CHECK((attention(d, 32, 8, {1, 16, 0}) - prompt).value == Approx(5e-6));
}

TEST_CASE("a CTA that is alone with a context walks over all its keys") {
  // 16384 keys at 30 ns: 492 us. One row whose group's heads are swapped for rows shares the keys out among CTAs; two
  // rows don't, nor does one beside a prompt, nor one whose head has no group.
  Device d = known_device("rtx-4090");
  AttentionFit& f = d.gpu().attention.fits.front();
  f.prefill.layout = HeadLayout::swapped;
  f.prefill.per_key = Seconds{30e-9};
  constexpr double kWalk = 16384 * 30e-9;
  const double split = attention(d, 32, 8, {1, 1, 16384}).value, two = attention(d, 32, 8, {1, 2, 16384}).value;
  CHECK(split < 0.2 * kWalk);
  CHECK(two > kWalk);
  CHECK(two < 1.3 * kWalk);
  CHECK(attention(d, 8, 8, {1, 1, 16384}).value > kWalk);
  Attention beside;
  beside.sequences = beside.rows = 1, beside.widest = 2, beside.heads = 32, beside.kv_heads = 8, beside.head_dim = 128;
  CHECK(kernel_time(d, beside, Span{16385, 16385}).value > kWalk);
  f.prefill.layout = HeadLayout::apart;
  CHECK(attention(d, 32, 8, {1, 2, 16384}).value < 0.2 * kWalk);
}

TEST_CASE("our own kernels end with a row after another, split a context to fill the device, and join the parts") {
  Device d = known_device("h100-sxm");
  AttentionFit& f = d.gpu().attention.fits.front();
  f.prefill.layout = HeadLayout::stacked;
  f.prefill.wave_softness = 0;
  end_in_rows(f);
  const auto time = [&](int sequences, int rows, double context) {
    return attention(d, 32, 8, {sequences, rows, context}).value;
  };
  // A tile of 64 rows x heads is the same work for 5 rows as for 16, but stores 44 rows x heads more at 0.1 us each.
  CHECK(time(1, 16, 48) - time(1, 5, 59) == Approx(44 * 0.1e-6).epsilon(0.05));
  // 512 keys are four parts of two stages, 256 keys two of as many: what they cost more is two parts to join, each of
  // 128 columns of 32 rows x heads that are stored and read in 32 bits, and their traffic.
  const double parts = 2 * 35e-9 + 2 * 2 * 4.0 * 32 * 128 / (f.decode.l2_speed * d.bandwidth.value);
  CHECK(time(1, 1, 511) - time(1, 1, 255) > parts);
  CHECK(time(1, 1, 511) - time(1, 1, 255) < parts + 0.5e-6);
  // Where no context need be split, four times the keys take less than four times as long only by what is fixed.
  CHECK(time(64, 16, 16000) > 3.6 * time(64, 16, 4000));
  // One sequence's long context is divided among all multiprocessors: 64 parts.
  CHECK(time(1, 1, 32000) < 5 * time(1, 1, 1000));
}

TEST_CASE("one wide sequence makes the tiles of our own kernels tall for all sequences of its pass") {
  Device d = known_device("draftline-h100-sxm");
  Attention k;
  k.sequences = 64, k.heads = 32, k.kv_heads = 8, k.head_dim = 128;
  k.rows = 80, k.widest = 1;  // a mean of 1.25 rows x 4 heads
  const Span s{80 * 500.0, 64 * 501.0};
  const Seconds low = kernel_time(d, k, s);
  k.widest = 4;  // of 16 rows x heads: as tall as one row's
  CHECK(kernel_time(d, k, s) == low);
  k.widest = 5;
  CHECK(kernel_time(d, k, s) > low);
}

TEST_CASE("attention over nothing costs at most a launch, and no rows cost nothing") {
  const Device d = known_device("a100-sxm");
  Attention k;
  k.sequences = 4, k.heads = 32, k.kv_heads = 8, k.head_dim = 128;
  CHECK(kernel_time(d, k, Span{}).value == 0);
  k.rows = 4, k.widest = 1;
  const Seconds t = kernel_time(d, k, Span{});
  CHECK(std::isfinite(t.value));
  CHECK(t.value > 0);
  const AttentionFit& fit = d.gpu().attention.fits.front();
  CHECK(t < fit.decode.fixed + fit.decode.per_unit);
}

TEST_CASE("decode over a long cache takes its bytes over the achieved bandwidth") {
  const Device d = known_device("h100-sxm");
  const double bytes = 64 * 16384.0 * 2 * 8 * 128 * 2;
  const double bound = bytes / (d.gpu().attention.fits.front().decode.bandwidth_share * d.bandwidth.value);
  const double t = attention(d, 32, 8, {64, 1, 16384}).value;
  CHECK(t > bound);
  CHECK(t < 1.15 * bound);
}

TEST_CASE("a verify step over a long cache costs little more than a decode step until its arithmetic shows") {
  const Device d = known_device("h100-sxm");
  const double one = attention(d, 32, 8, {16, 1, 16384}).value;
  CHECK(attention(d, 32, 8, {16, 8, 16384}).value < 1.35 * one);
  CHECK(attention(d, 32, 8, {16, 512, 16384}).value > 5 * one);
}

TEST_CASE("a cache that a probe repeats is found in L2, one of serving is not") {
  const Device d = known_device("l40s");
  Attention k;
  k.sequences = k.rows = 1, k.widest = 1, k.heads = 32, k.kv_heads = 8, k.head_dim = 128;
  const Span s{8192, 8192};
  const AttentionChoice choice = attention_choice(d.gpu().attention, {}, k.cache);
  CHECK(gpu_time(d, choice, k, s, CacheState::repeated) < 0.8 * gpu_time(d, choice, k, s, CacheState::in_memory));
}

TEST_CASE("experts: more rows never cost less, and a few rows already read several experts") {
  const Device d = known_device(GENERATE(from_range(kAll)));
  Seconds before{};
  for (int rows = 1; rows < 5000; rows = rows < 200 ? rows + 1 : rows * 11 / 10) {
    const Seconds t = kernel_time(d, ExpertMlp{rows, 2048, 768, 128, 8});
    CHECK(t >= before);
    CHECK(std::isfinite(t.value));
    before = t;
  }
  const Seconds one = kernel_time(d, ExpertMlp{1, 4096, 4096, 128, 8}),
                eight = kernel_time(d, ExpertMlp{8, 4096, 4096, 128, 8});
  CHECK(eight > 3.0 * one);  // 1 row: 8 experts; 8 rows: 51.6
}

TEST_CASE("what is left in L2 falls with the traffic since") {
  const Device d = known_device("a100-sxm");
  CHECK(l2_share_left(d, Gemm{}, Bytes{0}) == 1);
  CHECK(l2_share_left(d, Gemm{}, Bytes{1e9}) < 0.01);
  CHECK(l2_share_left(d, Gemm{}, Bytes{1e6}) > l2_share_left(d, Gemm{}, Bytes{2e7}));
}
