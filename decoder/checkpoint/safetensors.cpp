// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/utf8.h"

namespace draftline {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMostRank = 64;

struct StoredType {
  std::string_view name;
  unsigned bits;
};
constexpr std::array kTypes{
    StoredType{"F32", 32},    StoredType{"F16", 16},    StoredType{"BF16", 16},   StoredType{"F64", 64},
    StoredType{"I64", 64},    StoredType{"I32", 32},    StoredType{"I16", 16},    StoredType{"I8", 8},
    StoredType{"U64", 64},    StoredType{"U32", 32},    StoredType{"U16", 16},    StoredType{"U8", 8},
    StoredType{"BOOL", 8},    StoredType{"F8_E4M3", 8}, StoredType{"C64", 64},    StoredType{"F8_E5M2", 8},
    StoredType{"F8_E8M0", 8}, StoredType{"F4", 4},      StoredType{"F6_E2M3", 6}, StoredType{"F6_E3M2", 6}};

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// Reads the header while it is parsed, so that a hostile one costs no more memory than the tensors that it names. Every
// function handles one of nlohmann's SAX events and returns false to stop; `error` then says why.
class HeaderReader {
 public:
  explicit HeaderReader(SafetensorsFile::Tensors& to) : tensors_(to) {}
  std::string error;

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + printable(text, 40)); }
  bool binary(std::vector<std::uint8_t>&) { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (where_ == Where::shape) {
      if (tensor_->second.shape.size() == kMostRank)
        return fail("its shape has more than " + std::to_string(kMostRank) + " dimensions");
      tensor_->second.shape.push_back(value);
      return true;
    }
    if (where_ != Where::offsets) return unexpected("the number " + std::to_string(value));
    if (offsets_ == 2) return fail("data_offsets must be two numbers");
    (offsets_++ == 0 ? tensor_->second.begin : tensor_->second.end) = value;
    return true;
  }

  bool string(std::string& value) {
    if (where_ == Where::metadata) return true;
    if (where_ != Where::tensor || key_ != "dtype") return unexpected("a string");
    tensor_->second.dtype = value;
    return true;
  }

  bool start_object(std::size_t) {
    if (where_ == Where::outside) {
      where_ = Where::header;
      return true;
    }
    if (where_ != Where::header) return unexpected("an object");
    seen_.clear();
    where_ = key_ == "__metadata__" ? Where::metadata : Where::tensor;
    if (where_ == Where::metadata) return true;
    bool fresh = false;
    std::tie(tensor_, fresh) = tensors_.try_emplace(key_);
    return fresh || fail("is there twice");
  }

  bool key(std::string& name) {
    key_ = name;
    if (where_ == Where::header) return name != "__metadata__" || !std::exchange(metadata_, true) || repeated();
    if (where_ == Where::tensor && name != "dtype" && name != "shape" && name != "data_offsets")
      return fail("unknown key " + in_quotes(name));
    if (where_ == Where::metadata) return true;
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return repeated();
    seen_.push_back(name);
    return true;
  }

  bool end_object() {
    if (where_ == Where::tensor)
      for (const char* wanted : {"dtype", "shape", "data_offsets"})
        if (std::find(seen_.begin(), seen_.end(), wanted) == seen_.end()) return fail("has no " + std::string(wanted));
    where_ = where_ == Where::header ? Where::outside : Where::header;
    return true;
  }

  bool start_array(std::size_t) {
    if (where_ != Where::tensor || key_ == "dtype") return unexpected("a list");
    where_ = key_ == "shape" ? Where::shape : Where::offsets;
    offsets_ = 0;
    return true;
  }

  bool end_array() {
    if (where_ == Where::offsets && offsets_ != 2) return fail("data_offsets must be two numbers");
    where_ = Where::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    error = "the header is no JSON, at its byte " + std::to_string(position);
    return false;
  }

 private:
  enum class Where { outside, header, metadata, tensor, shape, offsets };

  bool fail(const std::string& message) {
    error = "tensor " + in_quotes(tensor_->first) + ": " + message;
    return false;
  }
  bool repeated() {
    if (where_ == Where::tensor) return fail("key " + in_quotes(key_) + " is there twice");
    error = "the header has " + in_quotes(key_) + " twice";
    return false;
  }
  bool unexpected(const std::string& what) {
    if (where_ == Where::tensor)
      return fail(key_ + " must be " + (key_ == "dtype" ? "a string" : "a list") + ", got " + what);
    if (where_ == Where::shape || where_ == Where::offsets)
      return fail(key_ + " must hold whole numbers from 0 to 2^64 - 1, got " + what);
    if (where_ == Where::metadata) error = "__metadata__ must map strings to strings, got " + what;
    else if (where_ == Where::header) error = in_quotes(key_) + " must be an object, got " + what;
    else error = "the header must be an object, got " + what;
    return false;
  }

  SafetensorsFile::Tensors& tensors_;
  SafetensorsFile::Tensors::iterator tensor_;
  Where where_ = Where::outside;
  std::string key_;
  std::vector<std::string> seen_;  // keys of this tensor
  int offsets_ = 0;
  bool metadata_ = false;
};

