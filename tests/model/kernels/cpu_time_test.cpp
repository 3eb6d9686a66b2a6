// SPDX-License-Identifier: Apache-2.0
// The CPU form, reckoned by hand.
#include "model/kernels/cpu_time.h"

#include <cmath>

#include "tests/catch.h"

using namespace draftline;

namespace {

constexpr double kNs = 1e-9;

}  // namespace

TEST_CASE("a GEMM on the CPU is its panels times its groups of rows") {
  // 32 outputs are two panels; 5 rows are a group of 4 and one of 1. Nothing but steps: 10 inputs x (20 + 10) ns x 2.
  CpuModel f;
  f.caches = {Bytes{1e9}, Bytes{1e9}, Bytes{1e9}};
  f.gemm.step = {Seconds{10 * kNs}, Seconds{}, Seconds{}, Seconds{20 * kNs}};
  CHECK(cpu_time(f, Gemm{5, 10, 32}, {}).value == Approx(600 * kNs));
  CHECK(cpu_time(f, Gemm{5, 10, 33}, {}).value == Approx(900 * kNs));  // a third panel, though all but empty
  // From memory alone, at 1 ns a byte of 32 bits: 4 x 10 x 32, whatever the groups of rows that follow the first.
  f.gemm = {};
  f.gemm.reach.byte = {Seconds{}, Seconds{}, Seconds{kNs}};
  CHECK(cpu_time(f, Gemm{1, 10, 32}, {Bytes{INFINITY}, {}}).value == Approx(1280 * kNs));
  CHECK(cpu_time(f, Gemm{9, 10, 32}, {Bytes{INFINITY}, {}}).value == Approx(1280 * kNs));
  CHECK(cpu_time(f, Gemm{1, 10, 32}, {}).value == 0);
}

TEST_CASE("a byte comes from the nearest cache that still has it") {
  CpuModel f;
  f.caches = {Bytes{1e3}, Bytes{1e5}, Bytes{1e7}};
  f.gemm.reach.byte = {Seconds{kNs}, Seconds{10 * kNs}, Seconds{100 * kNs}};
  const auto of = [&](const ReuseDistance& since) { return cpu_time(f, Gemm{1, 10, 32}, since).value / (1280 * kNs); };
  CHECK(of({Bytes{10}, {}}) < 0.01);
  CHECK(of({Bytes{1e4}, {}}) == Approx(1).epsilon(0.01));
  CHECK(of({Bytes{1e6}, {}}) == Approx(10).epsilon(0.01));
  CHECK(of({Bytes{1e9}, {}}) == Approx(100).epsilon(0.01));
  // What others bring into the last cache while we wait pushes out of that cache alone.
  CHECK(of({Bytes{1e6}, Bytes{1e7 - 1e6}}) == Approx(55).epsilon(0.01));  // half of it
  CHECK(of({Bytes{1e6}, Bytes{1e9}}) == Approx(100).epsilon(0.01));
  CHECK(of({Bytes{1e4}, Bytes{1e9}}) == Approx(1).epsilon(0.02));
}

TEST_CASE("what comes from the last cache comes while others are worked on, what comes from memory does not") {
  CpuModel f;
  f.caches = {Bytes{1e3}, Bytes{1e5}, Bytes{1e7}};
  f.gemm.step[0] = Seconds{64 * kNs};  // as long as 64 bytes, one input of a panel, at 1 ns each
  f.gemm.blend = 100;                  // the larger of the two
  const auto of = [&](double ours) { return cpu_time(f, Gemm{1, 10, 16}, {Bytes{ours}, {}}).value / (640 * kNs); };
  f.gemm.reach.byte = {Seconds{}, Seconds{kNs / 2}, Seconds{kNs}};
  CHECK(of(1e6) == Approx(1).epsilon(0.01));
  CHECK(of(1e9) == Approx(2).epsilon(0.01));
  f.gemm.reach.byte[1] = Seconds{3 * kNs};
  CHECK(of(1e6) == Approx(3).epsilon(0.01));
  // Attention: of one row four panels of 16 keys a step, 16 columns each, and a block of values a step for four keys.
  f.attention.step = Seconds{64 * kNs};
  f.attention.blend = 100;
  Attention k;
  k.sequences = k.rows = k.widest = k.heads = k.kv_heads = 1;
  k.head_dim = 16;
  const auto attention = [&](double ours) {
    return cpu_time(f, k, Span{64, 64}, {Bytes{ours}, {}}).value / ((16 + 64) * 64 * kNs);
  };
  f.attention.reach.byte = {Seconds{}, Seconds{kNs / 4}, Seconds{5 * kNs / 8}};  // of 8192 bytes 5120 ns from memory
  CHECK(attention(1e6) == Approx(1).epsilon(0.01));
  CHECK(attention(1e9) == Approx(2).epsilon(0.01));
  // And what first lines take, of each sequence and KV head: those of its keys, and of its only block of values.
  f.attention = {};
  f.attention.llc_start = Seconds{70 * kNs};
  f.attention.memory_start = Seconds{300 * kNs};
  k.sequences = k.rows = 3;
  k.heads = 8;
  k.kv_heads = 2;
  CHECK(cpu_time(f, k, Span{192, 192}, {Bytes{1e6}, {}}).value == Approx(2 * 6 * 70 * kNs).epsilon(0.01));
  CHECK(cpu_time(f, k, Span{192, 192}, {Bytes{1e9}, {}}).value == Approx(2 * 6 * 300 * kNs).epsilon(0.01));
  CHECK(cpu_time(f, k, Span{192, 192}, {}).value == 0);
}

