// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/safetensors.h"

#include <cmath>
#include <limits>

#include "core/rng.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/decoder/safetensors_bytes.h"

using namespace draftline;

namespace {

std::string message_of(const std::string& bytes) {
  const FreshFolder folder;
  const auto file = folder.path() / "x.safetensors";
  write_bytes(file, bytes);
  const std::string prefix = file.string() + ": ", message = mistake_of([&] { SafetensorsFile{file}; });
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

// A header of tensors that are given as R"("a":{...},"b":{...})".
std::string message_of(const std::string& tensors, std::size_t data_bytes) {
  return message_of(safetensors("{" + tensors + "}", std::string(data_bytes, '\0')));
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name) {
  std::vector<float> all(file.tensors().at(name).elements);
  file.read(name, 0, all);
  return all;
}

}  // namespace

TEST_CASE("tensors are read as fp32 from F32, BF16 and F16") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("single":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]},)"
                             R"("brain":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},)"
                             R"("half":{"dtype":"F16","shape":[2,4],"data_offsets":[16,32]}}   )";
  // BF16 is the upper half of an fp32: 0x3F80 = 1, 0xC2F7 = -123.5.
  // F16: 1 = 0x3C00, -2 = 0xC000, 65504 = 0x7BFF (largest), 2^-14 = 0x0400 (least normal), 1023 * 2^-24 = 0x03FF and
  // -2^-24 = 0x8001 (subnormal), -0 = 0x8000, 1/3 rounded = 0x3555.
  std::string data = fp32_bytes({1.5F, -0.1F, 3e38F});
  for (const unsigned bits : {0x3F80U, 0xC2F7U, 0x3C00U, 0xC000U, 0x7BFFU, 0x0400U, 0x03FFU, 0x8001U, 0x8000U, 0x3555U})
    data += little_endian(bits, 2);
  write_bytes(path, safetensors(header, data));

  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors().at("half").shape == std::vector<std::uint64_t>{2, 4});
  CHECK(values_of(file, "single") == std::vector{1.5F, -0.1F, 3e38F});
  CHECK(values_of(file, "brain") == std::vector{1.0F, -123.5F});
  const auto half = values_of(file, "half");
  CHECK(half == std::vector{1.0F, -2.0F, 65504.0F, 0x1p-14F, 0x1.FF8p-15F, -0x1p-24F, -0.0F, 0x1.554p-2F});
  CHECK(std::signbit(half[6]));

  std::vector<float> middle(2);
  file.read("half", 1, middle);
  CHECK(middle == std::vector{-2.0F, 65504.0F});
  CHECK(contains(mistake_of([&] { file.read("other", 0, middle); }), ": tensor \"other\": is not in the file"));
}

TEST_CASE("more values than are converted at a time are read in their order") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  std::vector<float> values(200'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  write_bytes(path,
              safetensors(R"({"x":{"dtype":"F32","shape":[200000],"data_offsets":[0,800000]}})", fp32_bytes(values)));
  CHECK(values_of(SafetensorsFile(path), "x") == values);
}