// The mistake in one tensor's entry; "" if there is none. Sets `elements`.
std::string mistake_of(StoredTensor& t, std::uint64_t data_bytes) {
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const StoredType& k) { return k.name == t.dtype; });
  if (type == kTypes.end()) return "unknown dtype " + in_quotes(t.dtype);
  std::optional<std::uint64_t> count = 1;
  for (const auto n : t.shape)
    if (count) count = product(*count, n);
  const auto bits = count ? product(*count, type->bits) : std::nullopt;
  if (!bits) return "its shape " + shape_text(t.shape) + " is too large";
  t.elements = *count;
  if (t.begin > t.end)
    return "its data_offsets [" + std::to_string(t.begin) + ", " + std::to_string(t.end) + "] run backwards";
  if (t.end > data_bytes)
    return "its data end at byte " + std::to_string(t.end) + " of " + std::to_string(data_bytes) +
           ": the file is cut short, or its header is wrong";
  if (*bits % 8 != 0 || *bits / 8 != t.end - t.begin)
    return "its shape " + shape_text(t.shape) + " of " + t.dtype + " is not what " + std::to_string(t.end - t.begin) +
           " bytes hold";
  return "";
}

// Checks that every byte of the data belongs to exactly one tensor.
void check_cover(const SafetensorsFile::Tensors& tensors, std::uint64_t data_bytes,
                 std::vector<std::string>& mistakes) {
  std::vector<SafetensorsFile::Tensors::const_pointer> order;
  for (const auto& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  const auto hole = [&](std::uint64_t from, std::uint64_t to) {
    mistakes.push_back("bytes " + std::to_string(from) + " to " + std::to_string(to) +
                       " of the data belong to no tensor");
  };
  std::uint64_t covered = 0;
  const std::string* last = nullptr;
  for (const auto* t : order) {
    if (mistakes.size() >= kMostMessages) return;
    if (t->second.begin > covered) hole(covered, t->second.begin);
    if (t->second.begin < covered)
      mistakes.push_back("tensor " + in_quotes(t->first) + ": its data overlap those of " + in_quotes(*last));
    covered = std::max(covered, t->second.end);
    last = &t->first;
  }
  if (covered < data_bytes) hole(covered, data_bytes);
}

std::uint32_t little_endian(const char* from, int bytes) {
  std::uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[i]);
  return value;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path, const Files& files)
    : path_(std::move(path)), files_(&files) {
  const std::string file = printable(path_.string(), 1000);
  const auto refuse = [&](const std::string& message) { throw InputErrors(file + ": " + message); };
  const auto opened = files.open(path_);
  std::istream& in = *opened;
  in.seekg(0, std::ios::end);
  const std::uint64_t size = in.tellg();
  if (!in.seekg(0)) refuse("cannot be read");
  std::array<char, kLengthBytes> length_bytes{};
  if (size < kLengthBytes || !in.read(length_bytes.data(), kLengthBytes))
    refuse("is too short for a safetensors file: " + std::to_string(size) + " bytes");
  const std::uint64_t length =
      std::uint64_t{little_endian(length_bytes.data() + 4, 4)} << 32 | little_endian(length_bytes.data(), 4);
  if (length > kMostHeader) {
    refuse("its header would be " + std::to_string(length) + " bytes, and at most " + std::to_string(kMostHeader) +
           " are allowed: no safetensors file");
  }
  if (length > size - kLengthBytes)
    refuse("its header would be " + std::to_string(length) + " bytes, but only " + std::to_string(size - kLengthBytes) +
           " follow: the file is cut short, or no safetensors file");
  std::string header(length, '\0');
  if (!in.read(header.data(), length)) refuse("cannot be read");
  for (std::size_t i = 0; i < header.size();) {
    const std::size_t step = utf8_length(std::string_view(header).substr(i, 4));
    if (step == 0) refuse("the header is not UTF-8, at its byte " + std::to_string(i));
    i += step;
  }
  if (!header.starts_with('{')) refuse("the header does not begin with {");
  HeaderReader reader(tensors_);
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader)) refuse(reader.error);
  data_ = kLengthBytes + length;

  std::vector<std::string> mistakes;
  for (auto& [name, tensor] : tensors_) {
    if (mistakes.size() >= kMostMessages) break;
    const std::string mistake = mistake_of(tensor, size - data_);
    if (!mistake.empty()) mistakes.push_back("tensor " + in_quotes(name) + ": " + mistake);
  }
  if (mistakes.empty()) check_cover(tensors_, size - data_, mistakes);
  if (mistakes.empty()) return;
  for (auto& m : mistakes) m.insert(0, file + ": ");
  if (mistakes.size() >= kMostMessages) mistakes.push_back(file + ": there may be more mistakes");
  throw InputErrors(std::move(mistakes));
}

