// SPDX-License-Identifier: Apache-2.0
// `draftline calibrate`: a measured file, or a folder of public tables, in; a device file out. Prints how well the fit does
// on shapes it has not seen.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/fingerprint.h"
#include "core/quantity_text.h"
#include "core/text_file.h"
#include "model/cpu_fit.h"
#include "model/kernel_tables.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::filesystem::path measured, out;
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

Result of_cpu(const Options& o) {
  const Document document = Document::from_file(o.measured);
  const Measured m = read_measured(document.root());
  document.finish();
  if (m.device != "cpu") throw InputErrors(o.measured.string() + "#/device: only \"cpu\" can be calibrated so far");
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
  cpu["gemm"] = gemm;
  Json attention = certificate(o, c.quality[1]);
  const CpuAttentionFit& a = c.fit.attention;
  attention["fixed"] = in_ns(a.fixed);
  attention["row"] = in_ns(a.row);
  attention["pair"] = in_ns(a.pair);
  attention["pair_column"] = in_ns(a.pair_column);
  attention["overlap"] = rounded(a.overlap);
  add_reach(attention, a.reach);
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

std::uint64_t fold_of(int a, int b) {
  Fingerprint f;
  f.add(a);
  f.add(b);
  return f.value() % kFitFolds;
}

// Fits four fifths and notes the rest, five times.
template <class Point, class Fold, class Fit, class Predict>
std::vector<std::vector<double>> left_out(const std::vector<Point>& all, Fold fold, Fit fit, Predict predict) {
  std::vector<std::vector<double>> log_ratio(kFitFolds);
  for (int f = 0; f < kFitFolds; ++f) {
    std::vector<Point> seen, unseen;
    for (const Point& p : all) (fold(p) == static_cast<std::uint64_t>(f) ? unseen : seen).push_back(p);
    if (seen.empty() || unseen.empty()) continue;
    fit(seen);
    for (const Point& p : unseen) log_ratio[static_cast<std::size_t>(f)].push_back(std::log(p.time / predict(p)));
  }
  return log_ratio;
}

Device device_of(const std::filesystem::path& file) {
  const Document document = Document::from_file(file);
  Device d = read_device(document.root());
  document.finish();
  return d;
}

Result of_tables(const Options& o, const Common& common) {
  constexpr std::size_t kMostGemms = 2500, kMostAttention = 4000, kMostInFold = 1500;
  if (o.device.empty())
    throw InputErrors("--device: a folder of tables says nothing of the datasheet; name a device or a device file");
  std::filesystem::path file = o.device;
  if (!std::filesystem::exists(file)) file = common.data / "devices" / (o.device + ".json");
  Device d = device_of(file);
  std::vector<GemmPoint> gemms;
  std::vector<AttentionPoint> attention;
  int copies = kCollectorCopies;
  if (std::filesystem::exists(o.measured / "dense.csv")) {
    if (o.transformer.empty()) throw InputErrors("--transformer: step tables need the network they were measured on");
    std::filesystem::path network = o.transformer;
    if (!std::filesystem::exists(network)) network = common.data / "transformers" / (o.transformer + ".json");
    const Document document = Document::from_file(network);
    const TransformerShape shape = read_transformer(document.root());
    document.finish();
    gemms = read_step_gemms(o.measured / "dense.csv", shape);
    attention = read_step_attention(o.measured / "attention.csv", shape);
    copies = kColdCopies;
  } else {
    gemms = read_gemm_table(o.measured / "gemm.csv.gz");
    attention = read_decode_table(o.measured / "generation_attention.csv.gz");
    const auto prefill = read_prefill_table(o.measured / "context_attention.csv.gz");
    attention.insert(attention.end(), prefill.begin(), prefill.end());
  }
  if (gemms.empty() || attention.empty()) throw InputErrors(o.measured.string() + ": no points in the model's domain");

  Result r;
  FitSpread gemm_spread, attention_spread;
  Device trial = d;
  r.quality.push_back(judged("gemm", left_out(
                                         gemms, [](const GemmPoint& p) { return fold_of(p.out, p.in); },
                                         [&](const std::vector<GemmPoint>& seen) {
                                           trial.fits.gemm = fit_gemm(thinned(seen, kMostInFold), trial, copies);
                                         },
                                         [&](const GemmPoint& p) { return predicted(trial, p, copies); })));
  d.fits.gemm = fit_gemm(thinned(gemms, kMostGemms), d, copies, &gemm_spread);
  r.quality.back().points = static_cast<int>(gemms.size());
  note_spread(r.quality.back(), gemm_spread);
  r.quality.push_back(
      judged("attention", left_out(
                              attention, [](const AttentionPoint& p) { return fold_of(p.heads, p.kv_heads); },
                              [&](const std::vector<AttentionPoint>& seen) {
                                const AttentionFits fits = fit_attention(thinned(seen, kMostInFold), trial);
                                trial.fits.decode = fits.decode;
                                trial.fits.prefill = fits.prefill;
                              },
                              [&](const AttentionPoint& p) { return predicted(trial, p); })));
  const AttentionFits fits = fit_attention(thinned(attention, kMostAttention), d, &attention_spread);
  r.quality.back().points = static_cast<int>(attention.size());
  note_spread(r.quality.back(), attention_spread);

  r.device = Json::parse(read_text_file(file));
  const GemmFit& g = d.fits.gemm;
  Json gemm = certificate(o, r.quality[0]);
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
  Json decode = certificate(o, r.quality[1]);
  decode.update(Json{{"fixed", in_us(fits.decode.fixed)},
                     {"per_unit", in_us(fits.decode.per_unit)},
                     {"join", in_us(fits.decode.join)},
                     {"per_root_key", in_us(fits.decode.per_root_key)},
                     {"bandwidth_share", rounded(fits.decode.bandwidth_share)},
                     {"l2_speed", rounded(fits.decode.l2_speed)},
                     {"l2_share", rounded(fits.decode.l2_share)},
                     {"blend", rounded(fits.decode.blend)}});
  Json prefill = certificate(o, r.quality[1], false);
  prefill.update(Json{{"fixed", in_us(fits.prefill.fixed)},
                      {"per_tile", in_us(fits.prefill.per_tile)},
                      {"peak_share", rounded(fits.prefill.peak_share)},
                      {"bandwidth_share", rounded(fits.prefill.bandwidth_share)},
                      {"write_share", rounded(fits.prefill.write_share)},
                      {"per_row", in_us(fits.prefill.per_row)},
                      {"blend", rounded(fits.prefill.blend)},
                      {"wave_softness", rounded(fits.prefill.wave_softness)},
                      {"packed", fits.prefill.packed}});
  r.device["fits"]["gemm"] = gemm;
  r.device["fits"]["decode_attention"] = decode;
  r.device["fits"]["prefill_attention"] = prefill;
  return r;
}

int calibrate(Options o, const Common& common) {
  const bool tables = std::filesystem::is_directory(o.measured);
  if (tables && o.source == "draftline-probe")
    throw InputErrors("--source: say whose tables these are, by a key of data/sources.json");
  if (o.locator.empty()) o.locator = o.measured.lexically_normal().filename().string();
  const Result r = tables ? of_tables(o, common) : of_cpu(o);
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
  verb->add_option("--device", o->device, "for tables: the device, or device file, whose datasheet holds");
  verb->add_option("--transformer", o->transformer, "for step tables: the network they were measured on");
  verb->add_option("--source", o->source, "key of data/sources.json that the fits name")->capture_default_str();
  verb->add_option("--locator", o->locator, "where in that source; the measured file's name if not given");
  verb->add_flag("--json", o->json, "the device file alone on standard output");
  verb->footer("Example: draftline probe --out cpu.json && draftline calibrate cpu.json --out my-cpu.json");
  verb->callback([o, &chosen] { chosen = [o](const Common& c) { return calibrate(*o, c); }; });
}

}  // namespace draftline::cli
