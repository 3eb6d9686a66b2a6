// SPDX-License-Identifier: Apache-2.0
#include "inputs/expert_overlap.h"

#include "model/expert_load.h"

namespace draftline {

static constexpr int kMostExperts = 1 << 16, kMostRows = 1 << 20;

double read_usual_overlap(Reader in) {
  const Reader counted = in.at("consecutive_tokens");
  for (const char* key : {"kind", "source", "locator", "because"}) counted.at(key).text();
  const double shared = counted.at("shared").number(0, 1);
  const int experts = counted.at("experts").positive_int(kMostExperts);
  const int per_token = counted.at("per_token").positive_int(kMostExperts);
  counted.done();
  in.done();
  return overlap_of(shared, experts, per_token);
}

double read_overlap(const Reader& in, const Experts& e) {
  double overlap = 0;
  if (const auto touched = in.find("experts_touched")) {
    const int rows = in.at("rows").positive_int(kMostRows);
    const auto given = in.find("sequences");
    const int sequences = given ? given->positive_int(kMostRows) : 1;
    const double count = touched->number(0, e.count);
    if (rows <= sequences)
      in.at("rows").fail("must exceed the number of sequences: one row per sequence does not determine the overlap");
    else if (const auto found = overlap_of_touched(count, sequences, rows, e.count, e.per_token)) overlap = *found;
    else
      touched->fail("this number of rows reads at least " + std::to_string(e.per_token) +
                    " and fewer than all experts");
  } else {
    overlap = in.at("overlap").number(0, 1);
  }
  in.done();
  return overlap;
}

}  // namespace draftline
