// SPDX-License-Identifier: Apache-2.0
#include "model/devices/link.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/errors.h"

namespace draftline {

bool LinkTable::knows(int ranks) const { return !points.empty() && points.back().ranks >= ranks; }

static std::span<const LinkPoint> points_of(const LinkTable& t, int ranks) {
  const auto first = std::find_if(t.points.begin(), t.points.end(), [&](const auto& p) { return p.ranks >= ranks; });
  check(first != t.points.end(), "a link's table is asked for more ranks than it knows");
  return {first, std::find_if(first, t.points.end(), [&](const auto& p) { return p.ranks != first->ranks; })};
}

Bytes LinkTable::largest_message(int ranks) const { return points_of(*this, ranks).back().message; }

BytesPerSecond LinkTable::last_rate(int ranks) const {
  const auto all = points_of(*this, ranks);
  const LinkPoint& last = all.back();
  if (all.size() == 1) return last.message / last.time;
  const LinkPoint& before = all[all.size() - 2];
  return (last.message - before.message) / (last.time - before.time);
}

Seconds LinkTable::time(int ranks, Bytes message, BytesPerSecond at_most) const {
  const auto all = points_of(*this, ranks);
  const auto above =
      std::lower_bound(all.begin(), all.end(), message, [](const LinkPoint& p, Bytes m) { return p.message < m; });
  if (above == all.begin()) return above->time;
  const LinkPoint& below = *(above - 1);
  if (above == all.end()) {
    BytesPerSecond rate = std::min(at_most, last_rate(ranks));
    if (std::isinf(rate.value)) rate = below.message / below.time;  // the time of bytes does not show in the table
    return below.time + (message - below.message) / rate;
  }
  const double share = std::log(message / below.message) / std::log(above->message / below.message);
  return Seconds{below.time.value * std::pow(above->time / below.time, share)};
}

const LinkTable* Links::find(std::string_view library, Collective c, int ranks) const {
  const auto it = std::find_if(tables.begin(), tables.end(), [&](const LinkTable& t) {
    return t.library == library && t.collective == c && t.knows(ranks);
  });
  return it == tables.end() ? nullptr : &*it;
}

const LinkTable* Links::any(Collective c, int ranks) const {
  const auto it = std::find_if(tables.begin(), tables.end(),
                               [&](const LinkTable& t) { return t.collective == c && t.knows(ranks); });
  return it == tables.end() ? nullptr : &*it;
}

Seconds Links::time(const LinkTable& t, int ranks, Bytes message) const {
  const LinkTable* longest = &t;
  for (const LinkTable& other : tables)
    if (other.collective == t.collective && other.knows(ranks) &&
        other.largest_message(ranks) > longest->largest_message(ranks))
      longest = &other;
  return t.time(ranks, message, longest->last_rate(ranks));
}

std::vector<LinkPoint> read_link_points(const Reader& groups) {
  std::vector<LinkPoint> points;
  for (const Reader& group : groups.items()) {
    const int ranks = group.at("ranks").integer(2, 1024);
    for (const Reader& point : group.at("points").items()) {
      points.push_back({ranks, point.at("message").quantity<Bytes>(), point.at("time").quantity<Seconds>()});
      point.done();
    }
    group.done();
  }
  const auto key = [](const LinkPoint& p) { return std::pair(p.ranks, p.message.value); };
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < points.size(); ++i)
    if (key(points[i - 1]) == key(points[i])) groups.fail("two times for the same message and ranks");
  // Measured tables have outliers, and steps where one algorithm gives way to another: a smaller message is never
  // dearer.
  for (std::size_t i = points.size(); i-- > 1;)
    if (points[i - 1].ranks == points[i].ranks) points[i - 1].time = std::min(points[i - 1].time, points[i].time);
  return points;
}

bool has_capability(std::string_view asked, std::string_view of_device) {
  const bool family = asked.find('.') == std::string_view::npos;
  return asked.empty() || asked == (family ? of_device.substr(0, of_device.find('.')) : of_device);
}

void read_link_traits(const Reader& in, Links& links) {
  if (const auto switched = in.find("switched")) links.switched = switched->boolean();
  if (const auto capability = in.find("compute_capability")) links.compute_capability = capability->text();
}

Links read_links(const Reader& in) {
  Links links;
  read_link_traits(in, links);
  // Who has no tables yet may say alone what connects the devices.
  const bool told = in.has("switched") || in.has("compute_capability");
  for (const Reader& row : told && !in.has("tables") ? std::vector<Reader>{} : in.at("tables").items()) {
    LinkTable t;
    t.library = row.at("library").text();
    t.collective = row.at("collective").value_in(kCollectives);
    t.origin = read_origin(row);
    t.points = read_link_points(row.at("groups"));
    row.done();
    links.tables.push_back(std::move(t));
  }
  in.done();
  return links;
}

}  // namespace draftline