std::string SafetensorsFile::place(const std::string& tensor) const {
  return printable(path_.string(), 1000) + ": tensor " + in_quotes(tensor);
}

bool SafetensorsFile::can_read(const StoredTensor& t) const {
  return t.dtype == "F32" || t.dtype == "F16" || t.dtype == "BF16";
}

const StoredTensor& SafetensorsFile::stored(const std::string& name, std::uint64_t first, std::uint64_t count) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw InputErrors(place(name) + ": is not in the file");
  const StoredTensor& t = found->second;
  check(first <= t.elements && count <= t.elements - first, "values of a tensor that it does not have");
  return t;
}

template <class Take>
void SafetensorsFile::each_value(const std::string& name, std::uint64_t first, std::uint64_t count, int width,
                                 Take take) const {
  const auto opened = files_->open(path_);
  std::istream& in = *opened;
  in.seekg(data_ + tensors_.find(name)->second.begin + first * width);
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 16;
  std::vector<char> bytes;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = std::min(kChunk, count - done);
    bytes.resize(now * width);
    if (!in.read(bytes.data(), bytes.size()))
      throw InputErrors(place(name) + ": its data could not be read: the file has changed or the disk fails");
    for (const char* from = bytes.data(); from != bytes.data() + bytes.size(); from += width) take(from, done++);
  }
}

void SafetensorsFile::read(const std::string& name, std::uint64_t first, std::span<float> to) const {
  const StoredTensor& t = stored(name, first, to.size());
  if (!can_read(t))
    throw InputErrors(place(name) + ": values of dtype " + t.dtype + " can't be used; F32, F16 and BF16 can");
  const bool single = t.dtype == "F32", half = t.dtype == "F16";
  const int width = single ? 4 : 2;
  each_value(name, first, to.size(), width, [&](const char* from, std::uint64_t i) {
    const std::uint32_t bits = little_endian(from, width);
    const float value = single ? std::bit_cast<float>(bits)
                        : half ? float_of_half(bits)
                               : std::bit_cast<float>(bits << 16);
    if (!std::isfinite(value))
      throw InputErrors(place(name) + ": value " + std::to_string(first + i) + " is not finite");
    to[i] = value;
  });
}

void SafetensorsFile::read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const {
  const StoredTensor& t = stored(name, first, to.size());
  const bool wide = t.dtype == "I64";
  if (!wide && t.dtype != "I32")
    throw InputErrors(place(name) + ": values of dtype " + t.dtype + " can't be used; I64 and I32 can");
  each_value(name, first, to.size(), wide ? 8 : 4, [&](const char* from, std::uint64_t i) {
    const std::uint32_t low = little_endian(from, 4);
    to[i] = wide ? static_cast<std::int64_t>(std::uint64_t{little_endian(from + 4, 4)} << 32 | low)
                 : static_cast<std::int32_t>(low);
  });
}

bool SafetensorsFile::has_bytes(const StoredTensor& t) const {
  return t.dtype == "U8" || t.dtype == "F8_E4M3" || t.dtype == "F8_E8M0";
}

void SafetensorsFile::read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const {
  const StoredTensor& t = stored(name, first, to.size());
  if (!has_bytes(t))
    throw InputErrors(place(name) + ": values of dtype " + t.dtype + " can't be used; U8, F8_E4M3 and F8_E8M0 can");
  each_value(name, first, to.size(), 1,
             [&](const char* from, std::uint64_t i) { to[i] = static_cast<std::uint8_t>(*from); });
}

}  // namespace draftline
