// SPDX-License-Identifier: Apache-2.0
// The layout is that of ggml's specification of GGUF; the blocks are those of ggml-common.h.
#include "model/transformers/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "core/printable.h"

namespace draftline {

namespace {

constexpr auto kTypes = std::to_array<GgufType>(
    {{0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
     {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
     {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
     {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
     {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
     {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
     {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
     {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18}});

constexpr std::uint64_t kMostKey = 1 << 16, kKeptText = 1 << 10, kKeptNumbers = 1 << 12;
constexpr std::uint64_t kMostDimensions = 4, kLeastEntry = 4 + 8, kUsualAlignment = 32;
constexpr std::uint64_t kMostHeader = 1 << 26;  // large vocabularies need 20 MB
constexpr double kMostValues = 1e15;            // of a tensor
constexpr int kMostParts = 1000;

enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

class Source {
 public:
  Source(const std::filesystem::path& file, const Files& files)
      : file_(printable(file.string(), 1000)), in_(files.open(file)) {
    in_->seekg(0, std::ios::end);
    size_ = left_ = static_cast<std::uint64_t>(std::max<std::streamoff>(0, in_->tellg()));
    if (!in_->seekg(0)) fail("cannot be read");
  }
  [[noreturn]] void fail(const std::string& what) const { throw InputErrors(file_ + ": " + what); }
  [[noreturn]] void fail_here(const std::string& what) const { fail("byte " + std::to_string(at()) + ": " + what); }
  std::uint64_t at() const { return size_ - left_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t fingerprint() const { return all_.value(); }

  std::uint64_t integer(int bytes) {
    std::array<char, 8> raw{};
    take(raw.data(), draftline::at(bytes));
    std::uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | static_cast<unsigned char>(raw[draftline::at(i)]);
    return v;
  }
  // A number of things, each of at least `least` bytes.
  std::uint64_t count(std::uint64_t least, const char* what) {
    const std::uint64_t n = integer(8);
    if (n > left_ / least) fail_here("claims " + std::to_string(n) + " " + what + ", for which the file is too short");
    return n;
  }
  // The first `kept` bytes of a text, or nothing of a longer one.
  std::string text(std::uint64_t kept, std::uint64_t most) {
    const std::uint64_t n = count(1, "characters");
    if (n > most) fail_here("a name of " + std::to_string(n) + " characters");
    if (n > kept) return skip(n), "";
    std::string s(n, '\0');
    take(s.data(), s.size());
    return s;
  }
  void skip(std::uint64_t n) {
    std::array<char, 1 << 14> chunk;
    for (std::uint64_t some = 0; n > 0; n -= some) take(chunk.data(), some = std::min<std::uint64_t>(n, chunk.size()));
  }

 private:
  void take(char* to, std::uint64_t n) {
    if (n > left_ || !in_->read(to, static_cast<std::streamsize>(n))) fail_here("the header ends early");
    if (at() > kMostHeader) fail("its header has more than " + std::to_string(kMostHeader) + " bytes");
    left_ -= n;
    all_.add(std::string_view(to, n));
  }
  std::string file_;
  std::unique_ptr<std::istream> in_;
  std::uint64_t size_ = 0, left_ = 0;
  Fingerprint all_;
};

// 0: of no fixed size, or unknown.
int bytes_of_kind(Kind kind) {
  constexpr std::array<int, 13> bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return at(kind) < bytes.size() ? bytes[at(kind)] : 0;
}
Kind read_kind(Source& in) { return static_cast<Kind>(low_word(in.integer(4))); }

double read_number(Source& in, Kind kind) {
  const std::uint64_t raw = in.integer(bytes_of_kind(kind));
  switch (kind) {
    case Kind::f32: return std::bit_cast<float>(low_word(raw));
    case Kind::f64: return std::bit_cast<double>(raw);
    case Kind::i8: return static_cast<std::int8_t>(raw);
    case Kind::i16: return static_cast<std::int16_t>(raw);
    case Kind::i32: return static_cast<std::int32_t>(raw);
    case Kind::i64: return to_double(to_int64(raw));
    default: return to_double(raw);
  }
}

GgufHeader::Array read_array(Source& in) {
  const Kind kind = read_kind(in);
  const int bytes = bytes_of_kind(kind);
  if (bytes == 0 && kind != Kind::text) in.fail_here("an array of an unknown kind");
  GgufHeader::Array all{in.count(kind == Kind::text ? 8 : static_cast<std::uint64_t>(bytes), "elements"), {}};
  if (kind == Kind::text) {
    for (std::uint64_t i = 0; i < all.size; ++i) in.text(0, in.size());
  } else if (all.size > kKeptNumbers) {
    in.skip(all.size * static_cast<std::uint64_t>(bytes));
  } else {
    for (std::uint64_t i = 0; i < all.size; ++i) all.numbers.push_back(read_number(in, kind));
  }
  return all;
}

GgufHeader::Value read_value(Source& in) {
  const Kind kind = read_kind(in);
  if (kind == Kind::text) return in.text(kKeptText, in.size());
  if (kind == Kind::array) return read_array(in);
  if (bytes_of_kind(kind) == 0) in.fail_here("a value of an unknown kind");
  return read_number(in, kind);
}

GgufTensor read_tensor(Source& in) {
  GgufTensor t{in.text(kMostKey, kMostKey), {}, kTypes[0]};
  const std::uint64_t dimensions = in.integer(4);
  if (dimensions == 0 || dimensions > kMostDimensions)
    in.fail_here("a tensor of " + std::to_string(dimensions) + " dimensions");
  for (std::uint64_t i = 0; i < dimensions; ++i) t.shape.push_back(in.integer(8));
  const std::uint32_t number = low_word(in.integer(4));
  const GgufType* type = gguf_type(number);
  if (type == nullptr)
    in.fail_here(in_quotes(t.name) + " is of type " + std::to_string(number) + ", which is not known");
  t.type = *type;
  t.begin = in.integer(8);
  if (t.values() > kMostValues || t.shape[0] % static_cast<std::uint64_t>(t.type.values) != 0)
    in.fail_here(in_quotes(t.name) + " has no rows of whole blocks");
  return t;
}

}  // namespace

const GgufType* gguf_type(std::uint32_t number) {
  const auto found = std::ranges::find(kTypes, number, &GgufType::number);
  return found == kTypes.end() ? nullptr : &*found;
}

double GgufTensor::values() const {
  double n = 1;
  for (const std::uint64_t d : shape) n *= to_double(d);
  return n;
}

// No byte belongs to two tensors, so that a file can't claim more values than it has.
static void refuse_overlaps(const GgufHeader& h) {
  std::vector<const GgufTensor*> all;
  for (const auto& [name, t] : h.tensors) all.push_back(&t);
  std::ranges::sort(all, {}, [](const GgufTensor* t) { return t->begin; });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (to_double(all[i - 1]->begin) + all[i - 1]->bytes() > to_double(all[i]->begin))
      h.fail("the data of " + in_quotes(all[i - 1]->name) + " and " + in_quotes(all[i]->name) + " overlap");
}

// The metadata, tensors and their places in one file.
static GgufHeader read_one(const std::filesystem::path& file, const Files& files) {
  Source in(file, files);
  constexpr std::uint64_t kMagic = 0x46554747, kOldest = 2, kNewest = 3, kSwapped = 0xFFFF;
  if (in.size() < 4 || in.integer(4) != kMagic) in.fail("is no GGUF file");
  const std::uint64_t version = in.integer(4);
  if ((version & kSwapped) == 0) in.fail("is a big-endian GGUF file; little-endian files are read");
  if (version < kOldest || version > kNewest)
    in.fail("is of GGUF version " + std::to_string(version) + "; versions 2 and 3 are read");
  const std::uint64_t tensors = in.count(kLeastEntry, "tensors"), entries = in.count(kLeastEntry, "metadata entries");
  GgufHeader h;
  h.file = file;
  h.parts = {file};
  for (std::uint64_t i = 0; i < entries; ++i) {
    std::string key = in.text(kMostKey, kMostKey);
    if (h.metadata.contains(key)) in.fail_here("the key " + in_quotes(key) + " stands twice");
    GgufHeader::Value value = read_value(in);
    h.metadata.emplace(std::move(key), std::move(value));
  }
  for (std::uint64_t i = 0; i < tensors; ++i) {
    GgufTensor t = read_tensor(in);
    std::string name = t.name;
    if (!h.tensors.emplace(name, std::move(t)).second) in.fail_here("the tensor " + in_quotes(name) + " stands twice");
  }
  const double alignment = h.number("general.alignment").value_or(to_double(kUsualAlignment));
  if (!(alignment >= 1 && alignment <= to_double(kMostKey) && std::exp2(std::round(std::log2(alignment))) == alignment))
    in.fail("general.alignment is no power of two, or above " + std::to_string(kMostKey));
  const double data = std::ceil(to_double(in.at()) / alignment) * alignment;
  for (auto& [name, t] : h.tensors) {
    if (t.begin > in.size())
      in.fail(in_quotes(name) + " begins at byte " + std::to_string(t.begin) + " of the data, but the file has " +
              std::to_string(in.size()) + ": is the download complete?");
    const double begin = data + to_double(t.begin);
    if (std::fmod(begin, alignment) != 0)
      in.fail(in_quotes(name) + " begins at byte " + std::to_string(std::llround(begin)) + ", which is not aligned");
    if (begin + t.bytes() > to_double(in.size()))
      in.fail(in_quotes(name) + " ends at byte " + std::to_string(std::llround(begin + t.bytes())) +
              ", but the file has " + std::to_string(in.size()) + ": is the download complete?");
    t.begin += static_cast<std::uint64_t>(data);
  }
  refuse_overlaps(h);
  h.fingerprint = in.fingerprint();
  return h;
}

// The place of a part among all: "-00002-of-00005".
static std::string part_suffix(int number, int of) {
  const auto digits = [](int n) {
    const std::string all = std::to_string(n);
    return std::string(all.size() < 5 ? 5 - all.size() : 0, '0') + all;
  };
  return "-" + digits(number) + "-of-" + digits(of);
}

static int split_number(const GgufHeader& h, const char* key, int most) {
  const double n = h.number(key).value_or(0);
  if (!(n >= 0 && n <= most && n == std::floor(n)))
    h.fail(in_quotes(key) + " must be a whole number up to " + std::to_string(most));
  return to_int(n);
}

// Adds the tensors of another part.
static void add_part(GgufHeader& whole, GgufHeader part, int number) {
  if (split_number(part, "split.no", kMostParts) != number) part.fail("is another part than its name says");
  if (split_number(part, "split.count", kMostParts) != split_number(whole, "split.count", kMostParts))
    part.fail("is a part of another file: \"split.count\" differs");
  whole.parts.push_back(part.file);
  for (auto& [name, t] : part.tensors) {
    t.part = number;
    if (!whole.tensors.emplace(name, t).second) part.fail("the tensor " + in_quotes(name) + " is in two parts");
  }
  Fingerprint both;
  both.add(whole.fingerprint);
  both.add(part.fingerprint);
  whole.fingerprint = both.value();
}

GgufHeader GgufHeader::read(const std::filesystem::path& file, const Files& files) {
  GgufHeader h = read_one(file, files);
  const int parts = split_number(h, "split.count", kMostParts);
  if (parts < 2) return h;
  const std::string stem = file.stem().string(),
                    suffix = part_suffix(split_number(h, "split.no", kMostParts) + 1, parts);
  if (!stem.ends_with(suffix))
    h.fail("is a part of a file, and its name must end with \"" + suffix + ".gguf\", so that the others are found");
  const auto path = [&](int number) {
    return file.parent_path() /
           (stem.substr(0, stem.size() - suffix.size()) + part_suffix(number + 1, parts) + ".gguf");
  };
  GgufHeader whole = read_one(path(0), files);  // which has the metadata
  if (split_number(whole, "split.no", kMostParts) != 0) whole.fail("is another part than its name says");
  for (int i = 1; i < parts; ++i) add_part(whole, read_one(path(i), files), i);
  if (whole.number("split.tensors.count").value_or(count(whole.tensors)) != count(whole.tensors))
    whole.fail("has " + std::to_string(whole.tensors.size()) + " tensors in its parts, not \"split.tensors.count\"");
  return whole;
}

std::vector<float> GgufHeader::vector(const std::string& name, const Files& files) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) fail("has no tensor " + in_quotes(name));
  const GgufTensor& t = found->second;
  if (t.type.number != 0 || t.values() > to_double(kKeptNumbers))
    fail(in_quotes(name) + " must have at most " + std::to_string(kKeptNumbers) + " values of F32");
  std::vector<float> values(static_cast<std::size_t>(t.values()));
  const auto in = files.open(parts.at(at(t.part)));
  in->seekg(static_cast<std::streamoff>(t.begin));
  for (float& v : values) {
    std::array<char, 4> raw{};
    if (!in->read(raw.data(), raw.size())) fail(in_quotes(name) + " could not be read");
    std::uint32_t bits = 0;
    for (std::size_t i = raw.size(); i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(raw[i]);
    v = std::bit_cast<float>(bits);
    if (!std::isfinite(v)) fail(in_quotes(name) + " has a value that is not finite");
  }
  return values;
}

void GgufHeader::fail(const std::string& message) const {
  throw InputErrors(printable(file.string(), 1000) + ": " + message);
}

template <class T>
static std::optional<T> entry_of(const GgufHeader& h, std::string_view key, const char* kind) {
  const auto found = h.metadata.find(key);
  if (found == h.metadata.end()) return std::nullopt;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  h.fail(in_quotes(key) + " must be " + kind);
}
std::optional<double> GgufHeader::number(std::string_view key) const {
  return entry_of<double>(*this, key, "a number");
}
std::optional<std::string> GgufHeader::text(std::string_view key) const {
  return entry_of<std::string>(*this, key, "a text");
}
std::optional<GgufHeader::Array> GgufHeader::array(std::string_view key) const {
  return entry_of<Array>(*this, key, "an array");
}

}  // namespace draftline
