// SPDX-License-Identifier: Apache-2.0
// The schema of a scenario's workload: arrivals and lengths of requests.
#include "inputs/schema/schema_parts.h"
#include "inputs/workload.h"

namespace draftline::schema {

namespace {

const char* const kTrace = "a file of recorded requests (docs/reference/scenario.md)";

Json arrivals() {
  const Key rate = needed("rate", quantity<PerSecond>(), "requests per second");
  const Json drawn = by_word(
      "process", "how requests arrive",
      {{{"closed"}, {needed("concurrency", positive_int(1 << 20), "requests that are always in the server")}},
       {{"poisson"}, {rate}},
       {{"gamma"},
        {rate,
         needed("cv", number(0.01, 30), "coefficient of variation of the gaps; 1 is Poisson").formerly("variation")}},
       {{"on_off"},
        {needed("rate", quantity<PerSecond>(), "requests per second while on"),
         needed("on", quantity<Seconds>(), "mean duration of an on phase"),
         needed("off", quantity<Seconds>(), "mean duration of an off phase")}}});
  return if_given("trace",
                  object({needed("trace", text(false), kTrace),
                          optional("rate_scale", number(1e-6, 1e6), "times the recorded rate")}),
                  drawn);
}

// `recorded`: a trace beside it gives the mean and the variation where no mean is given.
Json length(bool recorded) {
  const Json tokens = positive_int(kLongestText);
  Key mean = needed("mean", number(1, kLongestText), "mean, in tokens");
  Key cv = needed("cv", number(1e-3, 100), "coefficient of variation").formerly("variation");
  if (recorded) mean.needed = cv.needed = false;
  return any_of(
      {tokens,
       by_word("distribution", "how lengths are drawn",
               {{{"uniform"},
                 {needed("least", tokens, "shortest, in tokens"), needed("most", tokens, "longest, in tokens")}},
                {{"exponential"}, {mean}},
                {{"gamma", "lognormal"}, {mean, cv}}})});
}

Json lengths() {
  const auto sides = [](bool recorded) {
    return Keys{optional("prompt", length(recorded), "tokens of a prompt"),
                optional("output", length(recorded), "tokens of an output"),
                optional("shared_prefix", shared_prefix(), "tokens with which prompts begin alike")};
  };
  const Keys of_trace{needed("trace", text(false), kTrace),
                      optional("order", word({"file", "random"}), "row by row, or drawn")};
  return any_of({word({"acceptance_trace"}), if_given("trace", object(of_trace + sides(true)), object(sides(false)))});
}

}  // namespace

Json shared_prefix() {
  const Json tokens = integer(0, kLongestText);
  return any_of({tokens, object({needed("tokens", tokens, "tokens of a prefix"),
                                 optional("groups", positive_int(1 << 20), "number of different prefixes")})});
}

Json workload() {
  return object({needed("arrivals", arrivals(), "when requests arrive"),
                 optional("lengths", lengths(),
                          "tokens of prompts and outputs; by default of the arrivals' trace, else "
                          "of prompt_tokens and output_tokens"),
                 optional("requests", integer(1, 1e9), "number of requests; by default all of a trace, else 1000"),
                 optional("warm_up", integer(0, 1e9 - 1), "first requests, which figures leave out; by default 0")});
}

}  // namespace draftline::schema
