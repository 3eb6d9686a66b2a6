// SPDX-License-Identifier: Apache-2.0
#include "core/quantity_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/utf8.h"

namespace draftline {
namespace {

struct Scale {
  std::string_view name;
  double factor;
};
// A unit is a factor over a divisor, one of which is 1, as dividing by 1e9 rounds once but multiplying by 1e-9 twice.
struct Part {
  std::string_view name;
  double factor, divisor;
};

constexpr std::array kTimes{Part{"s", 1, 1},    Part{"ms", 1, 1e3}, Part{"us", 1, 1e6}, Part{"ns", 1, 1e9},
                            Part{"min", 60, 1}, Part{"h", 3600, 1}, Part{"µs", 1, 1e6}, Part{"μs", 1, 1e6}};
constexpr std::array kDecimal{Scale{"", 1},    Scale{"k", 1e3},  Scale{"M", 1e6},
                              Scale{"G", 1e9}, Scale{"T", 1e12}, Scale{"P", 1e15}};
constexpr double kKi = 1024;
constexpr std::array kBinary{Scale{"", 1},
                             Scale{"Ki", kKi},
                             Scale{"Mi", kKi* kKi},
                             Scale{"Gi", kKi* kKi* kKi},
                             Scale{"Ti", kKi* kKi* kKi* kKi},
                             Scale{"Pi", kKi* kKi* kKi* kKi* kKi}};

struct Kind {
  Dimension dimension;
  std::string_view name, example, what;
};
constexpr std::array kKinds{
    Kind{{1, 0, 0}, "s", "10 ms", "a time"},
    Kind{{-1, 0, 0}, "1/s", "6 /s", "a rate per second"},
    Kind{{0, 1, 0}, "B", "80 GiB", "an amount of memory"},
    Kind{{0, 0, 1}, "FLOP", "2 GFLOP", "a count of floating-point operations"},
    Kind{{-1, 1, 0}, "B/s", "900 GB/s", "a bandwidth"},
    Kind{{-1, 0, 1}, "FLOP/s", "100 TFLOP/s", "a rate of floating-point operations"},
    Kind{{0, -1, 1}, "FLOP/B", "150 FLOP/B", "an arithmetic intensity"},
    Kind{{0, 0, 0}, "", "1.5", "a number"},
};

const Kind* kind_of(Dimension d) {
  const auto at = std::ranges::find_if(kKinds, [&](const Kind& k) { return k.dimension == d; });
  return at == kKinds.end() ? nullptr : &*at;
}

struct Unit {
  std::string name;
  double factor, divisor;
  Dimension dimension;
};

// Every unit that can be written: some seventy names, for lookup and for "did you mean".
const std::vector<Unit>& units() {
  static const std::vector<Unit> all = [] {
    std::vector<Unit> list;
    const auto prefixed = [&](std::span<const Scale> prefixes, std::string_view base, Dimension d) {
      for (const Scale& p : prefixes) list.push_back({std::string(p.name) + std::string(base), p.factor, 1, d});
    };
    for (const Part& t : kTimes) list.push_back({std::string(t.name), t.factor, t.divisor, {1, 0, 0}});
    for (const Part& t : {kTimes[0], kTimes[4], kTimes[5]})
      list.push_back({"/" + std::string(t.name), 1, t.factor, {-1, 0, 0}});
    list.push_back({"1/s", 1, 1, {-1, 0, 0}});
    prefixed(std::span(kDecimal).subspan(1), "/s", {-1, 0, 0});
    prefixed(kDecimal, "B", {0, 1, 0});
    prefixed(std::span(kBinary).subspan(1), "B", {0, 1, 0});
    prefixed(kDecimal, "B/s", {-1, 1, 0});
    prefixed(std::span(kBinary).subspan(1), "B/s", {-1, 1, 0});
    prefixed(kDecimal, "FLOP", {0, 0, 1});
    prefixed(kDecimal, "FLOP/s", {-1, 0, 1});
    list.push_back({"FLOP/B", 1, 1, {0, -1, 1}});
    return list;
  }();
  return all;
}

std::string such_as(Dimension d) {
  const Kind* kind = kind_of(d);
  return kind && !kind->example.empty() ? ", such as " + in_quotes(kind->example) : "";
}

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = lower(c);
  return low;
}

// The message for an unknown unit.
std::string unknown_unit(std::string_view unit, Dimension wanted) {
  const std::string low = lowered(unit);
  if (const auto flops = low.find("flops"); flops != std::string::npos && flops <= 1) {
    const std::string flop = std::string(unit.substr(0, flops)) + "FLOP";
    return in_quotes(unit) + " can mean a count or a rate: write " + in_quotes(flop) + " for a count, " +
           in_quotes(flop + "/s") + " for a rate";
  }
  for (const std::string_view bits : {"b", "bit", "bits", "b/s", "bit/s", "bits/s", "bps"}) {
    const bool written = unit.size() >= bits.size() && unit.ends_with(bits);
    const std::string_view prefix = written ? unit.substr(0, unit.size() - bits.size()) : "";
    const auto is_prefix = [&](const Scale& s) { return s.name == prefix; };
    if (written && (std::ranges::any_of(kDecimal, is_prefix) || std::ranges::any_of(kBinary, is_prefix)))
      return in_quotes(unit) + " counts bits; write bytes (1 B = 8 bit)" + such_as(wanted);
  }
  const std::string hint = did_you_mean(unit, unit_names(wanted));
  if (!hint.empty()) return "unknown unit " + in_quotes(unit) + hint;
  const Kind* kind = kind_of(wanted);
  return "unknown unit " + in_quotes(unit) +
         (kind != nullptr && !kind->example.empty() ? "; write it as in " + in_quotes(kind->example) : "");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// `value` in the largest scale in which it is at least 1 after rounding; scales ascend.
std::string scaled(double value, std::span<const Scale> scales, std::string_view unit) {
  if (value == 0 || !std::isfinite(value)) return significant(value) + " " + std::string(unit);
  std::size_t i = scales.size() - 1;
  while (i > 0 && std::abs(value) < scales[i].factor * 0.9995) --i;  // 0.9996 k prints as 1.00 k
  // Just below 1024 of the smaller unit stays there: "1010 GiB" and not "0.986 TiB".
  if (i > 0 && scales[i].factor / scales[i - 1].factor > 1000 && std::abs(value) < scales[i].factor) --i;
  return significant(value / scales[i].factor) + " " + std::string(scales[i].name) + std::string(unit);
}

}  // namespace

std::variant<double, std::string> parse_quantity(std::string_view text, Dimension wanted) {
  text = trimmed(text);
  if (text.empty()) return "is empty; a number and a unit are needed" + such_as(wanted);
  const std::size_t digits = text.front() == '-' ? 1 : 0;
  const bool starts = text.size() > digits && ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!starts || error == std::errc::invalid_argument)
    return in_quotes(text) + " does not start with a number" + such_as(wanted);
  if (error != std::errc()) return in_quotes(text) + " is out of range";
  const std::string_view rest = text.substr(at(end - text.data()));
  if (rest.starts_with(',') || rest.starts_with('_') || rest.starts_with('\''))
    return in_quotes(text) + ": write the number without separators and with a decimal point";
  if (rest.starts_with('x') || rest.starts_with('X')) return in_quotes(text) + " is not a decimal number";
  const std::string_view unit = trimmed(rest);
  if (unit.empty()) {
    if (wanted == Dimension{}) return value;
    return in_quotes(text) + " has no unit" + such_as(wanted);
  }
  const auto found = std::ranges::find_if(units(), [&](const Unit& u) { return u.name == unit; });
  if (found == units().end()) return unknown_unit(unit, wanted);
  if (found->dimension != wanted) {
    const Kind* is = kind_of(found->dimension);
    const Kind* must = kind_of(wanted);
    return in_quotes(text) + " is " + std::string(is->what) +
           (must ? ", but " + std::string(must->what) + " is needed" + such_as(wanted) : ", which does not fit here");
  }
  value = value * found->factor / found->divisor;
  if (!std::isfinite(value)) return in_quotes(text) + " is out of range";
  return value;
}

