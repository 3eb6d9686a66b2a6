// SPDX-License-Identifier: Apache-2.0
#include "core/reader.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

using namespace draftline;
using Messages = std::vector<std::string>;

static Document parse(std::string_view text) { return Document::from_text(text, "s.json"); }

static Messages mistakes(const Document& document) {
  try {
    document.finish();
  } catch (const InputErrors& e) { return e.messages(); }
  return {};
}

// The mistakes that `read` finds in a text.
template <class Read>
static Messages mistakes(std::string_view text, Read read) {
  const Document document = parse(text);
  read(document.root());
  return mistakes(document);
}

TEST_CASE("values are read as what they are") {
  const Document document =
      parse(R"({"i":3,"f":2.5,"w":8.0,"t":"x","b":true,"l":[1,2.5],"q":"5 ms","big":9007199254740993})");
  const Reader in = document.root();
  CHECK(in.at("i").positive_int() == 3);
  CHECK(in.at("f").number() == 2.5);
  CHECK(in.at("w").integer() == 8);
  CHECK(in.at("t").text() == "x");
  CHECK(in.at("b").boolean());
  CHECK(in.at("l").numbers() == std::vector<double>{1, 2.5});
  CHECK(in.at("q").quantity<Seconds>() == Seconds{0.005});
  CHECK(in.at("big").long_integer() == 9007199254740993);
  CHECK(in.find("absent") == std::nullopt);
  CHECK(in.at("l").place() == "s.json#/l");
  in.done();
  CHECK_FALSE(in.failed());
  CHECK_NOTHROW(document.finish());
}

TEST_CASE("all mistakes come at once, each with file and pointer") {
  CHECK(mistakes(R"({"batch_size":0,"method":{"draft_lenght":3,"name":7},"rate":"fast"})",
                 [](const Reader& in) {
                   in.at("batch_size").positive_int();
                   in.at("method").at("name").text();
                   in.at("method").find("draft_length");
                   in.at("method").done();
                   in.at("rate").ratio();
                   in.at("engine").text();
                   in.done();
                 }) == Messages{"s.json#/batch_size: must be at least 1, got 0",
                                "s.json#/method/name: must be a text, got the number 7",
                                "s.json#/method/draft_lenght: unknown key; did you mean \"draft_length\"?",
                                "s.json#/rate: must be a number, got the text \"fast\"",
                                "s.json#: missing key \"engine\""});
}

TEST_CASE("one mistake gives one message, whatever hangs on it") {
  CHECK(mistakes(R"({"list":3})",
                 [](const Reader& in) {
                   const Reader missing = in.at("a");
                   missing.at("b").items();
                   missing.at("b").at("c").integer(1, 2);
                   missing.find("x");
                   missing.entries();
                   missing.quantity<Bytes>();
                   missing.done();
                   missing.fail("never said");
                   in.at("a");
                   for (const Reader& item : in.at("list").items()) item.text();
                   in.at("list").at("x").at("y").text();
                   in.at("list").find("z");
                   in.at("list").done();
                 }) == Messages{"s.json#: missing key \"a\"", "s.json#/list: must be a list, got the number 3",
                                "s.json#/list: must be an object, got the number 3"});
}

TEST_CASE("a failed read returns a value within the range that was asked for") {
  const Document document = parse(R"({"x":"text"})");
  const Reader x = document.root().at("x");
  CHECK(x.positive_int() == 1);
  CHECK(x.integer(-9, -3) == -3);
  CHECK(x.number(2, 3) == 2);
  CHECK(x.quantity<Seconds>() == Seconds{1});
  CHECK(x.quantity<Seconds>(0) == Seconds{0});
  CHECK(x.numbers().empty());
  CHECK(document.root().at("none").json().is_null());
}

