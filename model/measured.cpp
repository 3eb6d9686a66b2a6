// SPDX-License-Identifier: Apache-2.0
#include "model/measured.h"

#include <set>

#include "core/json_writer.h"

namespace draftline {

static constexpr int kSchema = 1;

int MeasuredPoint::at(const std::string& name) const {
  const auto it = shape.find(name);
  if (it == shape.end()) throw InputErrors("a measured " + op + " without \"" + name + "\"");
  return it->second;
}

double Measured::of_machine(const std::string& name) const {
  const auto it = machine.find(name);
  if (it == machine.end()) throw InputErrors(file.string() + "#/machine: missing key \"" + name + "\"");
  return it->second;
}

static MeasuredPoint read_point(const Reader& in) {
  MeasuredPoint p;
  p.op = in.at("op").text();
  for (const auto& [name, value] : in.at("shape").entries()) p.shape[name] = value.integer(0, 1 << 30);
  if (const auto why = in.find("skipped")) {
    p.skipped = why->text();
    if (p.skipped.empty()) why->fail("must say why");
  } else {
    p.median = in.at("median").quantity<Seconds>();
    p.low = in.at("low").quantity<Seconds>();
    p.high = in.at("high").quantity<Seconds>();
    if (p.low > p.median || p.median > p.high) in.at("median").fail("must lie between low and high");
    p.samples = in.at("samples").positive_int();
    p.discarded = in.at("discarded").integer(0);
  }
  in.done();
  return p;
}

Measured read_measured(Reader in) {
  Measured m;
  m.file = in.file();
  if (in.at("schema_version").integer() != kSchema)
    in.at("schema_version").fail("this draftline reads measured files of schema 1");
  m.device = in.at("device").text();
  m.title = in.at("title").text();
  m.commit = in.at("commit").text();
  m.source = in.at("source").text();
  m.locator = in.at("locator").text();
  for (const Reader& a : in.at("arguments").items()) m.arguments.push_back(a.text());
  for (const auto& [name, value] : in.at("machine").entries()) m.machine[name] = value.number(0, 1e18);
  std::set<std::pair<std::string, std::map<std::string, int>>> seen;
  for (const Reader& item : in.at("points").items()) {
    m.points.push_back(read_point(item));
    if (!seen.emplace(m.points.back().op, m.points.back().shape).second) item.fail("this shape was measured before");
  }
  in.done();
  return m;
}

void write_measured(std::ostream& out, const Measured& m) {
  JsonWriter w(out);
  w.begin_object();
  w.member("schema_version", kSchema);
  w.member("device", m.device);
  w.member("title", m.title);
  w.member("commit", m.commit);
  w.member("source", m.source);
  w.member("locator", m.locator);
  w.key("arguments");
  w.begin_array();
  for (const auto& a : m.arguments) w.value(a);
  w.end_array();
  w.key("machine");
  w.begin_object();
  for (const auto& [name, value] : m.machine) w.member(name, value);
  w.end_object();
  w.key("points");
  w.begin_array();
  const auto seconds = [](Seconds t) { return significant(t.value * 1e6, 5) + " us"; };
  for (const MeasuredPoint& p : m.points) {
    w.begin_object();
    w.member("op", p.op);
    w.key("shape");
    w.begin_object();
    for (const auto& [name, value] : p.shape) w.member(name, value);
    w.end_object();
    if (!p.skipped.empty()) {
      w.member("skipped", p.skipped);
    } else {
      w.member("median", seconds(p.median));
      w.member("low", seconds(p.low));
      w.member("high", seconds(p.high));
      w.member("samples", p.samples);
      w.member("discarded", p.discarded);
    }
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.finish();
}

}  // namespace draftline
