// SPDX-License-Identifier: Apache-2.0
#include "core/json_writer.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>

#include "core/errors.h"
#include "core/rng.h"
#include "tests/catch.h"

using namespace draftline;

template <class Write>
static std::string written(int lines, Write write) {
  std::ostringstream out;
  JsonWriter json(out, lines);
  write(json);
  json.finish();
  return out.str();
}

// A disk with room for so many bytes.
class SmallDisk : public std::streambuf {
 public:
  explicit SmallDisk(std::streamsize room) : room_(room) {}

 private:
  int_type overflow(int_type c) override { return room_-- > 0 ? traits_type::not_eof(c) : traits_type::eof(); }
  std::streamsize xsputn(const char*, std::streamsize n) override {
    const std::streamsize fits = std::min(n, room_);
    room_ -= fits;
    return fits;
  }
  std::streamsize room_;
};

TEST_CASE("a document is written as it is told") {
  CHECK(written(0,
                [](JsonWriter& j) {
                  j.begin_object();
                  j.member("a", 1);
                  j.key("b");
                  j.begin_array();
                  j.value(0.1);
                  j.value(true);
                  j.value(nullptr);
                  j.value("text");
                  j.value(std::string("more"));
                  j.value(std::optional<int>());
                  j.end_array();
                  j.key("c");
                  j.begin_object();
                  j.end_object();
                  j.member("d", std::numeric_limits<std::uint64_t>::max());
                  j.member("e", std::numeric_limits<std::int64_t>::min());
                  j.end_object();
                }) ==
        R"({"a":1,"b":[0.1,true,null,"text","more",null],"c":{},"d":18446744073709551615,"e":-9223372036854775808})"
        "\n");
}

TEST_CASE("elements down to the depth asked for have lines of their own") {
  CHECK(
      written(2, [](JsonWriter& j) {
        j.begin_object();
        j.member("schema_version", 1);
        j.objects("results", std::array{0, 1}, [&](int i) { j.member("x", i); });
        j.key("none");
        j.begin_array();
        j.end_array();
        j.end_object();
      }) == "{\n  \"schema_version\": 1,\n  \"results\": [\n    {\"x\":0},\n    {\"x\":1}\n  ],\n  \"none\": []\n}\n");
}

TEST_CASE("a member is an object, a list of objects or a list of values, each filled by what is told") {
  CHECK(written(0,
                [](JsonWriter& j) {
                  j.begin_object();
                  j.object("o", [&] { j.member("x", 1); });
                  j.objects("all", std::vector<std::string>{"a", "b"}, [&](const std::string& s) { j.member(s, s); });
                  j.list("values", std::vector<int>{3, 4});
                  j.list("twice", std::vector<int>{3, 4}, [](int v) { return 2 * v; });
                  j.list("none", std::vector<double>{});
                  j.end_object();
                }) == R"({"o":{"x":1},"all":[{"a":"a"},{"b":"b"}],"values":[3,4],"twice":[6,8],"none":[]})"
                      "\n");
}

TEST_CASE("a figure has value, unit and kind, and its interval where one is known") {
  CHECK(written(0,
                [](JsonWriter& j) {
                  j.begin_object();
                  j.figure("t", Seconds{0.25}, FigureKind::predicted);
                  j.figure("x", 2, "", FigureKind::input, Interval{1.5, 2.5});
                  j.figure("n", NAN, "s", FigureKind::measured);
                  j.end_object();
                }) == R"({"t":{"value":0.25,"unit":"s","kind":"predicted"},)"
                      R"("x":{"value":2,"unit":"","kind":"input","low":1.5,"high":2.5},)"
                      R"("n":{"value":null,"unit":"s","kind":"measured"}})"
                      "\n");
}

TEST_CASE("every text comes back as it was, and what is no text becomes one") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "µ × 漢 😀";
  CHECK(nlohmann::json::parse(written(0, [&](JsonWriter& j) { j.value(all); })) == all);
  const auto back = [](const char* text) {
    return nlohmann::json::parse(written(0, [&](JsonWriter& j) { j.value(text); })).get<std::string>();
  };
  CHECK(back("a\xff z") == "a\uFFFD z");
  CHECK(back("\xC3") == "\uFFFD");                      // cut short
  CHECK(back("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // a surrogate
  CHECK(back("\xC0\x80") == "\uFFFD\uFFFD");            // overlong
  const std::string large(300000, 'x');                 // larger than the buffer
  CHECK(nlohmann::json::parse(written(0, [&](JsonWriter& j) { j.value(large); })) == large);
}

TEST_CASE("every double comes back bit for bit, NaN and infinity become null") {
  Rng rng(1, "doubles");
  std::vector<double> all{
      0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e21, 123456789012345680};
  while (all.size() < 20000) {
    const double v = std::bit_cast<double>(rng.bits());
    if (std::isfinite(v)) all.push_back(v);
  }
  const auto back = nlohmann::json::parse(written(0, [&](JsonWriter& j) {
    j.begin_array();
    for (const double v : all) j.value(v);
    j.value(std::numeric_limits<double>::infinity());
    j.value(std::nan(""));
    j.end_array();
  }));
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(back[i].get<double>() == all[i]);
  CHECK(back[all.size()].is_null());
  CHECK(back[all.size() + 1].is_null());
}

TEST_CASE("a whole tree is written as its own dump says") {
  const auto tree = nlohmann::json::parse(R"({"a":[1,2.5,-3,null,true,"x",{"b":{}}],"c":"\u00e9"})");
  CHECK(written(0, [&](JsonWriter& j) { j.value(tree); }) == tree.dump() + "\n");
}

TEST_CASE("a full disk is noticed while writing and at the end") {
  const auto write = [](std::streamsize room, int values) {
    SmallDisk disk(room);
    std::ostream out(&disk);
    JsonWriter json(out);
    json.begin_array();
    for (int i = 0; i < values; ++i) json.value(i);
    json.end_array();
    json.finish();
  };
  CHECK_NOTHROW(write(1 << 24, 100000));
  CHECK_THROWS_AS(write(100, 100000), OutputError);
  CHECK_THROWS_AS(write(10, 10), OutputError);
  CHECK_THROWS_AS(write(200000, 100000), OutputError);
  SmallDisk disk(1000);
  std::ostream out(&disk);
  JsonWriter json(out);
  json.begin_array();
  const auto write_a_megabyte = [&] {
    for (int i = 0; i < 200000; ++i) json.value(i);
  };
  CHECK_THROWS_AS(write_a_megabyte(), OutputError);  // long before the end
}

TEST_CASE("a document that would not be JSON is our bug") {
  std::ostringstream out;
  JsonWriter json(out);
  CHECK_THROWS_AS(json.key("x"), Bug);
  CHECK_THROWS_AS(json.finish(), Bug);
  json.begin_object();
  CHECK_THROWS_AS(json.value(1), Bug);
  CHECK_THROWS_AS(json.end_array(), Bug);
  json.key("a");
  CHECK_THROWS_AS(json.key("b"), Bug);
  CHECK_THROWS_AS(json.end_object(), Bug);
  json.value(1);
  CHECK_THROWS_AS(json.finish(), Bug);
  json.end_object();
  CHECK_THROWS_AS(json.value(1), Bug);
  json.finish();
  CHECK(out.str() == "{\n  \"a\": 1\n}\n");
}
