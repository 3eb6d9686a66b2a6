// SPDX-License-Identifier: Apache-2.0
#include "model/devices/link.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/errors.h"

namespace draftline {

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

int Links::nodes(int ranks) const {
  if (!between_nodes || ranks <= std::max(between_nodes->devices, domain.value_or(0))) return 1;
  return (ranks + between_nodes->devices - 1) / between_nodes->devices;
}

template <class IsWanted>
const LinkTable* Links::first(int ranks, IsWanted is_wanted) const {
  const int inside = in_node(ranks);
  const bool extended = domain && inside <= *domain;
  const LinkTable* most = nullptr;
  for (const LinkTable& t : tables) {
    if (!is_wanted(t)) continue;
    if (t.knows(inside)) return &t;
    if (extended && t.most_ranks() > std::max(1, most == nullptr ? 0 : most->most_ranks())) most = &t;
  }
  return most;
}

const LinkTable* Links::find(std::string_view library, Collective c, int ranks) const {
  return first(ranks, [&](const LinkTable& t) { return t.library == library && t.collective == c; });
}

const LinkTable* Links::any(Collective c, int ranks) const {
  return first(ranks, [&](const LinkTable& t) { return t.collective == c; });
}

namespace {

// The share of a message that each of n members sends on its way to the others.
double sent_share(double n) { return (n - 1) / n; }

// What a call among nodes takes beyond that inside of each: rings over the nodes, one for each device's adapter.
Seconds time_between(const NodeNetwork& net, Collective c, int nodes, Bytes of_device) {
  const double rounds = c == Collective::all_reduce ? 2 : 1;  // a reduce-scatter and an all-gather
  return rounds * ((nodes - 1) * net.latency + sent_share(nodes) * of_device / net.bandwidth);
}

}  // namespace

// Beyond the measured groups the fixed part grows with the depth of a tree, and that of the bytes with the share that
// each device sends.
Seconds Links::time_in_node(const LinkTable& t, int ranks, Bytes message) const {
  const int measured = std::min(ranks, t.most_ranks());
  const LinkTable* longest = &t;
  for (const LinkTable& other : tables)
    if (other.collective == t.collective && other.knows(measured) &&
        other.largest_message(measured) > longest->largest_message(measured))
      longest = &other;
  const Seconds time = t.time(measured, message, longest->last_rate(measured));
  if (ranks == measured) return time;
  const Seconds fixed = t.time(measured, Bytes{});
  return std::log2(ranks) / std::log2(measured) * fixed + sent_share(ranks) / sent_share(measured) * (time - fixed);
}

Seconds Links::time(const LinkTable& t, int ranks, Bytes message) const {
  const int inside = in_node(ranks);
  const Seconds in_each = inside > 1 ? time_in_node(t, inside, message) : Seconds{};
  if (nodes(ranks) == 1) return in_each;
  // An all-to-all's message is a device's own; each of the others is divided among the devices of a node.
  const Bytes of_device = t.collective == Collective::all_to_all ? message : (1.0 / inside) * message;
  return in_each + time_between(*between_nodes, t.collective, nodes(ranks), of_device);
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

static NodeNetwork read_between_nodes(const Reader& in) {
  NodeNetwork net{in.at("devices").integer(1, 1024), in.at("bandwidth").quantity<BytesPerSecond>(),
                  in.at("latency").quantity<Seconds>(0.0), read_origin(in)};
  in.done();
  return net;
}

void read_link_traits(const Reader& in, Links& links) {
  if (const auto domain = in.find("domain")) links.domain = domain->integer(2, 1024);
  if (const auto between = in.find("between_nodes")) links.between_nodes = read_between_nodes(*between);
  if (const auto switched = in.find("switched")) links.switched = switched->boolean();
  if (const auto capability = in.find("compute_capability")) links.compute_capability = capability->text();
}

Links read_links(const Reader& in) {
  Links links;
  read_link_traits(in, links);
  // Who has no tables yet may say alone what connects the devices.
  const bool traits = std::ranges::any_of(kLinkTraits, [&](std::string_view key) { return in.has(std::string(key)); });
  for (const Reader& row : traits && !in.has("tables") ? std::vector<Reader>{} : in.at("tables").items()) {
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