TEST_CASE("scalars, empty tensors and a file without tensors are allowed") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_bytes(path, safetensors(R"({"empty":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]},)"
                                R"("one":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                                fp32_bytes({7})));
  const SafetensorsFile file(path);
  CHECK(file.tensors().at("empty").elements == 0);
  CHECK(values_of(file, "one") == std::vector{7.0F});
  CHECK(message_of("", 0) == "none");
}

TEST_CASE("values that are no finite numbers are refused when they are read") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  write_bytes(path, safetensors(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", fp32_bytes({1, 2, bad})));
  const SafetensorsFile file(path);
  CHECK(contains(mistake_of([&] { values_of(file, "x"); }), ": tensor \"x\": value 2 is not finite"));
  std::vector<float> whole(2);
  file.read("x", 0, whole);
  CHECK(whole[1] == 2);
}

TEST_CASE("a dtype that is no float of a network is known but not read") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_bytes(path, safetensors(R"({"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\1')));
  CHECK(contains(mistake_of([&] { values_of(SafetensorsFile(path), "x"); }),
                 "tensor \"x\": values of dtype I64 can't be used; F32, F16 and BF16 can"));
}

TEST_CASE("a file that is no safetensors file is refused by its first bytes") {
  CHECK(message_of("") == "is too short for a safetensors file: 0 bytes");
  CHECK(message_of("1234567") == "is too short for a safetensors file: 7 bytes");
  CHECK(message_of(little_endian(10, 8) + "{}") ==
        "its header would be 10 bytes, but only 2 follow: the file is cut short, or no safetensors file");
  // any text: eight letters are a huge length
  CHECK(contains(message_of("version https://example.org/spec"),
                 "and at most 100000000 are allowed: no safetensors file"));
  CHECK(contains(message_of(little_endian(~std::uint64_t{0}, 8) + "{}"),
                 "its header would be 18446744073709551615 bytes"));
  CHECK(contains(message_of(little_endian(100'000'001, 8) + "{}"), "at most 100000000 are allowed"));
  CHECK(contains(message_of(little_endian(100'000'000, 8) + "{}"), "but only 2 follow"));
}

TEST_CASE("a path that is no file is refused") {
  const FreshFolder folder;
  CHECK(ends_with(mistake_of([&] { SafetensorsFile(folder.path() / "none"); }), "none: no such file"));
  CHECK(ends_with(mistake_of([&] { SafetensorsFile{folder.path()}; }), ": is a folder, not a file"));
}

TEST_CASE("a header that is no header is refused") {
  const auto message = [](const std::string& header) { return message_of(safetensors(header, "")); };
  CHECK(message("") == "the header does not begin with {");
  CHECK(message("[]") == "the header does not begin with {");
  CHECK(message("{") == "the header is no JSON, at its byte 2");
  CHECK(message("{} x") == "the header is no JSON, at its byte 4");
  CHECK(message("{\"a\xFF\":1}") == "the header is not UTF-8, at its byte 3");
  CHECK(message(R"({"a":1})") == "\"a\" must be an object, got the number 1");
  CHECK(message(R"({"a":[]})") == "\"a\" must be an object, got a list");
  CHECK(message(R"({"__metadata__":{"a":1}})") == "__metadata__ must map strings to strings, got the number 1");
  CHECK(message(R"({"__metadata__":{"a":{}}})") == "__metadata__ must map strings to strings, got an object");
  CHECK(message(R"({"__metadata__":[]})") == "\"__metadata__\" must be an object, got a list");
  CHECK(message(R"({"__metadata__":{},"__metadata__":{}})") == "the header has \"__metadata__\" twice");
  CHECK(contains(message("{\"a\":" + std::string(1'000'000, '[')), "must be an object, got a list"));
  std::string deep = "{";
  for (int i = 0; i < 100'000; ++i) deep += R"("a":{)";
  CHECK(contains(message(deep), "tensor \"a\": unknown key \"a\""));
}

TEST_CASE("a tensor's entry must be complete and of the right types") {
  const auto message = [](const std::string& entry) { return message_of("\"x\":{" + entry + "}", 8); };
  const std::string dtype = R"("dtype":"F32")", shape = R"("shape":[2])", offsets = R"("data_offsets":[0,8])";
  CHECK(message(dtype + "," + shape + "," + offsets) == "none");
  CHECK(message(shape + "," + offsets) == "tensor \"x\": has no dtype");
  CHECK(message(dtype + "," + offsets) == "tensor \"x\": has no shape");
  CHECK(message(dtype + "," + shape) == "tensor \"x\": has no data_offsets");
  CHECK(message(dtype + "," + dtype) == "tensor \"x\": key \"dtype\" is there twice");
  CHECK(message(R"("size":1)") == "tensor \"x\": unknown key \"size\"");
  CHECK(message(R"("dtype":4)") == "tensor \"x\": dtype must be a string, got the number 4");
  CHECK(message(R"("dtype":["F32"])") == "tensor \"x\": dtype must be a string, got a list");
  CHECK(message(R"("shape":2)") == "tensor \"x\": shape must be a list, got the number 2");
  CHECK(message(R"("shape":null)") == "tensor \"x\": shape must be a list, got null");
  CHECK(message(R"("dtype":"F31",)" + shape + "," + offsets) == "tensor \"x\": unknown dtype \"F31\"");
  const std::string whole = "must hold whole numbers from 0 to 2^64 - 1, got ";
  CHECK(message(R"("shape":[-1])") == "tensor \"x\": shape " + whole + "a negative number");
  CHECK(message(R"("shape":[1.5])") == "tensor \"x\": shape " + whole + "the number 1.5");
  CHECK(message(R"("shape":[18446744073709551616])") ==
        "tensor \"x\": shape " + whole + "the number 18446744073709551616");
  CHECK(message(R"("shape":[[1]])") == "tensor \"x\": shape " + whole + "a list");
  CHECK(message(R"("data_offsets":["0",8])") == "tensor \"x\": data_offsets " + whole + "a string");
  CHECK(message(R"("data_offsets":[0])") == "tensor \"x\": data_offsets must be two numbers");
  CHECK(message(R"("data_offsets":[0,4,8])") == "tensor \"x\": data_offsets must be two numbers");
  CHECK(
      message_of(
          R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
          8) == "tensor \"x\": is there twice");
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  CHECK(message("\"shape\":[" + many + "]") == "tensor \"x\": its shape has more than 64 dimensions");
}

TEST_CASE("offsets must lie in the file and hold what the shape says") {
  const auto message = [](const std::string& shape, const std::string& offsets, std::size_t bytes = 16) {
    return message_of(R"("x":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}", bytes);
  };
  CHECK(message("2,2", "0,16") == "none");
  CHECK(message("2,2", "0,16", 15) ==
        "tensor \"x\": its data end at byte 16 of 15: the file is cut short, or its header is wrong");
  CHECK(message("2,2", "16,0") == "tensor \"x\": its data_offsets [16, 0] run backwards");
  CHECK(message("2,2", "0,18446744073709551615") ==
        "tensor \"x\": its data end at byte 18446744073709551615 of 16: the file is cut short, or its header is wrong");
  CHECK(message("2,3", "0,16") == "tensor \"x\": its shape [2, 3] of F32 is not what 16 bytes hold");
  CHECK(message("3", "0,16") == "tensor \"x\": its shape [3] of F32 is not what 16 bytes hold");
  CHECK(message("", "0,16") == "tensor \"x\": its shape [] of F32 is not what 16 bytes hold");
  // 2^32 * 2^32 elements are 0 modulo 2^64; 2^59 elements of 32 bits are 0 bits modulo 2^64
  CHECK(message("4294967296,4294967296", "0,0") == "tensor \"x\": its shape [4294967296, 4294967296] is too large");
  CHECK(message("576460752303423488", "0,0") == "tensor \"x\": its shape [576460752303423488] is too large");
}

TEST_CASE("every byte of the data belongs to exactly one tensor") {
  const auto entry = [](const std::string& name, int begin, int end) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[)" + std::to_string((end - begin) / 4) + R"(],"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  CHECK(message_of(entry("b", 0, 8) + "," + entry("a", 8, 16), 16) == "none");
  CHECK(message_of(entry("a", 0, 8) + "," + entry("b", 4, 12), 12) == "tensor \"b\": its data overlap those of \"a\"");
  CHECK(message_of(entry("a", 0, 8) + "," + entry("b", 0, 8), 8) == "tensor \"b\": its data overlap those of \"a\"");
  CHECK(message_of(entry("a", 0, 16) + "," + entry("b", 4, 8) + "," + entry("c", 16, 20), 20) ==
        "tensor \"b\": its data overlap those of \"a\"");
  CHECK(message_of(entry("a", 0, 8) + "," + entry("b", 12, 16), 16) == "bytes 8 to 12 of the data belong to no tensor");
  CHECK(message_of(entry("a", 4, 8), 8) == "bytes 0 to 4 of the data belong to no tensor");
  CHECK(message_of(entry("a", 0, 8), 11) == "bytes 8 to 11 of the data belong to no tensor");
  CHECK(message_of("", 1) == "bytes 0 to 1 of the data belong to no tensor");
}

TEST_CASE("all wrong tensors of a file are named at once, up to a limit") {
  const std::string wrong = R"({"dtype":"F32","shape":[1],"data_offsets":[0,1000000]})";
  CHECK(contains(message_of("\"a\":" + wrong + ",\"b\":" + wrong, 4), "tensor \"b\": its data end"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += (i ? ",\"t" : "\"t") + std::to_string(i) + "\":" + wrong;
  const std::string message = message_of(many, 4);
  CHECK(std::count(message.begin(), message.end(), '\n') == 20);
  CHECK(ends_with(message, "there may be more mistakes"));
}

TEST_CASE("a name can't write to the terminal") {
  CHECK(contains(message_of(R"("\u001b[2J\n":{"size":1})", 0), R"(tensor "\u001b[2J\u000a": unknown key)"));
}

TEST_CASE("a file that shrinks after it was opened is an error, not a crash") {
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const std::string bytes =
      safetensors(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", fp32_bytes({1, 2, 3}));
  write_bytes(path, bytes);
  const SafetensorsFile file(path);
  write_bytes(path, bytes.substr(0, bytes.size() - 1));
  CHECK(contains(mistake_of([&] { values_of(file, "x"); }), "tensor \"x\": its data could not be read"));
}

TEST_CASE("a file with bytes changed, cut or repeated is read or refused") {
  const std::string good = safetensors(R"({"__metadata__":{"format":"pt"},)"
                                       R"("first":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                       R"("second":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
                                       R"("third":{"dtype":"F16","shape":[2,1,2],"data_offsets":[32,40]}})",
                                       fp32_bytes({1, 2, 3, 4, 5, 6}) + std::string(16, '\1'));
  const std::string signs = "{}[]\",:0123456789-.eE \\u\xC3\xFF";  // what JSON is sensitive to
  Rng rng(20240711, "safetensors mutations");
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng.below(n)); };
  const FreshFolder folder;
  const auto path = folder.path() / "x.safetensors";
  int read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(round % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 250));
      const std::size_t kind = below(8);
      if (kind < 3) bytes[at] = signs[below(signs.size())];
      else if (kind < 5) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
      else if (kind == 5) bytes.erase(at, 1 + below(4));
      else if (kind == 6) bytes.insert(at, bytes.substr(at, 1 + below(20)));
      else if (below(4) == 0) bytes.resize(at + 1);
      if (below(2) == 0 && bytes.size() > 8) {  // so that the header's length is right and its text is reached
        const auto end = bytes.find("}}");
        if (end != std::string::npos && end >= 7) bytes.replace(0, 8, little_endian(end + 2 - 8, 8));
      }
    }
    write_bytes(path, bytes);
    try {
      const SafetensorsFile file(path);
      for (const auto& [name, tensor] : file.tensors()) {
        REQUIRE(tensor.elements <= bytes.size());
        if (file.can_read(tensor)) values_of(file, name);
      }
      ++read;
    } catch (const InputErrors& e) {
      ++refused;
      REQUIRE(starts_with(e.what(), path.string() + ": "));
    }
  }
  CHECK(read > 200);
  CHECK(refused > 2000);
}
