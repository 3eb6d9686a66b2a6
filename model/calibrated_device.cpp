// SPDX-License-Identifier: Apache-2.0
#include "model/calibrated_files.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "core/text_file.h"
#include "model/cpu_fit.h"
#include "model/kernel_tables.h"

namespace draftline {

std::string in_ns(Seconds t) { return significant(t.value * 1e9, 5) + " ns"; }

namespace {

std::string in_us(Seconds t) { return significant(t.value * 1e6, 4) + " us"; }
double rounded(double x) { return std::stod(significant(x, 4)); }

// The birth certificate of a fitted block, with how sure it is.
OrderedJson certificate(const CalibrationInput& o, const FitQuality& q, bool with_spread = true) {
  OrderedJson j{{"kind", "calibrated"}, {"source", o.source}, {"locator", o.locator}};
  j["interval"] = {{"low", std::min(rounded(q.low), 1.0)}, {"high", std::max(rounded(q.high), 1.0)}};
  if (!with_spread) return j;
  for (std::size_t i = 0; i < q.spread.names.size(); ++i) {
    OrderedJson row = OrderedJson::array();
    for (const double x : q.spread.covariance[i]) row.push_back(std::stod(significant(x, 3)));
    j["covariance"][q.spread.names[i]] = row;
  }
  return j;
}

void add_reach(OrderedJson& to, const CpuReach& r) {
  to["second_byte"] = in_ns(r.byte[0]);
  to["last_byte"] = in_ns(r.byte[1]);
  to["memory_byte"] = in_ns(r.byte[2]);
  to["cache_share"] = rounded(r.cache_share);
  to["last_share"] = rounded(r.last_share);
}

CalibratedDevice of_cpu(const CalibrationInput& o, const Measured& m) {
  const CpuCalibration c = calibrate_cpu(m);
  const auto bytes = [](double n) { return std::to_string(static_cast<std::int64_t>(n)) + " B"; };
  const std::string peak = significant(c.peak / 1e9, 4) + " GFLOP/s";
  OrderedJson d{{"title", m.title + ", one thread of our own interpreter"}};
  d["datasheet"] = OrderedJson::array({OrderedJson{{"kind", "measured"},
                                                   {"source", o.source},
                                                   {"locator", o.locator},
                                                   {"peak", {{"fp32", peak}, {"bf16", peak}, {"fp16", peak}}},
                                                   {"bandwidth", significant(c.read_bandwidth / 1e9, 4) + " GB/s"},
                                                   {"memory", bytes(m.of_machine("memory"))},
                                                   {"l2", bytes(m.of_machine("last_cache"))},
                                                   {"multiprocessors", 1}}});
  OrderedJson& cpu = d["fits"]["cpu"];
  cpu["caches"] = {{"first", bytes(c.fit.caches[0].value)}, {"second", bytes(c.fit.caches[1].value)}};
  OrderedJson gemm = certificate(o, c.quality[0]);
  const CpuGemmFit& g = c.fit.gemm;
  gemm["fixed"] = in_ns(g.fixed);
  gemm["tile"] = in_ns(g.tile);
  for (std::size_t i = 0; i < g.step.size(); ++i) gemm["step_" + std::to_string(i + 1)] = in_ns(g.step[i]);
  add_reach(gemm, g.reach);
  gemm["blend"] = rounded(g.blend);
  gemm["inflow"] = significant(c.fit.inflow.value / 1e9, 4) + " GB/s";
  cpu["gemm"] = gemm;
  OrderedJson attention = certificate(o, c.quality[1]);
  const CpuAttentionFit& a = c.fit.attention;
  attention["fixed"] = in_ns(a.fixed);
  attention["row"] = in_ns(a.row);
  attention["pair"] = in_ns(a.pair);
  attention["step"] = in_ns(a.step);
  add_reach(attention, a.reach);
  attention["last_start"] = in_ns(a.last_start);
  attention["memory_start"] = in_ns(a.memory_start);
  attention["blend"] = rounded(a.blend);
  cpu["attention"] = attention;
  OrderedJson elementwise = certificate(o, c.elements);
  const CpuElementFit& e = c.fit.elements;
  elementwise["byte"] = in_ns(e.byte);
  elementwise["beyond_first_byte"] = in_ns(e.beyond_first_byte);
  elementwise["far_byte"] = in_ns(e.far_byte);
  elementwise["slow_for"] = in_us(e.slow_for);
  elementwise["slow_clock"] = rounded(e.slow_clock);
  add_reach(elementwise["lines"], e.lines);
  for (std::size_t op = 0; op < e.of.size(); ++op) {
    if (std::none_of(c.quality.begin(), c.quality.end(), [&](const auto& q) { return q.op == kElementOpNames[op]; }))
      continue;  // not probed
    OrderedJson& one = elementwise["ops"][std::string(kElementOpNames[op])] = {{"fixed", in_ns(e.of[op].fixed)}};
    if (static_cast<ElementOp>(op) != ElementOp::add) one["element"] = in_ns(e.of[op].element);
  }
  cpu["elementwise"] = elementwise;
  return {d, c.quality};
}

KernelTimes read_tables(const CalibrationInput& o) {
  KernelTimes times;
  if (std::filesystem::exists(o.measured / "dense.csv")) {
    if (o.transformer.empty()) throw InputErrors("--transformer: step tables need the network they were measured on");
    const auto shape = read_file(named_or_file(o.transformer, o.data / "transformers"), read_transformer);
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
OrderedJson lent(OrderedJson block, const std::string& key, const std::filesystem::path& folder) {
  std::string because;
  while (block.contains("borrowed_from")) {  // no ring: the device was read before
    const std::string relative = block.at("borrowed_from");
    because += (because.empty() ? "of " : "; of ") + relative + ": " + block.at("because").get<std::string>();
    const OrderedJson whole = OrderedJson::parse(read_text_file(folder / (relative + ".json")));
    block = key == "all_reduce" ? whole.at(key) : whole.at("fits").at(key);
  }
  if (!because.empty()) block["because"] = because;
  return block;
}

// The sums over GPUs that were measured, by ranks.
OrderedJson links_of(const GpuCalibration& c, const CalibrationInput& o) {
  OrderedJson links = certificate(o, c.of_all_reduce, false);
  links["kind"] = "measured";
  OrderedJson& groups = links["groups"] = OrderedJson::array();
  int ranks = 0;
  for (const AllReducePoint& p : c.all_reduce) {
    if (p.ranks != ranks) groups.push_back(OrderedJson{{"ranks", ranks = p.ranks}, {"points", OrderedJson::array()}});
    groups.back()["points"].push_back(OrderedJson{
        {"message", std::to_string(static_cast<std::int64_t>(p.message.value)) + " B"}, {"time", in_us(p.time)}});
  }
  return links;
}

// A device file with the datasheet of --device and fits of its own; what was not measured stays as it was there.
CalibratedDevice of_gpu(const CalibrationInput& o, const Measured* measured) {
  if (o.device.empty())
    throw InputErrors("--device: kernel times say nothing of the datasheet; name a device or a device file");
  const std::filesystem::path file = named_or_file(o.device, o.data / "devices");
  const Device datasheet = device_of(file, o.data / "devices");
  const GpuCalibration c =
      calibrate_gpu(measured ? kernel_times(*measured, datasheet) : read_tables(o), datasheet, o.measured.string());
  CalibratedDevice r{OrderedJson::parse(read_text_file(file)), {c.of_gemm, c.of_attention}};
  const GemmFit& g = c.gemm;
  OrderedJson gemm = certificate(o, c.of_gemm);
  gemm.update(OrderedJson{{"fixed", in_us(g.fixed)},
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
  OrderedJson decode = certificate(o, c.of_attention);
  decode.update(OrderedJson{{"fixed", in_us(one_row.fixed)},
                            {"per_unit", in_us(one_row.per_unit)},
                            {"join", in_us(one_row.join)},
                            {"per_root_key", in_us(one_row.per_root_key)},
                            {"bandwidth_share", rounded(one_row.bandwidth_share)},
                            {"l2_speed", rounded(one_row.l2_speed)},
                            {"l2_share", rounded(one_row.l2_share)},
                            {"blend", rounded(one_row.blend)}});
  const PrefillAttentionFit& rows = c.attention.prefill;
  OrderedJson prefill = certificate(o, c.of_attention, false);
  prefill.update(OrderedJson{{"fixed", in_us(rows.fixed)},
                             {"per_tile", in_us(rows.per_tile)},
                             {"peak_share", rounded(rows.peak_share)},
                             {"bandwidth_share", rounded(rows.bandwidth_share)},
                             {"write_share", rounded(rows.write_share)},
                             {"per_row", in_us(rows.per_row)},
                             {"blend", rounded(rows.blend)},
                             {"wave_softness", rounded(rows.wave_softness)},
                             {"packed", rows.packed}});
  OrderedJson& fits = r.device["fits"];
  fits["gemm"] = gemm;
  fits["decode_attention"] = decode;
  fits["prefill_attention"] = prefill;
  if (c.copy) {
    r.quality.push_back(c.of_copy);
    OrderedJson copy = certificate(o, c.of_copy);
    copy.update(OrderedJson{{"fixed", in_us(c.copy->fixed)}, {"bandwidth_share", rounded(c.copy->bandwidth_share)}});
    fits["copy"] = copy;
  }
  if (!c.all_reduce.empty()) {
    r.quality.push_back(c.of_all_reduce);
    r.device["all_reduce"] = links_of(c, o);
  }
  for (auto& [key, block] : fits.items()) block = lent(block, key, file.parent_path());
  if (r.device.contains("all_reduce"))
    r.device["all_reduce"] = lent(r.device["all_reduce"], "all_reduce", file.parent_path());
  return r;
}

}  // namespace

std::string text_of(const OrderedJson& j) {
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

Device device_of(const std::filesystem::path& file, const std::filesystem::path& shipped) {
  return read_file(file, [&](const Reader& in) { return read_device(in, shipped); });
}

std::filesystem::path named_or_file(const std::string& name, const std::filesystem::path& folder) {
  if (std::filesystem::exists(name)) return name;
  return folder / (name + ".json");
}

CalibratedDevice calibrated_device(const CalibrationInput& o, const Measured& m) {
  if (m.device == "cpu") return of_cpu(o, m);
  if (m.device == "cuda") return of_gpu(o, &m);
  throw InputErrors(o.measured.string() + "#/device: is \"cpu\" or \"cuda\"");
}
CalibratedDevice calibrated_from_tables(const CalibrationInput& o) { return of_gpu(o, nullptr); }

}  // namespace draftline
