// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/parameter_check.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>

#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"
#include "model/transformers/module_formats.h"

namespace draftline {

namespace {

constexpr double kMostDifference = 0.03, kMostParameters = 1e15;

std::string billions(double parameters) {
  std::string text = std::to_string(parameters / 1e9);
  return text.substr(0, text.find('.') + 4) + " billion";
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// A number at the end of its digits, "30" or "0.6"; a zero before the point's place is no digit of its precision.
NamedCount count_of(const std::string& digits) {
  const auto point = digits.find('.');
  double unit = 1;
  if (point != std::string::npos) unit = std::pow(10.0, -1.0 * static_cast<double>(digits.size() - point - 1));
  else if (digits.size() > 1 && digits.back() == '0') unit = 10;
  return {std::strtod(digits.c_str(), nullptr), unit};
}

void compare_counts(const Reader& in, double said, double found, const std::string& what) {
  if (said <= 0 || std::abs(found / said - 1) <= kMostDifference) return;
  in.note("gives " + billions(found) + " parameters by its shapes, but " + what + " " + billions(said) +
          "; is a key missing, or not read?");
}

// Whether the folder has an index, and the comparison with it. Weights of parts that see, and modules that predict
// further tokens, lie in the same files.
bool check_index(const Reader& config, const TransformerShape& s) {
  const auto file = config.file().parent_path() / "model.safetensors.index.json";
  if (config.file().filename() != "config.json" || !config.files().is_file(file)) return false;
  try {
    const Document document = Document::below(config, file);
    const auto metadata = config::given(document.root(), "metadata");
    const auto size = metadata && metadata->is_object() ? config::given(*metadata, "total_size") : std::nullopt;
    if (!size || !size->is_number()) return false;
    const bool sees = config::given(config, {"vision_config", "audio_config"}).has_value();
    const auto dtype = config::given(config, {"torch_dtype", "dtype"});
    const Precision plain(dtype && dtype->text() == "float32" ? DType::fp32 : DType::bf16);
    const double found = stored_bytes(s, s.checkpoint.value_or(plain)).value, said = size->number(0, 1e18);
    const double mtp = s.mtp_modules > 0 && s.layers() > 0 ? found / s.layers() * s.mtp_modules : 0;
    if (said < found * (1 - kMostDifference) || (!sees && said > (found + 2 * mtp) * (1 + kMostDifference)))
      config.note("gives weights of " + std::to_string(found / 1e9).substr(0, 6) +
                  " GB by its shapes and formats, but model.safetensors.index.json " +
                  std::to_string(said / 1e9).substr(0, 6) + " GB; is a key missing, or not read?");
    return true;
  } catch (const InputErrors&) { return false; }  // who loads the weights says what is wrong there
}

}  // namespace

bool NamedCount::fits(double parameters, double embedding) const {
  const auto within = [&](double least, double most) {
    return most / 1e9 >= billions - 0.5 * unit && least / 1e9 < billions + unit;
  };
  for (const double left_out : {0.0, 1.0, 2.0})
    if (const double p = parameters - left_out * embedding; within(p, p)) return true;
  return within(parameters * (1 - kMostDifference), parameters * (1 + kMostDifference));
}

NamedCounts counts_in_name(std::string_view name) {
  NamedCounts counts;
  for (std::size_t i = 0; i < name.size();) {
    const char before = i == 0 ? '-' : name[i - 1];
    if (!is_digit(name[i]) || is_digit(before) || before == '.') {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < name.size() &&
           (is_digit(name[end]) || (name[end] == '.' && end + 1 < name.size() && is_digit(name[end + 1]))))
      ++end;
    const bool unit = end < name.size() && (name[end] == 'b' || name[end] == 'B');
    const bool whole = unit && (end + 1 == name.size() || (!is_letter(name[end + 1]) && !is_digit(name[end + 1])));
    if (whole) {
      const std::string digits(name.substr(i, end - i));
      const bool active = (before == 'a' || before == 'A') && (i < 2 || !is_letter(name[i - 2]));
      if (active) counts.active = count_of(digits);
      else if (!is_letter(before)) counts.all = count_of(digits);
      else if (before == 'x' || before == 'X') return {};
    } else if (end < name.size() && (name[end] == 'E' || name[end] == 'e') && counts.all) {
      return {};  // "17B-128E": of the experts that a token has
    }
    i = std::max(end, i + 1);
  }
  return counts;
}

void check_parameters(const Reader& config, const TransformerShape& s) {
  if (config.failed() || s.layers() == 0) return;
  const double found = parameters(s);
  const Reader text = config::text_tower(config).value_or(config);
  if (const auto said = config::given(text, "num_parameters"); said && said->is_number())
    return compare_counts(config, said->number(0, kMostParameters), found, "its num_parameters say");
  const auto source = config::given(config, "draftline_source");
  if (const auto said = source && source->is_object() ? config::given(*source, "published_parameters") : std::nullopt)
    if (said->is_number()) return compare_counts(config, said->number(0, kMostParameters), found, "its source says");
  if (check_index(config, s)) return;
  const NamedCounts named = counts_in_name(s.name);
  const double embedding = head_parameters(s);
  if (named.all && !named.all->fits(found, embedding))
    config.note("gives " + billions(found) + " parameters by its shapes, but its name says " +
                billions(1e9 * named.all->billions) + "; is a key missing, or not read?");
  if (named.active && s.experts() != nullptr && !named.active->fits(active_parameters(s), embedding))
    config.note("gives " + billions(active_parameters(s)) +
                " parameters for a token by its shapes, but its name says " + billions(1e9 * named.active->billions) +
                "; is a key missing, or not read?");
}

}  // namespace draftline