TEST_CASE("numbers outside their range, or not whole, are refused") {
  const auto said = [](std::string_view text, auto read) {
    const Messages all = mistakes(text, read);
    return all.empty() ? "nothing" : all.front().substr(all.front().find(": ") + 2);
  };
  const auto whole = [](const Reader& in) { in.integer(1, 64); };
  CHECK(said("65", whole) == "must be at most 64, got 65");
  CHECK(said("0", whole) == "must be at least 1, got 0");
  CHECK(said("2.5", whole) == "must be a whole number, got the number 2.5");
  CHECK(said("18446744073709551615", whole) == "must be at most 64, got 18446744073709551615");
  CHECK(said("1e300", whole) == "must be at most 64, got 1e+300");
  CHECK(said("-1e300", whole) == "must be at least 1, got -1e+300");
  CHECK(said("123456789012345678901234567890", whole) == "must be at most 64, got 1.2345678901234568e+29");
  CHECK(said("null", whole) == "must be a whole number, got null");
  CHECK(said("true", whole) == "must be a whole number, got true");
  CHECK(said("64", whole) == "nothing");
  CHECK(said("1.5", [](const Reader& in) { in.ratio(); }) == "must be at most 1, got 1.5");
  CHECK(said("-0.1", [](const Reader& in) { in.number(0.5); }) == "must be at least 0.5, got -0.1");
  CHECK(said("1", [](const Reader& in) { in.boolean(); }) == "must be true or false, got the number 1");
  CHECK(mistakes("[1,\"x\",3]", [](const Reader& in) { in.numbers(0, 2); }) ==
        Messages{"s.json#/1: must be a number, got the text \"x\"", "s.json#/2: must be at most 2, got 3"});
}

