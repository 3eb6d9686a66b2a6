// SPDX-License-Identifier: Apache-2.0
// `draftline calibrate`: a measured file, or a folder of public tables, in; a device file out. Prints how well the fit does
// on shapes it has not seen.
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/measuring.h"
#include "core/quantity_text.h"
#include "core/text_file.h"
#include "model/cpu_fit.h"
#include "model/gpu_calibration.h"
#include "model/kernel_tables.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::filesystem::path measured, out, engine_out;
  std::string device, source = "draftline-probe", locator, transformer;
  bool json = false;
};

std::string in_ns(Seconds t) { return significant(t.value * 1e9, 5) + " ns"; }
std::string in_us(Seconds t) { return significant(t.value * 1e6, 4) + " us"; }
double rounded(double x) { return std::stod(significant(x, 4)); }

// The birth certificate of a fitted block, with how sure it is.
Json certificate(const Options& o, const FitQuality& q, bool with_spread = true) {
  Json j{{"kind", "calibrated"}, {"source", o.source}, {"locator", o.locator}};
  j["interval"] = {{"low", std::min(rounded(q.low), 1.0)}, {"high", std::max(rounded(q.high), 1.0)}};
  if (!with_spread) return j;
  for (std::size_t i = 0; i < q.spread.names.size(); ++i) {
    Json row = Json::array();
    for (const double x : q.spread.covariance[i]) row.push_back(std::stod(significant(x, 3)));
    j["covariance"][q.spread.names[i]] = row;
  }
  return j;
}

// Indented, but lists of numbers, and what is short, on one line.
std::string text_of(const Json& j) {
  constexpr std::size_t kShort = 100;
  const std::string wide = j.dump(2);
  std::string text;
  for (std::size_t i = 0; i < wide.size();) {
    const std::size_t end = wide[i] == '[' || wide[i] == '{' ? wide.find_first_of("]}[{", i + 1) : std::string::npos;
    std::string line;
    if (end != std::string::npos && (wide[end] == ']' || wide[end] == '}'))
      for (std::size_t at = i; at <= end; ++at) {
        if (wide[at] != '\n') line += wide[at];
        else if (const auto next = wide.find_first_not_of(" \n", at); next < end)
          line += line.size() > 1 ? " " : "", at = next - 1;
        else at = end - 1;
      }
    const bool numbers = line.find('"') == std::string::npos;
    if (line.empty() || (line.size() > kShort && !numbers)) text += wide[i++];
    else text += line, i = end + 1;
  }
  return text + "\n";
}

struct Result {
  Json device;
  std::vector<FitQuality> quality;
};

void add_reach(Json& to, const CpuReach& r) {
  to["beyond_first_byte"] = in_ns(r.beyond_byte[0]);
  to["beyond_second_byte"] = in_ns(r.beyond_byte[1]);
  to["beyond_last_byte"] = in_ns(r.beyond_byte[2]);
  to["cache_share"] = rounded(r.cache_share);
  to["last_share"] = rounded(r.last_share);
}

