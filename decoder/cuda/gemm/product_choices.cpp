// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/gemm/product_choices.h"

#include <charconv>

#include "core/fingerprint.h"
#include "core/json_writer.h"

namespace draftline::cuda {

namespace {

constexpr int kSchema = 1, kMostAligned = 256;
constexpr std::size_t kDigits = 16;  // of a word
constexpr std::array<std::string_view, 2> kFormats{"fp32", "bf16"};

std::array<std::uint64_t, 8> read_algorithm(const Reader& in) {
  std::array<std::uint64_t, 8> words{};
  const std::string text = in.text();
  bool good = text.size() == kDigits * words.size();
  for (std::size_t i = 0; i < words.size() && good; ++i) {
    const char* const from = text.data() + kDigits * i;
    const auto [end, error] = std::from_chars(from, from + kDigits, words[i], 16);
    good = error == std::errc() && end == from + kDigits;
  }
  if (!good && in.is_string()) in.fail("is no algorithm of cuBLASLt: 128 hexadecimal digits");
  return words;
}

ProductKey read_key(const Reader& in) {
  const auto size = [&](const char* key) { return in.at(key).positive_int(); };
  ProductKey k{.shape = {.rows = size("rows"),
                         .in = size("in"),
                         .out = size("out"),
                         .x_stride = size("x_stride"),
                         .y_stride = size("y_stride"),
                         .bf16 = in.at("format").word(kFormats) == "bf16",
                         .bias = in.at("bias").boolean()},
               .aligned = {}};
  const Reader aligned = in.at("aligned");
  const auto items = aligned.items();
  if (items.size() == k.aligned.size())
    for (std::size_t i = 0; i < items.size(); ++i) k.aligned[i] = items[i].positive_int(kMostAligned);
  else if (aligned.is_array()) aligned.fail("needs the alignments of weights, inputs, outputs and bias");
  return k;
}

}  // namespace

ProductChoices read_product_choices(const Reader& in) {
  ProductChoices choices;
  if (in.at("schema_version").integer() != kSchema) in.at("schema_version").fail("this draftline reads schema 1");
  for (const Reader& of : in.at("algorithms").items()) {
    auto& here = choices.all[{of.at("device").text(), of.at("cublaslt").long_integer(0)}];
    for (const Reader& p : of.at("products").items()) {
      const ProductKey key = read_key(p);
      ProductChoice choice;
      if (const auto splits = p.find("few_rows_splits")) choice.few_rows_splits = splits->positive_int();
      else choice.algorithm = read_algorithm(p.at("algorithm"));
      if (!here.emplace(key, choice).second) p.fail("this product stands there twice");
      p.done();
    }
    of.done();
  }
  in.done();
  return choices;
}

void write_product_choices(std::ostream& out, const ProductChoices& choices) {
  constexpr int kLines = 4;  // one for each product
  JsonWriter w(out, kLines);
  w.begin_object();
  w.member("schema_version", kSchema);
  w.key("algorithms");
  w.begin_array();
  for (const auto& [where, products] : choices.all) {
    if (products.empty()) continue;
    w.begin_object();
    w.member("device", where.device);
    w.member("cublaslt", where.library);
    w.key("products");
    w.begin_array();
    for (const auto& [key, choice] : products) {
      const GemmShape& s = key.shape;
      w.begin_object();
      w.member("rows", s.rows);
      w.member("in", s.in);
      w.member("out", s.out);
      w.member("x_stride", s.x_stride);
      w.member("y_stride", s.y_stride);
      w.member("format", kFormats[s.bf16 ? 1 : 0]);
      w.member("bias", s.bias);
      w.key("aligned");
      w.begin_array();
      for (const int a : key.aligned) w.value(a);
      w.end_array();
      if (choice.few_rows_splits) {
        w.member("few_rows_splits", *choice.few_rows_splits);
      } else {
        std::string words;
        for (const std::uint64_t word : choice.algorithm) words += to_hex(word);
        w.member("algorithm", words);
      }
      w.end_object();
    }
    w.end_array();
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.finish();
}

}  // namespace draftline::cuda
