// SPDX-License-Identifier: Apache-2.0
#include "inputs/draft_policy.h"

#include "tests/core/messages.h"

namespace draftline {

TEST_CASE("a note names the batch sizes that no range of a schedule has") {
  const auto notes = [](const std::string& ranges) {
    const Document d = Document::from_text(R"({"num_speculative_tokens_per_batch_size": )" + ranges + "}", "s.json");
    read_draft_policy(d.root());
    d.finish();
    return d.notes();
  };
  CHECK(notes("[[1, 8, 5], [9, 16, 2]]").empty());
  const auto of_hole = notes("[[1, 8, 5], [32, 64, 2]]");
  REQUIRE(of_hole.size() == 1);
  CHECK(contains(of_hole[0], "/num_speculative_tokens_per_batch_size/1: no range has the batch sizes from 9 to 31"));
}

}  // namespace draftline
