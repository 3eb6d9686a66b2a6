// SPDX-License-Identifier: Apache-2.0
#include "core/json_parse.h"

#include <array>

#include "core/errors.h"
#include "core/reader.h"
#include "core/rng.h"
#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

static std::string mistake(std::string_view text) {
  const ParsedJson parsed = parse_json(text);
  return parsed.error.empty() ? "none" : parsed.error_pointer + ": " + parsed.error;
}

static std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST_CASE("JSON is read with its keys in the order of the file") {
  const ParsedJson parsed = parse_json(R"( {"b": [1, {"z": 1, "y": 2}], "a": {"": null}} )");
  REQUIRE(parsed.error.empty());
  CHECK(parsed.root.dump() == R"({"a":{"":null},"b":[1,{"y":2,"z":1}]})");
  CHECK(parsed.keys == std::vector<std::vector<std::string>>{{"b", "a"}, {"z", "y"}, {""}});
  CHECK(mistake("\xEF\xBB\xBF[1]") == "none");
}

TEST_CASE("a parse error names line, column and the value that was being read") {
  CHECK(starts_with(mistake("{\n  \"a\": [1,\n 2,,3]}"), "/a/2: line 3, column 4: "));
  CHECK(contains(mistake("{\"a\":1"), "line 1, column 7"));
  CHECK(contains(mistake("{\"a\":1"), "end of input"));
  CHECK(contains(mistake("[1] 2"), "line 1, column 5"));
  CHECK(starts_with(mistake("[1,{\"a\":[0,[2,?]]}]"), "/1/a/1/1: "));
  CHECK(contains(mistake("[\"µµ\", ?]"), "column 8"));  // characters, not bytes
}

TEST_CASE("whatever hides a mistake is refused") {
  CHECK(mistake(R"({"a":{"b":1,"c":2,"b":3}})") == "/a/b: the key \"b\" stands twice in this object");
  CHECK(mistake(R"({"":1,"":2})") == "/: the key \"\" stands twice in this object");
  CHECK(mistake(R"({"x/y~":{"k":1,"k":1}})") == "/x~1y~0/k: the key \"k\" stands twice in this object");
  CHECK(starts_with(mistake(R"({"a":[1,1e999]})"), "/a/1: "));
  CHECK(ends_with(mistake(R"({"a":[1,1e999]})"), "1e999 is out of range"));
  CHECK(ends_with(mistake("[\"\xff\"]"), "ill-formed UTF-8"));
  CHECK(ends_with(mistake(std::string_view("[1]\0[2]", 7)), "a NUL byte; this is no JSON text"));
  CHECK(contains(mistake("\xFF\xFE[\0"), "UTF-16"));
  CHECK(mistake("") == ": the file is empty");
  CHECK(mistake(" \n") == ": the file is empty");
  for (const auto* text : {"[1,]", "{\"a\":1,}", "[01]", "[+1]", "[.5]", "[NaN]", "[Infinity]", "'a'", "{a:1}",
                           "[1] []", "nul", "[0x1]", "[\"\t\"]", "[\"\\ud800\"]"})
    CHECK(mistake(text) != "none");
}

TEST_CASE("comments are read over, and do not move the place of a mistake") {
  CHECK(mistake("// x\n1") == "none");
  CHECK(mistake("{ /* \"a\": */ \"a\": 1 }") == "none");
  CHECK(starts_with(mistake("[1, // {\n 2, /* \n */ ?]"), "/2: line 3, column 5: "));
  CHECK(contains(mistake("[1] /* no end"), "line 1, column "));
  CHECK(!parse_json("// x\n1", JsonDialect::python).error.empty());
}

TEST_CASE("nesting is allowed to 64 and no deeper") {
  CHECK(mistake(nested(64)) == "none");
  CHECK(ends_with(mistake(nested(65)), "nested deeper than 64"));
  CHECK(ends_with(mistake(std::string(10000000, '[')), "nested deeper than 64"));
}

// Reads everything that there is, with every kind of read.
static void read_all(const Reader& in) {
  for (const auto& [key, value] : in.entries()) read_all(value);
  if (in.is_array())
    for (const Reader& item : in.items()) read_all(item);
  static constexpr std::array<std::string_view, 2> words{"bf16", "fp16"};
  in.text();
  in.integer(0, 10);
  in.ratio();
  in.boolean();
  in.quantity<Seconds>();
  in.word(words);
  in.at("batch_size").positive_int();
  in.done();
}

TEST_CASE("no text, however mutilated, does worse than InputErrors") {
  const std::string good =
      R"({"name":"when \u00e9 \n","device":"h100","bw":"3.35 TB/s","method":[{"name":"eagle3","draft_length":[1,3,5],)"
      R"("acceptance":{"rates":[0.78,0.66e-1]}},{"x~/y":null}],"batch_size":[1,-2,true,12345678901234567890]})";
  static constexpr std::string_view interesting = "{}[]\",:\\0e9-+.\x00\xff\xC3 un";
  Rng rng(GENERATE(1u, 2u, 3u), "fuzz");
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    const auto changes = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t at = rng.below(text.size());
      const char c = interesting[rng.below(interesting.size())];
      switch (rng.below(5)) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        case 2: text.erase(at, 1 + rng.below(8)); break;
        case 3: {
          const std::size_t from = rng.below(text.size());
          text.insert(at, text.substr(from, rng.below(30)));
          break;
        }
        default: text.resize(at);
      }
    }
    try {
      const Document document = Document::from_text(text, "fuzz.json");
      read_all(document.root());
      document.finish();
    } catch (const InputErrors& e) {
      ++refused;
      for (const std::string& message : e.messages()) REQUIRE(starts_with(message, "fuzz.json"));
    }
  }
  CHECK(refused == 3000);  // read_all asks for what no document has
}