Result of_cpu(const Options& o, const Measured& m) {
  const CpuCalibration c = calibrate_cpu(m);
  const auto bytes = [](double n) { return std::to_string(static_cast<std::int64_t>(n)) + " B"; };
  const std::string peak = significant(c.peak / 1e9, 4) + " GFLOP/s";
  Json d{{"title", m.title + ", one thread of our own interpreter"}};
  d["datasheet"] = Json::array({Json{{"kind", "measured"},
                                     {"source", o.source},
                                     {"locator", o.locator},
                                     {"peak", {{"fp32", peak}, {"bf16", peak}, {"fp16", peak}}},
                                     {"bandwidth", significant(c.read_bandwidth / 1e9, 4) + " GB/s"},
                                     {"memory", bytes(m.of_machine("memory"))},
                                     {"l2", bytes(m.of_machine("last_cache"))},
                                     {"multiprocessors", 1}}});
  Json& cpu = d["fits"]["cpu"];
  cpu["caches"] = {{"first", bytes(c.fit.caches[0].value)}, {"second", bytes(c.fit.caches[1].value)}};
  Json gemm = certificate(o, c.quality[0]);
  const CpuGemmFit& g = c.fit.gemm;
  gemm["fixed"] = in_ns(g.fixed);
  gemm["tile"] = in_ns(g.tile);
  for (std::size_t i = 0; i < g.step.size(); ++i) gemm["step_" + std::to_string(i + 1)] = in_ns(g.step[i]);
  add_reach(gemm, g.reach);
  gemm["blend"] = rounded(g.blend);
  gemm["inflow"] = significant(c.fit.inflow.value / 1e9, 4) + " GB/s";
  cpu["gemm"] = gemm;
  Json attention = certificate(o, c.quality[1]);
  const CpuAttentionFit& a = c.fit.attention;
  attention["fixed"] = in_ns(a.fixed);
  attention["row"] = in_ns(a.row);
  attention["pair"] = in_ns(a.pair);
  attention["step"] = in_ns(a.step);
  add_reach(attention, a.reach);
  attention["blend"] = rounded(a.blend);
  cpu["attention"] = attention;
  Json elementwise = certificate(o, c.elements);
  const CpuElementFit& e = c.fit.elements;
  elementwise["byte"] = in_ns(e.byte);
  elementwise["far_byte"] = in_ns(e.far_byte);
  for (std::size_t op = 0; op < e.of.size(); ++op) {
    Json& one = elementwise["ops"][std::string(kElementOpNames[op])] = {{"fixed", in_ns(e.of[op].fixed)}};
    if (static_cast<ElementOp>(op) != ElementOp::add) one["element"] = in_ns(e.of[op].element);
  }
  cpu["elementwise"] = elementwise;
  return {d, c.quality};
}

Device device_of(const std::filesystem::path& file) {
  const Document document = Document::from_file(file);
  Device d = read_device(document.root());
  document.finish();
  return d;
}

// The file of a known name, or the file itself.
std::filesystem::path named_or_file(const std::string& name, const std::filesystem::path& folder) {
  if (std::filesystem::exists(name)) return name;
  return folder / (name + ".json");
}

KernelTimes read_tables(const Options& o, const Common& common) {
  KernelTimes times;
  if (std::filesystem::exists(o.measured / "dense.csv")) {
    if (o.transformer.empty()) throw InputErrors("--transformer: step tables need the network they were measured on");
    const Document document = Document::from_file(named_or_file(o.transformer, common.data / "transformers"));
    const TransformerShape shape = read_transformer(document.root());
    document.finish();
    times.gemms = read_step_gemms(o.measured / "dense.csv", shape);
    times.attention = read_step_attention(o.measured / "attention.csv", shape);
  } else {
    times.gemms = read_gemm_table(o.measured / "gemm.csv.gz");
    times.attention = read_decode_table(o.measured / "generation_attention.csv.gz");
    const auto prefill = read_prefill_table(o.measured / "context_attention.csv.gz");
    times.attention.insert(times.attention.end(), prefill.begin(), prefill.end());
  }
  return times;
}

// A block that a device file borrows from a relative beside it becomes that relative's own, so that it may lie anywhere.
Json lent(Json block, const std::string& key, const std::filesystem::path& folder) {
  std::string because;
  while (block.contains("borrowed_from")) {  // no ring: the device was read before
    const std::string relative = block.at("borrowed_from");
    because += (because.empty() ? "of " : "; of ") + relative + ": " + block.at("because").get<std::string>();
    const Json whole = Json::parse(read_text_file(folder / (relative + ".json")));
    block = key == "all_reduce" ? whole.at(key) : whole.at("fits").at(key);
  }
  if (!because.empty()) block["because"] = because;
  return block;
}

