// SPDX-License-Identifier: Apache-2.0
// Mostly for the compiler: what is allowed with units, and what must not compile.
#include "core/quantity.h"

#include <type_traits>

#include "tests/catch.h"

using namespace draftline;

template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Assignable = requires(A a, B b) {
  a += b;
};

static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Seconds, double>);
static_assert(!Addable<double, Bytes>);
static_assert(!Addable<Flops, FlopsPerSecond>);  // a count is no rate
static_assert(!Addable<Bytes, BytesPerSecond>);
static_assert(!Comparable<Seconds, Bytes>);
static_assert(!Comparable<Seconds, double>);
static_assert(Comparable<Seconds, Seconds>);
static_assert(!Assignable<Seconds, Bytes>);
static_assert(!std::is_convertible_v<double, Seconds>);  // a bare number says no unit
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(std::is_same_v<decltype(Seconds{1} / Seconds{2}), double>);  // a ratio is a number
static_assert(std::is_same_v<decltype(PerSecond{1} * Seconds{2}), double>);

static_assert(std::is_same_v<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
static_assert(std::is_same_v<decltype(Flops{} / FlopsPerSecond{}), Seconds>);
static_assert(std::is_same_v<decltype(FlopsPerSecond{} / BytesPerSecond{}), FlopsPerByte>);
static_assert(std::is_same_v<decltype(Flops{} / Bytes{}), FlopsPerByte>);
static_assert(std::is_same_v<decltype(1.0 / Seconds{}), PerSecond>);
static_assert(sizeof(Seconds) == sizeof(double));

TEST_CASE("quantities calculate as their values do") {
  CHECK((Bytes{6} / BytesPerSecond{2}).value == 3);
  CHECK((Seconds{1} + Seconds{2} - Seconds{0.5}).value == 2.5);
  CHECK((2 * Seconds{3} * 2).value == 12);
  CHECK((-Seconds{3} / 2).value == -1.5);
  CHECK((1 / Seconds{4}).value == 0.25);
  const double speedup = Seconds{3} / Seconds{2};
  CHECK(speedup == 1.5);
  Seconds sum;
  sum += Seconds{2};
  sum -= Seconds{0.5};
  CHECK(sum == Seconds{1.5});
  CHECK(Seconds{1} < Seconds{2});
}
