// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/measured.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/fingerprint.h"
#include "core/int_indexed.h"

namespace draftline {

static constexpr int kSchema = 1;
static constexpr double kLeastTime = 1e-12, kMostTime = 1e6;  // seconds

int MeasuredPoint::at(const std::string& name) const {
  const auto it = shape.find(name);
  if (it == shape.end()) throw InputErrors("a measured " + op + " without \"" + name + "\"");
  return it->second;
}

int MeasuredPoint::at(const std::string& name, int otherwise) const {
  const auto it = shape.find(name);
  return it == shape.end() ? otherwise : it->second;
}

double Measured::of_machine(const std::string& name) const {
  const auto it = machine.find(name);
  if (it == machine.end()) throw InputErrors(file.string() + "#/machine: missing key \"" + name + "\"");
  return it->second;
}

// What the shape of each op consists of; "0": may be none.
struct ShapeOf {
  std::string_view op;
  std::vector<std::pair<std::string_view, int>> least, optional = {};
};
static const std::vector<ShapeOf>& shapes() {
  static const std::vector<ShapeOf> all{
      {"gemm", {{"rows", 1}, {"in", 1}, {"out", 1}, {"copies", 1}}, {{"pause_us", 1}}},  // before each product
      {"attention",
       {{"sequences", 1}, {"rows", 1}, {"context", 0}, {"heads", 1}, {"kv_heads", 1}, {"head_dim", 1}, {"tree", 0}},
       {{"copies", 1},
        {"reuse_kib", 1}}},  // of the cache, through which a probe rotates; other data accessed before each turn
      {"latent_attention",
       {{"sequences", 1}, {"rows", 1}, {"context", 0}, {"heads", 1}, {"rank", 1}, {"rope", 1}, {"copies", 1}}},
      {"experts", {{"rows", 1}, {"hidden", 1}, {"intermediate", 1}, {"experts", 1}, {"per_token", 1}, {"copies", 1}}},
      {"add", {{"rows", 1}, {"columns", 1}}},
      {"rms_norm", {{"rows", 1}, {"columns", 1}}},
      {"silu_mul", {{"rows", 1}, {"columns", 1}}},
      {"argmax", {{"rows", 1}, {"columns", 1}}},
      {"top_k", {{"rows", 1}, {"columns", 1}, {"k", 1}}},
      {"sample", {{"rows", 1}, {"columns", 1}}, {{"percent", 1}}},  // of the nucleus; none: all
      {"rope_append",
       {{"rows", 1}, {"heads", 1}, {"kv_heads", 1}, {"head_dim", 1}},  // rows: of a sequence
       {{"sequences", 1}, {"copies", 1}, {"reuse_kib", 1}}},  // layers in turn; other data accessed before each turn
      {"step_host", {{"layers", 1}, {"sequences", 1}, {"ops", 1}}},
      {"segment_host", {{"ops", 1}}},
      {"clock_reference", {}},  // a fixed piece of work: its time tells the clock to which a CPU's times are normalised
      {"memory_reference", {{"kib", 1}}},  // weights that fit the LLC, or do not, read at many times of the probe
      {"read", {{"kib", 1}}},
      {"copy", {{"kib", 1}}},
      // The host's part on a GPU: to launch one of so many kernels; a graph of them, or a row of them, and waiting for
      // it; to read so many bytes back.
      {"launch", {{"kernels", 1}}},
      {"graph", {{"kernels", 1}}},
      {"synchronise", {{"kernels", 1}}},
      {"read_back", {{"bytes", 1}}},
      {"upload", {{"bytes", 1}}},
      // Device time of a kernel among so many: launched one by one, or nodes of a graph.
      {"kernel_launched", {{"kernels", 1}}},
      {"kernel_replayed", {{"kernels", 1}}},
      // A sum of a message over so many GPUs.
      {"all_reduce", {{"ranks", 2}, {"kib", 1}}},
      // A layer of a decoder on a GPU, whose kernels follow one another as in a step.
      {"layer",
       {{"hidden", 1},
        {"heads", 1},
        {"kv_heads", 1},
        {"head_dim", 1},
        {"intermediate", 1},
        {"sequences", 1},
        {"context", 1}}},
      // Two ops of a decoder's step on a GPU, with or without graphs: the host's time to launch its kernels, and the
      // time that the GPU waits for the host.
      {"step_issue", {{"layers", 1}, {"sequences", 1}, {"ops", 1}, {"graphs", 0}}},
      {"step_exposed", {{"layers", 1}, {"sequences", 1}, {"ops", 1}, {"graphs", 0}}}};
  return all;
}

static Seconds read_time(const Reader& in) {
  constexpr Seconds kLeast{kLeastTime}, kMost{kMostTime};
  const auto t = in.quantity<Seconds>();
  if (t < kLeast || kMost < t) in.fail("is no time that an op can take");
  return std::clamp(t, kLeast, kMost);
}

// What the sizes of a shape must keep between them.
static void check_sizes(const MeasuredPoint& p, const Reader& shape) {
  constexpr double kMostRows = 1 << 24, kMostRowsOfHeads = 1LL << 34;
  const auto size = [&](const char* name) { return 1.0 * p.at(name); };
  if (p.op == "attention" || p.op == "latent_attention") {
    const double rows = size("sequences") * size("rows");
    if (rows > kMostRows || rows * size("heads") > kMostRowsOfHeads) shape.fail("has too many rows");
  }
  if (p.op == "experts" && size("per_token") > size("experts"))
    shape.at("per_token").fail("must not be more than the layer's experts");
}

static MeasuredPoint read_point(const Reader& in) {
  constexpr int kMost = 1 << 24;
  MeasuredPoint p;
  p.op = in.at("op").text();
  if (p.op == "yardstick") p.op = "clock_reference";  // as files of before call it
  const auto known = std::find_if(shapes().begin(), shapes().end(), [&](const ShapeOf& s) { return s.op == p.op; });
  const Reader shape = in.at("shape");
  if (known == shapes().end()) {
    in.at("op").fail("no such op is measured");
    shape.entries();
  } else {
    for (const auto& [name, least] : known->least) p.shape[std::string(name)] = shape.at(name).integer(least, kMost);
    for (const auto& [name, least] : known->optional) {
      auto value = shape.find(name);
      if (!value && name == "reuse_kib" && shape.has("met_kib")) value = shape.find("met_kib");  // in files of before
      if (value) p.shape[std::string(name)] = value->integer(least, kMost);
    }
    shape.done();
    check_sizes(p, shape);
  }
  if (!read_skipped(in, p.skipped, p.device_failed)) {
    p.median = read_time(in.at("median"));
    p.low = read_time(in.at("low"));
    p.high = read_time(in.at("high"));
    if (p.low > p.median || p.median > p.high) in.at("median").fail("must lie between low and high");
    p.samples = in.at("samples").positive_int();
    p.discarded = in.at("discarded").integer(0);
    p.memory = read_memory_times(in);
  }
  in.done();
  return p;
}

void Provenance::must_go_on(const Provenance& before, const std::filesystem::path& file) const {
  if (before.device != device || before.title != title)
    throw InputErrors(file.string() + ": was measured on " + before.title + "; name another --out");
  if (before.commit != commit)
    throw InputErrors(file.string() + ": was measured with another commit (" + before.commit + "); name another --out");
}

std::map<std::string, std::string> named(const InputFiles& files, const std::filesystem::path& data) {
  std::map<std::string, std::string> names;
  for (const auto& [file, fingerprint] : files) names[input_name(file, data)] = to_hex(fingerprint);
  return names;
}

bool read_skipped(const Reader& in, std::string& why, bool& device_failed) {
  constexpr std::string_view kTriedLast = "the next run tries it last: ";  // instead of the key, in files of before
  const auto skipped = in.find("skipped");
  if (!skipped) return false;
  why = skipped->text();
  if (why.empty()) skipped->fail("must say why");
  if (const auto failed = in.find("device_failed")) device_failed = failed->boolean();
  if (why.starts_with(kTriedLast)) {
    device_failed = true;
    why.erase(0, kTriedLast.size());
  }
  return true;
}

void write_skipped(JsonWriter& w, const std::string& why, bool device_failed) {
  w.member("skipped", why);
  if (device_failed) w.member("device_failed", true);
}

std::optional<MemoryTimes> read_memory_times(const Reader& in) {
  const auto memory = in.find("memory_reference");
  if (!memory) return std::nullopt;
  const auto time = [&](const char* level) { return Seconds{memory->at(level).number(kLeastTime, kMostTime)}; };
  const MemoryTimes times{time("llc"), time("memory")};
  memory->done();
  return times;
}

void write_memory_times(JsonWriter& w, const std::optional<MemoryTimes>& times) {
  if (!times) return;
  w.object("memory_reference", [&] {
    w.member("llc", times->llc.value);
    w.member("memory", times->memory.value);
  });
}

Provenance read_provenance(const Reader& in) {
  Provenance m;
  m.device = in.at("device").text();
  m.title = in.at("title").text();
  m.commit = in.at("commit").text();
  m.source = in.at("source").text();
  m.locator = in.at("locator").text();
  for (const Reader& a : in.at("arguments").items()) m.arguments.push_back(a.text());
  if (const auto model = in.find("model")) m.model = model->text();
  if (const auto files = in.find("input_files"))
    for (const auto& [name, fingerprint] : files->entries()) m.input_files[name] = fingerprint.text();
  static const std::map<std::string, std::string> kNewNames{
      {"first_cache", "l1_cache"}, {"second_cache", "l2_cache"}, {"last_cache", "last_level_cache"}};
  for (const auto& [name, value] : in.at("machine").entries()) {
    const auto renamed = kNewNames.find(name);  // files of before
    m.machine[renamed == kNewNames.end() ? name : renamed->second] =
        value.number(name.ends_with("cache") ? 1 : 0, 1e18);
  }
  return m;
}

void write_provenance(JsonWriter& w, const Provenance& m) {
  w.member("device", m.device);
  w.member("title", m.title);
  w.member("commit", m.commit);
  if (!m.model.empty()) {
    w.member("model", m.model);
    w.object("input_files", [&] {
      for (const auto& [name, fingerprint] : m.input_files) w.member(name, fingerprint);
    });
  }
  w.member("source", m.source);
  w.member("locator", m.locator);
  w.list("arguments", m.arguments);
  w.object("machine", [&] {
    for (const auto& [name, value] : m.machine) w.member(name, value);
  });
}

Measured read_measured(Reader in) {
  Measured m;
  m.file = in.file();
  if (in.at("schema_version").integer() != kSchema)
    in.at("schema_version").fail("this draftline reads measured files of schema 1");
  static_cast<Provenance&>(m) = read_provenance(in);
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
  write_provenance(w, m);
  const auto seconds = [](Seconds t) { return significant(t.value * 1e6, 5) + " us"; };
  w.objects("points", m.points, [&](const MeasuredPoint& p) {
    w.member("op", p.op);
    w.object("shape", [&] {
      for (const auto& [name, value] : p.shape) w.member(name, value);
    });
    if (!p.skipped.empty()) {
      write_skipped(w, p.skipped, p.device_failed);
    } else {
      w.member("median", seconds(p.median));
      w.member("low", seconds(p.low));
      w.member("high", seconds(p.high));
      w.member("samples", p.samples);
      w.member("discarded", p.discarded);
      write_memory_times(w, p.memory);
    }
  });
  w.end_object();
  w.finish();
}

}  // namespace draftline
