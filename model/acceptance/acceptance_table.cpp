// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/acceptance_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/acceptance/acceptance.h"

namespace draftline {

namespace {

// The neighbours of a value among ascending ones, and how far it is from the first of them to the second, 0 to 1.
struct Between {
  std::size_t low, high;
  double share;
};
template <class Items, class ValueOf>
Between between(const Items& items, double value, ValueOf value_of) {
  const auto above = std::find_if(items.begin(), items.end(), [&](const auto& i) { return value_of(i) >= value; });
  if (above == items.begin()) return {0, 0, 0};
  if (above == items.end()) return {items.size() - 1, items.size() - 1, 0};
  const auto high = at(above - items.begin());
  const double low_value = value_of(items[high - 1]);
  return {high - 1, high, (value - low_value) / (value_of(items[high]) - low_value)};
}

// Drafts that only one of the two has are as in that one.
std::vector<double> mixed(std::vector<double> low, const std::vector<double>& high, double share) {
  for (std::size_t j = 0; j < std::min(low.size(), high.size()); ++j) low[j] += share * (high[j] - low[j]);
  for (std::size_t j = low.size(); j < high.size(); ++j) low.push_back(high[j]);
  return low;
}

std::string number_text(double value) { return std::to_string(std::llround(value)); }

}  // namespace

AcceptanceTable::AcceptanceTable(const std::vector<Row>& rows)
    : by_context_(!rows.empty() && rows.front().context > 0),
      by_length_(!rows.empty() && rows.front().draft_length > 0) {
  check(!rows.empty(), "a table of acceptance without rows");
  for (const Row& row : rows) {
    check((row.context > 0) == by_context_ && (row.draft_length > 0) == by_length_, "rows that tell different things");
    const int drafts = count(row.conditional);
    auto of_length = std::find_if(lengths_.begin(), lengths_.end(),
                                  [&](const OfLength& known) { return known.draft_length == drafts; });
    if (of_length == lengths_.end()) of_length = lengths_.insert(lengths_.end(), {drafts, {}});
    of_length->contexts.push_back({row.context, row.conditional});
  }
  std::sort(lengths_.begin(), lengths_.end(),
            [](const auto& a, const auto& b) { return a.draft_length < b.draft_length; });
  for (OfLength& of_length : lengths_)
    std::sort(of_length.contexts.begin(), of_length.contexts.end(),
              [](const auto& a, const auto& b) { return a.context < b.context; });
}

int AcceptanceTable::longest() const { return lengths_.empty() ? 0 : lengths_.back().draft_length; }

std::vector<double> AcceptanceTable::OfLength::at(double context) const {
  const auto [low, high, share] = between(contexts, std::log(std::max(1.0, context)),
                                          [](const OfContext& c) { return std::log(std::max(1.0, c.context)); });
  return mixed(contexts[low].conditional, contexts[high].conditional, share);
}

std::vector<double> AcceptanceTable::rates(double context, int drafts) const {
  check(drafts >= 1 && drafts <= longest(), "a table of acceptance for shorter chains");
  const auto [low, high, share] = between(lengths_, drafts, [](const OfLength& of) { return of.draft_length; });
  auto rates = mixed(lengths_[low].at(context), lengths_[high].at(context), share);
  rates.resize(draftline::at(drafts));
  return rates;
}

std::optional<std::string> AcceptanceTable::extrapolated(double from, double to, int drafts) const {
  if (by_length_ && drafts < lengths_.front().draft_length)
    return "the acceptance of " + std::to_string(drafts) + (drafts == 1 ? " draft" : " drafts") +
           " is that of the first of " + std::to_string(lengths_.front().draft_length) +
           ", the shortest chain measured";
  if (!by_context_) return std::nullopt;
  const auto [low, high, share] = between(lengths_, drafts, [](const OfLength& of) { return of.draft_length; });
  for (const OfLength* of : {&lengths_[share < 1 ? low : high], &lengths_[share > 0 ? high : low]}) {
    const auto& measured = of->contexts;
    const bool below = from < measured.front().context;
    if (!below && to <= measured.back().context) continue;
    return "the acceptance at a context of " + number_text(below ? from : to) + " tokens is that at " +
           number_text(below ? measured.front().context : measured.back().context) + ", the " +
           (below ? "shortest" : "longest") + " measured" +
           (by_length_ ? " with " + std::to_string(of->draft_length) + (of->draft_length == 1 ? " draft" : " drafts")
                       : "");
  }
  return std::nullopt;
}

std::vector<double> read_per_position(const Reader& shares) {
  std::vector<double> rates;
  double before = 1;
  for (const Reader& one : shares.items()) {
    const double share = one.ratio();
    if (share > before) one.fail("must not be above the share of the position before it");
    rates.push_back(before > 0 ? std::min(share / before, 1.0) : 0);
    before = share;
  }
  if (rates.empty()) shares.fail("at least one share is needed");
  return rates;
}

namespace {

constexpr int kMostDrafts = 64;

// The rates of one row; empty, and a mistake, if they don't fit its draft length.
std::vector<double> read_rates(const Reader& row, int draft_length) {
  const auto list = row.find("rates"), shares = row.find("per_position"), rate = row.find("rate"),
             mean = row.find("mean_length"), accepted = row.find("accepted_share");
  const std::array given{list.has_value(), shares.has_value(), rate.has_value(), mean.has_value(),
                         accepted.has_value()};
  if (std::count(given.begin(), given.end(), true) != 1) {
    row.fail("give one of \"rates\", \"per_position\", \"rate\", \"accepted_share\" and \"mean_length\"");
    return {};
  }
  if (list || shares) {
    auto rates = list ? list->numbers(0, 1) : read_per_position(*shares);
    if (list && rates.empty()) list->fail("at least one rate is needed");
    if (draft_length > 0 && rates.size() != draftline::at(draft_length))
      row.fail(std::to_string(rates.size()) + " rates of " + std::to_string(draft_length) + " drafts");
    if (rates.size() > kMostDrafts) row.fail("more than " + std::to_string(kMostDrafts) + " rates");
    return rates;
  }
  if (draft_length == 0) {
    row.fail("\"rate\", \"accepted_share\" and \"mean_length\" need the \"draft_length\" that they are of");
    return {};
  }
  const double length = mean       ? mean->number(1, draft_length + 1.0)
                        : accepted ? 1 + accepted->ratio() * draft_length
                                   : 1;
  return std::vector<double>(draftline::at(draft_length), rate ? rate->ratio() : iid_rate(length, draft_length));
}

}  // namespace

AcceptanceTable read_acceptance_table(const Reader& in) {
  std::vector<AcceptanceTable::Row> rows;
  for (const Reader& item : in.items()) {
    AcceptanceTable::Row row;
    if (const auto context = item.find("context")) row.context = context->number(1, 1e9);
    if (const auto length = item.find("draft_length")) row.draft_length = length->integer(1, kMostDrafts);
    row.conditional = read_rates(item, row.draft_length);
    item.done();
    if (!rows.empty()) {
      const auto& first = rows.front();
      if ((first.context > 0) != (row.context > 0)) item.fail("\"context\" stands in every row or in none");
      if ((first.draft_length > 0) != (row.draft_length > 0))
        item.fail("\"draft_length\" stands in every row or in none");
      if (row.draft_length == 0 && first.conditional.size() != row.conditional.size())
        item.fail("rows of different lengths need a \"draft_length\"");
    }
    for (const auto& known : rows)
      if (known.context == row.context && known.draft_length == row.draft_length)
        item.fail("another row has this context and draft length");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) in.fail("at least one row is needed");
  return in.failed() ? AcceptanceTable() : AcceptanceTable(rows);
}

}  // namespace draftline
