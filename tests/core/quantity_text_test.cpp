// SPDX-License-Identifier: Apache-2.0
#include "core/quantity_text.h"

#include <limits>

#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

template <class Q>
static double value(std::string_view text) {
  const auto parsed = parse_quantity(text, unit_dimension<Q>());
  INFO(text << ": " << (parsed.index() == 1 ? std::get<1>(parsed) : ""));
  REQUIRE(parsed.index() == 0);
  return std::get<0>(parsed);
}

template <class Q>
static std::string mistake(std::string_view text) {
  const auto parsed = parse_quantity(text, unit_dimension<Q>());
  INFO(text);
  REQUIRE(parsed.index() == 1);
  return std::get<1>(parsed);
}

TEST_CASE("a quantity is read into its base unit") {
  CHECK(value<BytesPerSecond>("3.35 TB/s") == 3.35e12);
  CHECK(value<Seconds>("500 ms") == 0.5);
  CHECK(value<Seconds>("500ms") == 0.5);
  CHECK(value<Seconds>("  2 us ") == 2e-6);
  CHECK(value<Seconds>("2 µs") == 2e-6);
  CHECK(value<Seconds>("3 ns") == 3e-9);
  CHECK(value<Seconds>("1.5 min") == 90);
  CHECK(value<Seconds>("2 h") == 7200);
  CHECK(value<Bytes>("80 GiB") == 80.0 * 1024 * 1024 * 1024);
  CHECK(value<Bytes>("80 GB") == 80e9);
  CHECK(value<Bytes>("1 KiB") == 1024);
  CHECK(value<Bytes>("1 kB") == 1000);
  CHECK(value<Bytes>("2 TiB") == 2.0 * 1024 * 1024 * 1024 * 1024);
  CHECK(value<Bytes>("7 B") == 7);
  CHECK(value<Flops>("2 GFLOP") == 2e9);
  CHECK(value<FlopsPerSecond>("312 TFLOP/s") == 312e12);
  CHECK(value<FlopsPerSecond>("1e3 PFLOP/s") == 1e18);
  CHECK(value<PerSecond>("6 /s") == 6);
  CHECK(value<PerSecond>("6/s") == 6);
  CHECK(value<PerSecond>("6 1/s") == 6);
  CHECK(value<PerSecond>("120 /min") == Approx(2));
  CHECK(value<FlopsPerByte>("153 FLOP/B") == 153);
  CHECK(value<Seconds>("-3 s") == -3);
  CHECK(value<Seconds>("0 s") == 0);
  using Number = Quantity<0, 0, 0>;
  CHECK(value<Number>("1.5") == 1.5);
}

TEST_CASE("FLOPS is refused because it may be a count or a rate") {
  CHECK(mistake<FlopsPerSecond>("3 TFLOPS") ==
        "\"TFLOPS\" can mean a count or a rate: write \"TFLOP\" for a count, \"TFLOP/s\" for a rate");
  for (const auto* text : {"3 FLOPS", "3 GFLOPs", "3 gflops", "3 TFLOPS/s"})
    CHECK(contains(mistake<FlopsPerSecond>(text), "can mean a count or a rate"));
}

TEST_CASE("bits are refused, not taken for bytes") {
  for (const auto* text : {"100 Gb/s", "100 Gbit/s", "100 Gbps", "1 Gb", "5 b", "2 Mib"})
    CHECK(contains(mistake<BytesPerSecond>(text), "counts bits; write bytes"));
}

TEST_CASE("a unit of another dimension is refused and the right one shown") {
  CHECK(mistake<BytesPerSecond>("80 GB") ==
        "\"80 GB\" is an amount of memory, but a bandwidth is needed, such as \"900 GB/s\"");
  CHECK(contains(mistake<Seconds>("6 /s"), "a time is needed"));
  CHECK(contains(mistake<FlopsPerSecond>("3 TFLOP"), "such as \"100 TFLOP/s\""));
}

