// SPDX-License-Identifier: Apache-2.0
// What moved between two answers.
#include "gate/changes.h"

#include <cmath>

#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

PointFigures point(int batch, std::vector<std::pair<std::string, Json>> figures) {
  return {{{"batch", std::to_string(batch)}}, std::move(figures)};
}
// "batch 1 x: 1 -> 2 (+100 %)", a line each.
std::string moved(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is, double tolerance = 1e-9) {
  std::string text;
  for (const Change& c : changes_between(was, is, tolerance)) {
    text += (text.empty() ? "" : "\n") + text_of(c.point) + " " + c.figure + ": " + shown(c.was) + " -> " + shown(c.is);
    if (c.kind == Change::Kind::lost) text += " lost";
    if (c.kind == Change::Kind::appeared) text += " new";
    if (c.relative) text += " " + std::to_string(static_cast<int>(std::lround(*c.relative * 100))) + " %";
  }
  return text;
}

}  // namespace

TEST_CASE("equal answers have no changes, whatever the order of their points and figures") {
  const PointFigures a = point(1, {{"x", 1.5}, {"y", "text"}, {"z", nullptr}}), b = point(2, {{"x", 7}});
  CHECK(moved({a, b}, {b, point(1, {{"z", nullptr}, {"y", "text"}, {"x", 1.5}})}).empty());
  CHECK(moved({}, {}).empty());
}

TEST_CASE("figures that moved are sorted by size; what has none comes first") {
  CHECK(moved({point(1, {{"x", 100}, {"y", 100}, {"z", "old"}})}, {point(1, {{"x", 110}, {"y", 50}, {"z", "new"}})}) ==
        "batch 1 z: old -> new\n"
        "batch 1 y: 100 -> 50 -50 %\n"
        "batch 1 x: 100 -> 110 10 %");
}

TEST_CASE("new and lost points and figures count, each once") {
  CHECK(moved({point(1, {{"x", 1}, {"y", 2}}), point(2, {{"x", 1}})},
              {point(1, {{"x", 1}, {"z", 3}}), point(3, {{"x", 1}, {"y", 1}})}) ==
        "batch 1 y: 2 ->  lost\n"
        "batch 1 z:  -> 3 new\n"
        "batch 2 :  ->  lost\n"
        "batch 3 :  ->  new");
}

TEST_CASE("a point that is skipped now is one change, and so is one that is not skipped any more") {
  const PointFigures runs = point(1, {{"x", 1}, {"y", 2}}), skipped = point(1, {{"skipped", "needs 90 GiB"}});
  CHECK(moved({runs}, {skipped}) == "batch 1 skipped:  -> needs 90 GiB new");
  CHECK(moved({skipped}, {runs}) == "batch 1 skipped: needs 90 GiB ->  lost");
  CHECK(moved({skipped}, {point(1, {{"skipped", "needs 91 GiB"}})}) == "batch 1 skipped: needs 90 GiB -> needs 91 GiB");
}

TEST_CASE("a changed warning counts") {
  CHECK(moved({point(1, {{"warnings", "[]"}})}, {point(1, {{"warnings", R"(["late"])"}})}) ==
        R"(batch 1 warnings: [] -> ["late"])");
}

TEST_CASE("a tolerance is relative to the larger value and holds for numbers with units") {
  const auto apart = [](const Json& was, const Json& is, double tolerance) {
    return !moved({point(1, {{"x", was}})}, {point(1, {{"x", is}})}, tolerance).empty();
  };
  CHECK(!apart(100, 109, 0.1));
  CHECK(!apart(100, 110.0, 0.1));  // 10 of 110
  CHECK(apart(100, 112, 0.1));     // 12 of 112
  CHECK(!apart(112, 101, 0.1));
  CHECK(!apart(1, 1.0, 0));
  CHECK(apart(1.0, std::nextafter(1.0, 2.0), 0));
  CHECK(!apart(1.0, std::nextafter(1.0, 2.0), 1e-9));
  CHECK(apart(0, 1e-300, 0.1));
  CHECK(!apart("2.40 us", "2.41 us", 0.01));
  CHECK(apart("2.40 us", "2.41 us", 0.001));
  CHECK(apart("2.4 us", "2.4 ms", 0.1));
  CHECK(apart("2.4 us", 2.4, 0.1));
  CHECK(apart(true, false, 0.5));
  CHECK(apart(nullptr, 0, 0.5));
  CHECK(apart("inf s", "nan s", 0.5));
}

TEST_CASE("fingerprints are no numbers, though one may consist of digits") {
  CHECK(moved({point(1, {{"event_fingerprint", "1234567890123456"}})},
              {point(1, {{"event_fingerprint", "1234567890123457"}})}) ==
        "batch 1 event_fingerprint: 1234567890123456 -> 1234567890123457");
}

TEST_CASE("an event stream counts only where nothing but rounding may differ") {
  const std::vector<PointFigures> was{point(1, {{"event_fingerprint", "aa"}, {"event_fingerprint #2", "bb"}})},
      is{point(1, {{"event_fingerprint", "cc"}, {"event_fingerprint #2", "dd"}})};
  CHECK(changes_between(was, is, 0).size() == 2);
  CHECK(changes_between(was, is, kRounding).size() == 2);
  CHECK(changes_between(was, is, 0.001).empty());
}

TEST_CASE("a list is compared number by number") {
  const auto apart = [](const char* was, const char* is) {
    return !moved({point(1, {{"x", was}})}, {point(1, {{"x", is}})}, 0.1).empty();
  };
  CHECK(!apart("[100, [1, 2]]", "[109, [1, 2.1]]"));
  CHECK(apart("[100, [1, 2]]", "[112, [1, 2]]"));
  CHECK(apart("[100, [1, 2]]", "[100, [1, 3]]"));
  CHECK(apart("[1, 2]", "[1, 2, 3]"));
  CHECK(apart("[\"a\"]", "[\"b\"]"));
  CHECK(!apart("[\"2.4 us\"]", "[\"2.41 us\"]"));
  CHECK(apart("[1", "[2"));  // no list
}

TEST_CASE("a list that is nested deeper than a file may be is compared as text") {
  const auto changes = [](std::size_t depth, const char* was, const char* is) {
    const auto nested = [&](const char* number) { return std::string(depth, '[') + number + std::string(depth, ']'); };
    return changes_between({point(1, {{"x", nested(was)}})}, {point(1, {{"x", nested(is)}})}, 0.1).size();
  };
  CHECK(changes(64, "100", "109") == 0);
  CHECK(changes(64, "100", "112") == 1);
  CHECK(changes(100'000, "100", "100") == 0);
  CHECK(changes(100'000, "100", "109") == 1);
}

TEST_CASE("a number that was 0 has no relative change") {
  const auto changes = changes_between({point(1, {{"x", 0}})}, {point(1, {{"x", 5}})}, 1e-9);
  REQUIRE(changes.size() == 1);
  CHECK(!changes[0].relative);
  CHECK(changes[0].kind == Change::Kind::moved);
}
