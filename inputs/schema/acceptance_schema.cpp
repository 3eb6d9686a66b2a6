// SPDX-License-Identifier: Apache-2.0
// The schema of a method's "acceptance" (docs/reference/acceptance.md).
#include "inputs/schema/schema_parts.h"
#include "model/acceptance/request_acceptance.h"

namespace draftline::schema {

namespace {

// The forms that also a row of a table has.
Keys forms_of_a_chain() {
  return {
      optional("rates", list(ratio()), "probability per position, given that all earlier drafts were accepted"),
      optional("per_position", list(ratio()),
               "share of all steps in which the draft at this position is accepted; never rises"),
      optional("rate", ratio(), "the same probability at every position"),
      optional("mean_length", number(1, 1024), "mean acceptance length, bonus token included; of one draft length"),
      optional("accepted_share", ratio(), "accepted over drafted tokens, as engines print it; of one draft length")};
}

Json row_of_table() {
  const Keys of_row{optional("context", number(1, 1e9), "tokens before the step"),
                    optional("draft_length", integer(1, 64), "drafts per step with which the row was measured")};
  return with_one_of(object(of_row + forms_of_a_chain()),
                     {"rates", "per_position", "rate", "mean_length", "accepted_share"});
}

}  // namespace

Json acceptance() {
  const Keys others{optional("ranks", list(list(ratio())), "per level, the probability of each rank of candidate"),
                    optional("table", list(row_of_table()), "forms of a chain at several contexts or draft lengths"),
                    optional("trace", text(false), "a file recorded by `draftline decode --trace`"),
                    optional("measured", text(false), "a server's benchmark, metrics or log"),
                    optional("hit_share", ratio(),
                             "of a look-up drafter: share of steps in which it finds a draft; the acceptance is "
                             "that of these steps"),
                    optional("mean_drafts", number(0, 1024),
                             "of a drafter that stops early: mean number of drafts that a step verifies"),
                    optional("intraclass_correlation", number(0, kMostCorrelation),
                             "share of the variance of accepted drafts that is between requests of a workload")};
  const Keys borrowed{optional("borrowed", boolean(),
                               "true: a trace of another target stands for this one; by default one that ships does")};
  const auto one_form = [](const Keys& keys) {
    return with_one_of(object(keys), {"rates", "per_position", "rate", "mean_length", "accepted_share", "ranks",
                                      "table", "trace", "measured"});
  };
  const Keys known = forms_of_a_chain() + others;
  return if_given("trace", one_form(known + borrowed), one_form(known));
}

}  // namespace draftline::schema