// A device file with the datasheet of --device and fits of its own; what was not measured stays as it was there.
Result of_gpu(const Options& o, const Common& common, const Measured* measured) {
  if (o.device.empty())
    throw InputErrors("--device: kernel times say nothing of the datasheet; name a device or a device file");
  const std::filesystem::path file = named_or_file(o.device, common.data / "devices");
  const Device datasheet = device_of(file);
  const GpuCalibration c = calibrate_gpu(measured ? kernel_times(*measured, datasheet) : read_tables(o, common),
                                         datasheet, o.measured.string());
  Result r{Json::parse(read_text_file(file)), {c.of_gemm, c.of_attention}};
  const GemmFit& g = c.gemm;
  Json gemm = certificate(o, c.of_gemm);
  gemm.update(Json{{"fixed", in_us(g.fixed)},
                   {"peak_share", rounded(g.peak_share)},
                   {"bandwidth_share", rounded(g.bandwidth_share)},
                   {"blend", rounded(g.blend)},
                   {"k_loop", in_us(g.k_loop)},
                   {"l2_speed", rounded(g.l2_speed)},
                   {"l2_share", rounded(g.l2_share)},
                   {"split", in_us(g.split)},
                   {"tile_half", rounded(g.tile_half)},
                   {"output_cost", rounded(g.output_cost)},
                   {"latency", in_us(g.latency)},
                   {"wave_softness", rounded(g.wave_softness)}});
  const DecodeAttentionFit& one_row = c.attention.decode;
  Json decode = certificate(o, c.of_attention);
  decode.update(Json{{"fixed", in_us(one_row.fixed)},
                     {"per_unit", in_us(one_row.per_unit)},
                     {"join", in_us(one_row.join)},
                     {"per_root_key", in_us(one_row.per_root_key)},
                     {"bandwidth_share", rounded(one_row.bandwidth_share)},
                     {"l2_speed", rounded(one_row.l2_speed)},
                     {"l2_share", rounded(one_row.l2_share)},
                     {"blend", rounded(one_row.blend)}});
  const PrefillAttentionFit& rows = c.attention.prefill;
  Json prefill = certificate(o, c.of_attention, false);
  prefill.update(Json{{"fixed", in_us(rows.fixed)},
                      {"per_tile", in_us(rows.per_tile)},
                      {"peak_share", rounded(rows.peak_share)},
                      {"bandwidth_share", rounded(rows.bandwidth_share)},
                      {"write_share", rounded(rows.write_share)},
                      {"per_row", in_us(rows.per_row)},
                      {"blend", rounded(rows.blend)},
                      {"wave_softness", rounded(rows.wave_softness)},
                      {"packed", rows.packed}});
  Json& fits = r.device["fits"];
  fits["gemm"] = gemm;
  fits["decode_attention"] = decode;
  fits["prefill_attention"] = prefill;
  if (c.copy) {
    r.quality.push_back(c.of_copy);
    Json copy = certificate(o, c.of_copy);
    copy.update(Json{{"fixed", in_us(c.copy->fixed)}, {"bandwidth_share", rounded(c.copy->bandwidth_share)}});
    fits["copy"] = copy;
  }
  for (auto& [key, block] : fits.items()) block = lent(block, key, file.parent_path());
  if (r.device.contains("all_reduce"))
    r.device["all_reduce"] = lent(r.device["all_reduce"], "all_reduce", file.parent_path());
  return r;
}

Measured read_file(const std::filesystem::path& file) {
  const Document document = Document::from_file(file);
  Measured m = read_measured(document.root());
  document.finish();
  return m;
}

Result of_file(const Options& o, const Common& common) {
  const Measured m = read_file(o.measured);
  if (m.device == "cpu") return of_cpu(o, m);
  if (m.device == "cuda") return of_gpu(o, common, &m);
  throw InputErrors(o.measured.string() + "#/device: is \"cpu\" or \"cuda\"");
}