TEST_CASE("attention on the CPU walks over a head's lines with four query rows at a time") {
  CpuModel f;
  f.caches = {Bytes{1e9}, Bytes{1e9}, Bytes{1e9}};
  f.attention.step = Seconds{kNs};
  Attention k;
  k.sequences = k.rows = k.widest = 1;
  k.heads = k.kv_heads = 1;
  k.head_dim = 32;
  const auto of = [&](double pairs, double keys) { return cpu_time(f, k, Span{pairs, keys}, {}).value / kNs; };
  // One row: four panels of 16 keys a step, 32 columns each; two blocks of values in one step a key. 64 keys, and one
  // more.
  CHECK(of(64, 64) == Approx(32 + 64));
  CHECK(of(65, 65) == Approx(2 * 32 + 65));
  // Eight heads of a KV head are two groups of four: one panel a step (64 keys: 4), one block a step.
  k.heads = 8;
  CHECK(of(64, 64) == Approx(2 * (4 * 32 + 2 * 64)));
  // Two sequences of two rows under a mask over 20 keys: of each, two rows in steps of two panels.
  k.heads = 1;
  k.sequences = 2;
  k.rows = 4;
  k.widest = 2;
  k.masked = true;
  CHECK(of(80, 40) == Approx(2 * (32 + 20)));
  // A prompt of 32: rows see 1 to 32 keys, in tiles of four rows; each goes as far as its last row. Panels: 1.5 on
  // average.
  k.sequences = 1;
  k.rows = k.widest = 32;
  k.masked = false;
  CHECK(of(33 * 32 / 2.0, 32) == Approx(8 * (32 * 1.5 + 2 * 18)).epsilon(0.05));
  // Bytes alone, 1 ns each from memory, nothing nearer: those of a head once, whatever the rows, keys in whole panels.
  f.attention.step = {};
  f.attention.reach.byte = {Seconds{}, Seconds{}, Seconds{kNs}};
  k.heads = 8;
  k.kv_heads = 2;
  k.rows = k.widest = 1;
  CHECK(cpu_time(f, k, Span{10, 10}, {Bytes{INFINITY}, {}}).value == Approx(2 * 4 * 32 * (16 + 10) * kNs));
  k.rows = k.widest = 9;
  k.masked = true;
  CHECK(cpu_time(f, k, Span{90, 10}, {Bytes{INFINITY}, {}}).value == Approx(2 * 4 * 32 * (16 + 10) * kNs));
}

TEST_CASE("an elementwise op on the CPU costs its own bytes, held in 32 bits") {
  CpuModel f;
  f.caches = {Bytes{1e9}, Bytes{1e9}, Bytes{1e9}};
  f.elements.byte = Seconds{kNs};
  f.elements.of[0].fixed = Seconds{5 * kNs};
  f.elements.of[2] = {Seconds{7 * kNs}, Seconds{50 * kNs}};
  Copy k{Bytes{80}, Bytes{40}};
  CHECK(cpu_time(f, k, {}).value == Approx(125 * kNs));
  f.elements.slow_for = Seconds{25 * kNs};  // of 125 ns the 100 after it at twice the clock
  f.elements.slow_clock = 2;
  CHECK(cpu_time(f, k, {}).value == Approx(75 * kNs));
  f.elements.slow_clock = 1;
  k.op = ElementOp::silu_mul;
  k.elements = 10;
  CHECK(cpu_time(f, k, {}).value == Approx((7 + 120 + 500) * kNs));
  k.format = DType::bf16;  // as many elements in half the declared bytes
  k.read = Bytes{40};
  k.written = Bytes{20};
  CHECK(cpu_time(f, k, {}).value == Approx((7 + 120 + 500) * kNs));
  f.caches[1] = Bytes{12};  // a tenth of it: each byte is a far one too
  f.elements.beyond_l2_byte = Seconds{kNs};
  CHECK(cpu_time(f, k, {}).value == Approx((7 + 240 + 500) * kNs).epsilon(1e-4));
  f.caches[0] = Bytes{3};  // and a byte beyond the first
  f.elements.beyond_l1_byte = Seconds{kNs};
  CHECK(cpu_time(f, k, {}).value == Approx((7 + 360 + 500) * kNs).epsilon(1e-4));
}

TEST_CASE("appended keys and values come to lines from wherever these were a step ago") {
  // Two sequences of one row, 2 heads of 32: 2 x (32 lines of keys + 2 of values) each, of 64 bytes; ns a byte from
  // memory.
  CHECK(cpu_lines_appended(2, 2, 2, 32, 32).value == 2 * 2 * (32 + 2) * 64);
  CHECK(cpu_lines_appended(1, 17, 2, 32, 32).value == 2 * (2 * 32 + 17 * 2) * 64);  // two panels
  CpuModel f;
  f.caches = {Bytes{1e9}, Bytes{1e9}, Bytes{1e9}};
  f.elements.lines.byte = {Seconds{}, Seconds{}, Seconds{kNs}};
  Copy k{Bytes{}, Bytes{}};
  k.old_lines = Bytes{640};
  CHECK(cpu_time(f, k, {Bytes{INFINITY}, {}}).value == Approx(640 * kNs));
  CHECK(cpu_time(f, k, {}).value == 0);
}
