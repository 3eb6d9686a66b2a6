// SPDX-License-Identifier: Apache-2.0
// Reads and writes the file of measured steps. Unknown keys and values out of range are refused.
#include <nlohmann/json.hpp>

#include "core/int_indexed.h"
#include "core/json_writer.h"
#include "measure/validation.h"

namespace draftline {

namespace {

constexpr int kSchema = 2;
constexpr double kMostTime = 1e6, kMostLength = 1e9, kMostClock = 1e5;

MeasuredTurn read_turn(const Reader& in) {
  MeasuredTurn t;
  t.time = Seconds{in.at("time").number(1e-12, kMostTime)};
  t.length = in.at("length").number(0, kMostLength);
  t.emitted = in.at("emitted").number(0, kMostLength);
  if (const auto steered = in.find("steered"))
    for (const Reader& step : steered->items()) t.steered.push_back(step.integer(0));
  if (const auto clock = in.find("clock_mhz")) t.clock_mhz = clock->number(1, kMostClock);
  in.done();
  return t;
}

MeasuredCell read_cell(const Reader& in) {
  MeasuredCell c;
  c.transformer = in.at("transformer").text();
  c.method = MethodSpec(in.at("method"));
  c.batch_size = in.at("batch_size").integer(1, 1 << 12);
  c.context = in.at("context").integer(1, 1 << 24);
  if (read_skipped(in, c.skipped, c.device_failed)) {
    in.done();
    return c;
  }
  for (const Reader& turn : in.at("plain").items()) c.plain.push_back(read_turn(turn));
  for (const Reader& turn : in.at("turns").items()) c.turns.push_back(read_turn(turn));
  if (c.plain.empty()) in.at("plain").fail("must hold a turn");
  if (c.turns.empty()) in.at("turns").fail("must hold a turn");
  for (const Reader& op : in.at("ops").items()) {
    MeasuredOp o;
    o.key = op.at("op").text();
    o.phase = op.at("phase").value_in(kPhaseNames);
    o.time = Seconds{op.at("time").number(0, kMostTime)};
    o.calls = op.at("calls").number(0, kMostLength);
    op.done();
    c.ops.push_back(std::move(o));
  }
  c.memory = read_memory_times(in);
  if (const auto history = in.find("history"))
    for (const Reader& step : history->items()) {
      auto& answers = c.history.emplace_back();
      for (const Reader& answer : step.items()) {
        auto& values = answers.emplace_back();
        for (const Reader& v : answer.items()) values.push_back(v.integer());
      }
    }
  for (const MeasuredTurn& t : c.turns) {
    if (t.steered.empty() != c.turns.front().steered.empty()) in.at("turns").fail("all of them are steered, or none");
    for (const int step : t.steered)
      if (at(step) >= c.history.size()) in.at("turns").fail("a step that the history lacks");
  }
  in.done();
  return c;
}

void write_turn(JsonWriter& w, const MeasuredTurn& t) {
  w.member("time", t.time.value);
  w.member("length", t.length);
  w.member("emitted", t.emitted);
  if (!t.steered.empty()) w.member("steered", nlohmann::json(t.steered));
  if (t.clock_mhz) w.member("clock_mhz", *t.clock_mhz);
}

}  // namespace

MeasuredSteps read_measured_steps(Reader in) {
  MeasuredSteps m;
  if (in.at("schema_version").integer() != kSchema) in.at("schema_version").fail("this draftline reads schema 2");
  static_cast<Provenance&>(m) = read_provenance(in);
  for (const Reader& cell : in.at("cells").items()) m.cells.push_back(read_cell(cell));
  in.done();
  return m;
}

void write_measured_steps(std::ostream& out, const MeasuredSteps& m) {
  JsonWriter w(out);
  w.begin_object();
  w.member("schema_version", kSchema);
  write_provenance(w, m);
  const auto write = [&](const MeasuredTurn& t) { write_turn(w, t); };
  w.objects("cells", m.cells, [&](const MeasuredCell& c) {
    w.member("transformer", c.transformer);
    w.member("method", c.method.object());
    w.member("batch_size", c.batch_size);
    w.member("context", c.context);
    if (!c.skipped.empty()) {
      write_skipped(w, c.skipped, c.device_failed);
      return;
    }
    write_memory_times(w, c.memory);
    w.objects("plain", c.plain, write);
    w.objects("turns", c.turns, write);
    if (!c.history.empty()) w.member("history", nlohmann::json(c.history));
    w.objects("ops", c.ops, [&](const MeasuredOp& op) {
      w.member("op", op.key);
      w.member("phase", name_of(kPhaseNames, op.phase));
      w.member("time", op.time.value);
      w.member("calls", op.calls);
    });
  });
  w.end_object();
  w.finish();
}

}  // namespace draftline