// The profile of our decoder on a processor: one thread is host and device.
Json engine_of(const HostFit& f, const Options& o) {
  const auto measured = [&](Seconds t) {
    return Json{{"value", in_ns(t)}, {"kind", "measured"}, {"source", o.source}, {"locator", o.locator}};
  };
  const auto known = [&](Json value, const char* because) {
    return Json{{"value", std::move(value)},
                {"kind", "default"},
                {"source", o.source},
                {"locator", o.locator},
                {"because", because}};
  };
  Json e{{"name", "draftline-cpu"},
         {"version", "0.1"},
         {"title", "our own decoder on one thread of a processor"},
         {"source", o.source},
         {"locator", o.locator}};
  e["graphs"] = known(false, "an interpreter walks the tape");
  e["overlap"] = known(false, "one thread records, then runs");
  e["issue"] = measured(f.op);
  e["graph_launch"] = measured(f.segment);
  e["step"] = e["step_speculating"] = measured(f.step);
  e["draft_pass"] = known("0 s", "its ops are counted one by one");
  e["token"] = measured(f.token);
  e["sync"] = known("0 s", "what the one thread has written it can read");
  e["ops"] = Json::object();
  return e;
}

}  // namespace

CpuFiles calibrate_cpu_files(const std::filesystem::path& measured, const std::string& source,
                             const std::string& locator) {
  Options o;
  o.measured = measured;
  o.source = source;
  o.locator = locator;
  const Measured m = read_file(measured);
  const Result r = of_cpu(o, m);
  CpuFiles files{text_of(r.device), "", r.quality, {}};
  if (std::any_of(m.points.begin(), m.points.end(), [](const MeasuredPoint& p) { return p.op == "step_host"; })) {
    files.host = fit_host(m);
    files.engine = text_of(engine_of(files.host, o));
  }
  return files;
}

namespace {

int calibrate(Options o, const Common& common) {
  const bool tables = std::filesystem::is_directory(o.measured);
  if (tables && o.source == "draftline-probe")
    throw InputErrors("--source: say whose tables these are, by a key of data/sources.json");
  if (o.locator.empty()) o.locator = o.measured.lexically_normal().filename().string();
  if (!o.engine_out.empty()) {
    if (tables) throw InputErrors("--engine-out: tables of kernels say nothing of an engine's host");
    write_text_file(o.engine_out, text_of(engine_of(fit_host(read_file(o.measured)), o)));
  }
  const Result r = tables ? of_gpu(o, common, nullptr) : of_file(o, common);
  if (!o.out.empty()) write_text_file(o.out, text_of(r.device));
  for (const FitQuality& q : r.quality)
    for (const std::string& w : q.warnings) std::cerr << q.op << ": " << w << "\n";
  if (o.json || o.out.empty()) {
    std::cout << text_of(r.device);
    if (o.json) return 0;
  }
  Table table({"op", "points", "median error", "mean", "P90", "90 % of times", "of unseen inside"});
  const auto percent = [](double x) { return significant(100 * x) + " %"; };
  for (const FitQuality& q : r.quality)
    if (q.coverage <= 0) table.add({q.op, q.points, "unknown", "unknown", "unknown", "unknown", "unknown"});
    else
      table.add({q.op, q.points, percent(q.median), percent(q.mean), percent(q.p90),
                 significant(q.low) + " to " + significant(q.high), percent(q.coverage)});
  (o.out.empty() ? std::cerr : std::cout) << table.to_text(static_cast<std::size_t>(terminal_width()));
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("calibrate", "fits a device to what was measured; prints its errors on unseen shapes");
  auto o = std::make_shared<Options>();
  verb->add_option("measured", o->measured, "a measured file (draftline probe), or a folder of kernel tables")
      ->required()
      ->check(CLI::ExistingPath);
  verb->add_option("--out", o->out, "the device file to write; none: standard output");
  verb->add_option("--engine-out", o->engine_out, "also writes the profile of our own decoder's host");
  verb->add_option("--device", o->device, "of a GPU: the device, or device file, whose datasheet holds");
  verb->add_option("--transformer", o->transformer, "for step tables: the network they were measured on");
  verb->add_option("--source", o->source, "key of data/sources.json that the fits name")->capture_default_str();
  verb->add_option("--locator", o->locator, "where in that source; the measured file's name if not given");
  verb->add_flag("--json", o->json, "the device file alone on standard output");
  verb->footer("Example: draftline probe --out cpu.json && draftline calibrate cpu.json --out my-cpu.json");
  verb->callback([o, &chosen] { chosen = [o](const Common& c) { return calibrate(*o, c); }; });
}

}  // namespace draftline::cli
