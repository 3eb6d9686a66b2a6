// SPDX-License-Identifier: Apache-2.0
#include "papers/all_papers.h"

#include <algorithm>
#include <array>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "papers/inferred_paper.h"
#include "papers/throughput_paper.h"

namespace draftline {

std::span<const PaperEntry> all_papers() {
  static constexpr std::array<PaperEntry, 4> kPapers{{{"specformer", predict_throughput_paper},
                                                      {"s3d", predict_inferred_paper},
                                                      {"clover", predict_inferred_paper},
                                                      {"space", predict_inferred_paper}}};
  return kPapers;
}

std::vector<std::string> paper_names() {
  std::vector<std::string> names;
  for (const PaperEntry& p : all_papers()) names.emplace_back(p.name);
  return names;
}

Paper predict_paper(const std::filesystem::path& data, const std::string& name) {
  const auto known = all_papers();
  const auto paper = std::find_if(known.begin(), known.end(), [&](const PaperEntry& p) { return p.name == name; });
  if (paper == known.end()) {
    const auto near = nearest_word(name, paper_names());
    throw InputErrors("unknown paper \"" + printable(name, 100) + "\"" +
                      (near ? "; did you mean \"" + *near + "\"?" : "; see `draftline list papers`"));
  }
  return paper->predict(data, name);
}

}  // namespace draftline
