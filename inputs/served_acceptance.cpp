// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_acceptance.h"

#include <cmath>
#include <string>
#include <string_view>

#include "core/errors.h"
#include "core/quantity_text.h"
#include "core/reader.h"
#include "core/text_file.h"
#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/json_values.h"

namespace draftline {

// Why the shares of positions can't be those of chains; none: they can. Files round, and counters of several engines
// are not read at one instant.
static std::optional<std::string> contradiction_in(const ServedAcceptance& a) {
  constexpr double kRounding = 0.02;
  double sum = 0, before = 1;
  for (std::size_t i = 0; i < a.per_position.size(); ++i) {
    const double share = a.per_position[i];
    if (share > before + kRounding)
      return "position " + std::to_string(i) + " is accepted in " + significant(share, 3) +
             " of the steps, the position before it in " + significant(before, 3) +
             "; a draft is accepted only behind an accepted draft";
    sum += share;
    before = share;
  }
  if (!a.per_position.empty() && a.mean_length > 1 && std::abs(1 + sum - a.mean_length) > kRounding * a.mean_length)
    return "its positions sum up to " + significant(1 + sum, 3) + " tokens a step, its total to " +
           significant(a.mean_length, 3);
  return std::nullopt;
}

std::optional<int> whole_draft_length(double mean) {
  constexpr double kWhole = 0.02;
  if (!(mean > 0.5) || mean > kLongestServedDraft || std::abs(mean - std::round(mean)) > kWhole * std::round(mean))
    return std::nullopt;
  return static_cast<int>(std::round(mean));
}

ServedAcceptance ServedAcceptance::read(const std::filesystem::path& file, const Files& files) {
  const std::string text = files.text(file);
  const std::vector<Document> documents = json_documents(text, file);
  const AcceptanceFile content{text, json_values(documents)};
  std::string kinds;
  for (const AcceptanceFormat& format : acceptance_formats()) {
    const auto acceptance = format.read(content);
    for (const Document& document : documents) document.finish();
    if (acceptance) {
      if (const auto why = contradiction_in(*acceptance)) throw InputErrors(printable_path(file) + ": " + *why);
      return *acceptance;
    }
    kinds += (kinds.empty() ? "" : "; ") + std::string(format.title);
  }
  throw InputErrors(printable_path(file) + ": contains no acceptance; it is read from: " + kinds);
}

}  // namespace draftline