std::vector<std::string_view> unit_names(Dimension d) {
  std::vector<std::string_view> names;
  for (const Unit& u : units())
    if (u.dimension == d) names.push_back(u.name);
  return names;
}

std::string_view example_of(Dimension d) {
  const Kind* kind = kind_of(d);
  return kind ? kind->example : std::string_view();
}

std::string_view unit_name(Dimension d) {
  const Kind* kind = kind_of(d);
  return kind ? kind->name : std::string_view();
}

std::string significant(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  digits = std::clamp(digits, 1, 17);
  std::array<char, 64> buffer;
  const auto print = [&](double v, std::chars_format format, int precision) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, format, precision).ptr;
    return std::string(buffer.data(), end);
  };
  const std::string exponential = print(value, std::chars_format::scientific, digits - 1);
  const std::size_t e = exponential.find('e');
  const int exponent = std::stoi(exponential.substr(e + 1));  // after rounding: 9.996 has exponent 1 in three digits
  if (exponent < -4 || exponent >= 15) return exponential;
  if (exponent < digits) return print(value, std::chars_format::fixed, digits - 1 - exponent);
  double rounded = 0;
  std::from_chars(exponential.data(), exponential.data() + exponential.size(), rounded);
  return print(rounded, std::chars_format::fixed, 0);
}

std::string to_text(Seconds t) {
  static constexpr std::array small{Scale{"n", 1e-9}, Scale{"u", 1e-6}, Scale{"m", 1e-3}, Scale{"", 1}};
  const double size = std::abs(t.value);
  if (size >= 7200 && std::isfinite(size)) return significant(t.value / 3600) + " h";
  if (size >= 600 && std::isfinite(size)) return significant(t.value / 60) + " min";
  return scaled(t.value, small, "s");
}
std::string to_text(PerSecond q) { return scaled(q.value, kDecimal, "/s"); }
std::string to_text(Bytes q) { return scaled(q.value, kBinary, "B"); }
std::string to_text(Flops q) { return scaled(q.value, kDecimal, "FLOP"); }
std::string to_text(BytesPerSecond q) { return scaled(q.value, kDecimal, "B/s"); }
std::string to_text(FlopsPerSecond q) { return scaled(q.value, kDecimal, "FLOP/s"); }
std::string to_text(FlopsPerByte q) { return significant(q.value) + " FLOP/B"; }

}  // namespace draftline