TEST_CASE("an unknown unit names the nearest known one of the dimension wanted") {
  CHECK(mistake<BytesPerSecond>("3 MBs") == "unknown unit \"MBs\"; did you mean \"MB/s\"?");
  CHECK(mistake<Seconds>("3 mS") == "unknown unit \"mS\"; did you mean \"ms\"?");
  CHECK(mistake<Bytes>("3 KB") == "unknown unit \"KB\"; did you mean \"kB\"?");
  CHECK(mistake<Seconds>("3 parsecs") == "unknown unit \"parsecs\"; write it as in \"10 ms\"");
}

TEST_CASE("what is no decimal number with a unit is refused") {
  for (const auto* text :
       {"",        " ",        "s",       "nan s", "inf s", "-inf s",  "NaN",     "infinity s", "0x10 s",
        "0X1p3 s", "+3 s",     "- 3 s",   "3",     "3 s s", "1,000 s", "1_000 s", "1'000 s",    "3,5 s",
        "1e999 s", "1e-999 s", "1e308 h", "e5 s",  ".",     "--3 s",   "3 s\n4",  "3\xff s"})
    CHECK_FALSE(mistake<Seconds>(text).empty());
  CHECK(mistake<Seconds>("3") == "\"3\" has no unit, such as \"10 ms\"");
  CHECK(mistake<Seconds>("1e308 h") == "\"1e308 h\" is out of range");
}

TEST_CASE("for people a quantity has three digits and a prefix that suits") {
  CHECK(to_text(Seconds{0.00123}) == "1.23 ms");
  CHECK(to_text(Seconds{0.9996}) == "1.00 s");  // rounds up into the next prefix
  CHECK(to_text(Seconds{0.9994}) == "999 ms");
  CHECK(to_text(Seconds{4.2e-8}) == "42.0 ns");
  CHECK(to_text(Seconds{95}) == "95.0 s");
  CHECK(to_text(Seconds{900}) == "15.0 min");
  CHECK(to_text(Seconds{7200}) == "2.00 h");
  CHECK(to_text(Seconds{0}) == "0 s");
  CHECK(to_text(Seconds{-0.002}) == "-2.00 ms");
  CHECK(to_text(Bytes{79.6 * 1024 * 1024 * 1024}) == "79.6 GiB");
  CHECK(to_text(Bytes{1020.0 * 1024}) == "1020 KiB");  // not 0.996 MiB
  CHECK(to_text(Bytes{1024.0 * 1024}) == "1.00 MiB");
  CHECK(to_text(BytesPerSecond{3.35e12}) == "3.35 TB/s");
  CHECK(to_text(FlopsPerSecond{312e12}) == "312 TFLOP/s");
  CHECK(to_text(Flops{1.4e10}) == "14.0 GFLOP");
  CHECK(to_text(FlopsPerByte{152.86}) == "153 FLOP/B");
  CHECK(to_text(PerSecond{6}) == "6.00 /s");
  CHECK(to_text(Seconds{std::numeric_limits<double>::quiet_NaN()}) == "nan s");
}

TEST_CASE("significant digits are rounded, kept to the last zero, and without exponent where that is readable") {
  CHECK(significant(1234.5) == "1230");
  CHECK(significant(0.05) == "0.0500");
  CHECK(significant(9.996) == "10.0");
  CHECK(significant(-2.5, 1) == "-2");
  CHECK(significant(1e-9) == "1.00e-09");
  CHECK(significant(1e20) == "1.00e+20");
  CHECK(significant(152.861, 5) == "152.86");
}

TEST_CASE("what is printed for people can be read again") {
  const double v = GENERATE(3.21e-9, 4.56e-5, 0.789, 12.3, 1230.0, 98700.0);
  CHECK(value<Seconds>(to_text(Seconds{v})) == Approx(v).epsilon(0.006));
  CHECK(value<BytesPerSecond>(to_text(BytesPerSecond{v})) == Approx(v).epsilon(0.006));
  CHECK(value<Bytes>(to_text(Bytes{v})) == Approx(v).epsilon(0.006));
}

TEST_CASE("every dimension that is written has a name for JSON") {
  CHECK(unit_name(unit_dimension<Seconds>()) == "s");
  CHECK(unit_name(unit_dimension<PerSecond>()) == "1/s");
  CHECK(unit_name(unit_dimension<FlopsPerSecond>()) == "FLOP/s");
  CHECK(unit_name(Dimension{}) == "");
  CHECK(unit_name(Dimension{3, 1, 4}) == "");
}
