// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_acceptance.h"

#include <cmath>
#include <string>
#include <string_view>

#include "core/errors.h"
#include "core/reader.h"
#include "core/text_file.h"
#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/json_values.h"

namespace draftline {

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
    if (acceptance) return *acceptance;
    kinds += (kinds.empty() ? "" : "; ") + std::string(format.title);
  }
  throw InputErrors(printable_path(file) + ": contains no acceptance; it is read from: " + kinds);
}

}  // namespace draftline
