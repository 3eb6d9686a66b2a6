// SPDX-License-Identifier: Apache-2.0
#include "papers/all_papers.h"

#include <algorithm>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "papers/inferred_paper.h"

namespace draftline {

std::vector<std::string> paper_names() { return {"specformer", "s3d", "clover", "space"}; }

Paper predict_paper(const Data& data, const std::string& name) {
  const std::vector<std::string> known = paper_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const auto near = nearest_word(name, known);
    throw InputErrors("unknown paper \"" + printable(name, 100) + "\"" +
                      (near ? "; did you mean \"" + *near + "\"?" : "; see `draftline list papers`"));
  }
  return predict_inferred_paper(data, name);
}

}  // namespace draftline
