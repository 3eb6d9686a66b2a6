// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>

#include "core/errors.h"
#include "core/json_parse.h"

namespace draftline::cli {

namespace fs = std::filesystem;

// A bound with at most six digits: 100 and 1e-06, not 100.000 and 1.00000e-06.
static std::string bound_text(double v) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << v;
  return text.str();
}

CLI::Validator between(double least, double most) {
  const std::string range = "[" + bound_text(least) + " - " + bound_text(most) + "]";
  return {[=](const std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
            return "value " + printable(text, 100) + " is not in the range " + range;
          },
          "FLOAT in " + range};
}

CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed, const std::string& about) {
  return verb.add_option("--seed", seed, about)
      ->check(CLI::Validator(
          [](std::string& text) -> std::string {
            std::uint64_t value = 0;
            const char* end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (rest == end && error == std::errc()) {
              text = std::to_string(value);  // CLI11 takes one that begins with 0 for octal
              return {};
            }
            return "value " + printable(text, 100) + " is not a whole number from 0 to 18446744073709551615";
          },
          ""));
}

CLI::Option* add_headroom(CLI::App& verb, double& headroom) {
  const auto read = [&headroom](const std::string& text) {
    const char* end = text.data() + text.size();
    double value = 0;
    auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    while (rest != end && *rest == ' ') ++rest;
    const bool is_percentage = (rest != end && *rest == '%' && rest + 1 == end) || (rest == end && value == 0);
    if (error != std::errc() || !is_percentage || !(value >= 0 && value <= 100 * kMostHeadroom))
      throw CLI::ValidationError("--headroom", "value " + printable(text, 100) + " is not a percentage from 0% to " +
                                                   std::to_string(std::lround(100 * kMostHeadroom)) + "%, such as 20%");
    headroom = value / 100;
  };
  return verb.add_option_function<std::string>(
      "--headroom", read,
      "additional load, in percent of the workload's, under which fleets must meet the targets too; default\n"
      "10%, above the median error of TPOT over served rows (docs/explanation/accuracy.md)");
}

// Whether two paths are the same file; files that do not exist are compared by path. Pipes and devices never are, as
// they may be written several times.
static bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code none;
  if (fs::exists(a, none) && !fs::is_regular_file(a, none)) return false;
  if (fs::equivalent(a, b, none) && !none) return true;
  std::error_code wrong;
  const fs::path whole_a = fs::weakly_canonical(fs::absolute(a, wrong), wrong),
                 whole_b = fs::weakly_canonical(fs::absolute(b, wrong), wrong);
  return !wrong && whole_a == whole_b;
}

void check_outputs(const std::vector<OutputFile>& outputs, const std::vector<fs::path>& inputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    if (one->file.empty()) continue;
    const std::string option(one->option);
    for (const fs::path& input : inputs)
      if (same_file(one->file, input))
        throw InputErrors(option + ": " + printable(input.string(), 1000) + " is an input and would be overwritten");
    for (auto other = outputs.begin(); other != one; ++other)
      if (!other->file.empty() && same_file(one->file, other->file))
        throw InputErrors(option + ": is also the file of " + std::string(other->option));
  }
}

}  // namespace draftline::cli
