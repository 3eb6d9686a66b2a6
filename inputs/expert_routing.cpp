// SPDX-License-Identifier: Apache-2.0
#include "inputs/expert_routing.h"

#include <array>

namespace draftline {

namespace {

constexpr int kMostRows = 1 << 20;
constexpr double kMostVariation = 10;  // of the experts' loads

std::vector<ExpertRouting::Exponent> by_overlap(double overlap) { return {{2, exponent_of_overlap(overlap)}}; }

double calibrated(const Reader& in, double most) {
  const double low = in.at("low").number(0, most), value = in.at("value").number(0, most),
               high = in.at("high").number(0, most);
  if (low > value || value > high) in.fail("must lie between \"low\" and \"high\"");
  in.done();
  return value;
}

ExpertRouting read_usual(const Reader& in) {
  for (const char* key : {"kind", "source", "locator", "because"}) in.at(key).text();
  ExpertRouting r{by_overlap(calibrated(in.at("overlap"), 1)), calibrated(in.at("load_cv"), kMostVariation)};
  in.done();
  return r;
}

// {"rows", "experts_touched"}: the exponent of a number of rows, by a count.
ExpertRouting::Exponent read_count(const Reader& in, int sequences, const Experts& e, double load_cv) {
  const int rows = in.at("rows").positive_int(kMostRows);
  const Reader touched = in.at("experts_touched");
  const double count = touched.number(0, e.count);
  if (rows <= sequences) {
    in.at("rows").fail("must exceed the number of sequences: one row per sequence does not determine the overlap");
    return {};
  }
  const auto exponent = exponent_of_count(count, rows, sequences, {e.count, e.per_token}, load_cv);
  if (!exponent)
    touched.fail("this number of rows reads at least " + std::to_string(e.per_token) + " and fewer than all experts");
  return {rows, exponent.value_or(1)};
}

std::vector<ExpertRouting::Exponent> read_counts(const Reader& in, const Experts& e, double load_cv) {
  std::vector<ExpertRouting::Exponent> all;
  for (const Reader& one : in.items()) {
    const ExpertRouting::Exponent next = read_count(one, 1, e, load_cv);
    if (!all.empty() && next.rows <= all.back().rows) one.at("rows").fail("the numbers of rows must ascend");
    all.push_back(next);
    one.done();
  }
  if (all.empty()) in.fail("must be a list of at least one count");
  return all;
}

}  // namespace

UsualRouting read_usual_routing(const Reader& in) {
  UsualRouting r{read_usual(in.at("many_topics")), read_usual(in.at("one_topic"))};
  in.done();
  return r;
}

ExpertRouting read_routing(const Reader& in, const Experts& e, const UsualRouting& usual) {
  constexpr std::array<std::string_view, 2> kTopics{"many", "one"};
  const auto topics = in.find("topics"), load_cv = in.find("load_cv"), counted = in.find("counted"),
             touched = in.find("experts_touched");
  ExpertRouting r = topics && topics->word(kTopics) == "one" ? usual.one_topic : usual.many_topics;
  if (load_cv) r.load_cv = load_cv->number(0, kMostVariation);
  if (counted) {
    r.exponents = read_counts(*counted, e, r.load_cv);
  } else if (touched) {
    const auto given = in.find("sequences");
    r.exponents = {read_count(in, given ? given->positive_int(kMostRows) : 1, e, r.load_cv)};
  } else if (const auto overlap = in.find("overlap")) {
    r.exponents = by_overlap(overlap->number(0, 1));
  } else if (!topics && !load_cv) {
    in.at("overlap");  // one of the keys is needed
  }
  in.done();
  return r;
}

}  // namespace draftline