TEST_CASE("a quantity needs its unit and is positive unless zero is allowed") {
  const auto said = [](std::string_view text, std::optional<double> least = std::nullopt) {
    const Messages all = mistakes(text, [&](const Reader& in) { in.quantity<BytesPerSecond>(least); });
    return all.empty() ? "nothing" : all.front();
  };
  CHECK(said("3") == "s.json#: must be a text with a unit, such as \"900 GB/s\", got the number 3");
  CHECK(said(R"("0 B/s")") == "s.json#: must be greater than 0, got the text \"0 B/s\"");
  CHECK(said(R"("-3 GB/s")") == "s.json#: must be greater than 0, got the text \"-3 GB/s\"");
  CHECK(said(R"("0 B/s")", 0) == "nothing");
  CHECK(said(R"("-1 B/s")", 0) == "s.json#: must be at least 0 B/s, got the text \"-1 B/s\"");
  const std::string range = "s.json#: must be between 1e-30 and 1e30 B/s, got the text ";
  CHECK(said(R"("1e-310 B/s")") == range + "\"1e-310 B/s\"");
  CHECK(said(R"("1e280 B/s")", 0) == range + "\"1e280 B/s\"");
  CHECK(said(R"("3 GFLOPS")") ==
        "s.json#: \"GFLOPS\" can mean a count or a rate: write \"GFLOP\" for a count, \"GFLOP/s\" for a rate");
  CHECK(said(R"("3 \u001b[31m")").find('\x1b') == std::string::npos);
}

TEST_CASE("a renamed key is read under its old name, with a note") {
  const Document document = parse(R"({"variation":2,"slo":3})");
  const Reader in = document.root();
  CHECK(in.at("cv", "variation").integer() == 2);
  CHECK(in.find("slo", "latency_targets")->integer() == 3);
  CHECK(in.find("slo", "latency_targets")->integer() == 3);
  in.done();
  CHECK(document.notes() == Messages{"s.json#/variation: is called \"cv\" now; the old name is still read"});
  CHECK_NOTHROW(document.finish());
}

TEST_CASE("a key may have two names, but not both at once") {
  const auto said = [](std::string_view text) {
    return mistakes(text, [](const Reader& in) {
      if (const auto k = in.find_either("draft_length", "num_speculative_tokens")) k->integer(1, 9);
      in.done();
    });
  };
  CHECK(said(R"({"draft_length":3})").empty());
  CHECK(said(R"({"num_speculative_tokens":3})").empty());
  CHECK(said(R"({"num_speculative_tokens":3,"draft_length":3})") ==
        Messages{"s.json#/num_speculative_tokens: is \"draft_length\" by another name; give one of them"});
  CHECK(said(R"({"colour":1})") ==
        Messages{"s.json#/colour: unknown key; known here: \"draft_length\", \"num_speculative_tokens\""});
}

TEST_CASE("an unknown key that is like no other is answered by all that are known, however many") {
  std::string known;
  const Messages all = mistakes(R"({"colour":1})", [&](const Reader& in) {
    for (int i = 10; i < 40; ++i) {
      in.find(std::to_string(i));
      known += (known.empty() ? "\"" : ", \"") + std::to_string(i) + "\"";
    }
    in.done();
  });
  CHECK(all == Messages{"s.json#/colour: unknown key; known here: " + known});
}

TEST_CASE("keys that another choice would need are known too") {
  const auto said = [](std::string_view text) {
    return mistakes(text, [](const Reader& in) {
      in.suggest({"cv"});
      in.find("process");
      in.done();
    });
  };
  CHECK(said(R"({"colour":1})") == Messages{"s.json#/colour: unknown key; known here: \"cv\", \"process\""});
  CHECK(said(R"({"cw":1})") == Messages{"s.json#/cw: unknown key; did you mean \"cv\"?"});
  CHECK(said(R"({"cv":1})") ==
        Messages{"s.json#/cv: has no meaning beside the other keys here; known: \"cv\", \"process\""});
}

TEST_CASE("an unknown key names the nearest that was asked for, or all of them") {
  const auto said = [](std::string_view text) {
    return mistakes(text, [](const Reader& in) {
      in.find("draft_length");
      in.suggest({"tree"});
      in.done();
    });
  };
  CHECK(said(R"({"draft_lengths":1})") ==
        Messages{"s.json#/draft_lengths: unknown key; did you mean \"draft_length\"?"});
  CHECK(said(R"({"tre":1})") == Messages{"s.json#/tre: unknown key; did you mean \"tree\"?"});
  CHECK(said(R"({"colour":1})") == Messages{"s.json#/colour: unknown key; known here: \"draft_length\", \"tree\""});
  CHECK(said(R"({"tree":1})") ==
        Messages{"s.json#/tree: has no meaning beside the other keys here; known: \"draft_length\", \"tree\""});
  CHECK(said(R"({"x/~\n":1})").front().starts_with("s.json#/x~1~0\\u000a: unknown key"));
}

TEST_CASE("a file may name its schema, an object inside it may not") {
  const auto read = [](const Reader& in) {
    in.at("inner").done();
    in.done();
  };
  CHECK(mistakes(R"({"$schema":"./s.schema.json","inner":{}})", read).empty());
  CHECK(mistakes(R"({"inner":{"$schema":"x"}})", read) == Messages{"s.json#/inner/$schema: unknown key"});
}

TEST_CASE("entries come in the order of the file and count as read, looking does not") {
  const Document document = parse(R"({"z":1,"a":{"y":2,"b":3}})");
  const auto keys = [](const auto& entries) {
    std::string all;
    for (const auto& [key, value] : entries) all += key;
    return all;
  };
  CHECK(keys(document.root().peek_entries()) == "za");
  CHECK(keys(document.root().at("a").entries()) == "yb");
  document.root().at("a").done();
  document.root().done();
  CHECK(mistakes(document) == Messages{"s.json#/z: unknown key; known here: \"a\""});
}

TEST_CASE("a word outside the list names the nearest or all") {
  static constexpr std::array<std::string_view, 2> words{"bf16", "int8"};
  CHECK(parse("\"int8\"").root().word(words) == "int8");
  const auto read = [](const Reader& in) { in.word(words); };
  CHECK(mistakes("\"int9\"", read) == Messages{"s.json#: unknown value \"int9\"; did you mean \"int8\"?"});
  CHECK(mistakes("\"x\"", read) == Messages{"s.json#: unknown value \"x\"; known here: \"bf16\", \"int8\""});
}

TEST_CASE("a chosen element of a list stands for the list, and keeps its place") {
  const Document document =
      parse(R"({"batch_size":[1,2,-4],"method":[{"name":"a"},{"name":"b","k":[3,[5,6]]}],"rates":[0.5,0.4]})");
  const Reader root = document.root();
  const Reader sizes = root.at("batch_size"), methods = root.at("method");
  const Reader second = methods.items()[1];
  const Reader depths = second.at("k");

  const Reader point = root.choosing({{sizes, 1}, {methods, 1}, {depths, 0}});
  CHECK(point.at("batch_size").positive_int() == 2);
  CHECK(point.at("method").at("name").text() == "b");
  CHECK(point.at("method").at("k").integer() == 3);
  CHECK(point.at("method").at("k").place() == "s.json#/method/1/k/0");
  CHECK(point.at("rates").numbers() == std::vector<double>{0.5, 0.4});
  CHECK(root.at("batch_size").is_array());  // the original is untouched

  // A list in a list: the choice of the outer one gives the inner one, which may be chosen from again.
  const Reader inner = depths.items()[1];
  CHECK(root.choosing({{methods, 1}, {depths, 1}}).at("method").at("k").numbers() == std::vector<double>{5, 6});
  CHECK(root.choosing({{methods, 1}, {depths, 1}}).choosing({{inner, 1}}).at("method").at("k").integer() == 6);

  root.choosing({{sizes, 2}}).at("batch_size").positive_int();
  CHECK(mistakes(document) == Messages{"s.json#/batch_size/2: must be at least 1, got -4"});
}

TEST_CASE("a choice outside its list is our bug") {
  const Document document = parse("[1,2]");
  CHECK_THROWS_AS(document.root().choosing({{document.root(), 2}}), Bug);
  CHECK_THROWS_AS(document.root().choosing({{parse("[1]").root(), 0}}), Bug);
}

TEST_CASE("mistakes are counted, not listed, beyond a hundred, and mistakes of other files join") {
  std::string many = "[";
  for (int i = 0; i < 250; ++i) many += "0,";
  const Messages all = mistakes(many + "0]", [](const Reader& in) {
    in.pass_on(InputErrors("other.json#/x: wrong"));
    for (const Reader& item : in.items()) item.positive_int();
  });
  REQUIRE(all.size() == 101);
  CHECK(all.front() == "other.json#/x: wrong");
  CHECK(all.back() == "s.json: and 152 more");  // 251 + 1 in all
}

TEST_CASE("a chosen value has the chosen elements of its lists, inside objects and lists too") {
  const Document d =
      Document::from_text(R"({"rate": [0.1, 0.2], "kept": [1, {"deep": ["a", "b"]}], "none": null})", "s");
  const Reader root = d.root(), kept = root.at("kept");
  const Reader in = root.choosing({{root.at("rate"), 1}, {kept.item(1).at("deep"), 0}});
  CHECK(in.chosen().dump() == R"({"kept":[1,{"deep":"a"}],"none":null,"rate":0.2})");
}

TEST_CASE("a file that is none has one clear message") {
  const FreshFolder folder;
  const auto said = [](const std::filesystem::path& path) -> std::string {
    try {
      Document::from_file(path);
    } catch (const InputErrors& e) { return e.what(); }
    return "nothing";
  };
  CHECK(said(folder.path()) == folder.path().string() + ": is a folder, not a file");
  CHECK(said(folder.path() / "x.json") == (folder.path() / "x.json").string() + ": no such file");
  CHECK(said("/dev/null") == "/dev/null: is no regular file");
}
