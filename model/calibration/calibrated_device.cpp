// SPDX-License-Identifier: Apache-2.0
#include "core/files.h"
#include "model/calibration/calibrated_files.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "model/calibration/calibrated_block.h"
#include "model/calibration/cpu_fit.h"

namespace draftline {

std::string in_ns(Seconds t) { return significant(t.value * 1e9, 5) + " ns"; }

namespace {

void add_reach(OrderedJson& to, const CpuByteCost& r) {
  to["l2_byte"] = in_ns(r.byte[0]);
  to["llc_byte"] = in_ns(r.byte[1]);
  to["memory_byte"] = in_ns(r.byte[2]);
  to["cache_share"] = rounded(r.cache_share);
  to["llc_share"] = rounded(r.llc_share);
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
                                                   {"l2", bytes(m.of_machine("last_level_cache"))},
                                                   {"multiprocessors", 1}}});
  OrderedJson& cpu = d["fits"]["cpu"];
  cpu["caches"] = {{"l1", bytes(c.fit.caches[0].value)}, {"l2", bytes(c.fit.caches[1].value)}};
  OrderedJson gemm = certificate(o, c.quality[0]);
  add_fields(gemm, c.fit.gemm, in_ns);
  gemm["co_runner_traffic"] = significant(c.fit.co_runner_traffic.value / 1e9, 4) + " GB/s";
  cpu["gemm"] = gemm;
  OrderedJson attention = certificate(o, c.quality[1]);
  add_fields(attention, c.fit.attention, in_ns);
  cpu["attention"] = attention;
  OrderedJson elementwise = certificate(o, c.elements);
  const CpuElementFit& e = c.fit.elements;
  elementwise["byte"] = in_ns(e.byte);
  elementwise["beyond_l1_byte"] = in_ns(e.beyond_l1_byte);
  elementwise["beyond_l2_byte"] = in_ns(e.beyond_l2_byte);
  elementwise["slow_for"] = in_us(e.slow_for);
  elementwise["slow_clock"] = rounded(e.slow_clock);
  add_reach(elementwise["lines"], e.lines);
  for (const auto& [name, op] : kElementOps) {
    if (std::none_of(c.quality.begin(), c.quality.end(), [name = name](const auto& q) { return q.op == name; }))
      continue;  // not probed
    OrderedJson& one = elementwise["ops"][std::string(name)] = {{"fixed", in_ns(e.of[op].fixed)}};
    if (op != ElementOp::add) one["element"] = in_ns(e.of[op].element);
  }
  cpu["elementwise"] = elementwise;
  return {d, c.quality, {}};
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
  const bool file = name.find('/') != std::string::npos || name.ends_with(".json");
  return file || disk().exists(name) ? std::filesystem::path(name) : folder / (name + ".json");
}

std::filesystem::path network_file(const std::string& name, const std::filesystem::path& folder) {
  const std::filesystem::path file = named_or_file(name, folder);
  return disk().is_folder(file) ? file / "config.json" : file;
}

CalibratedDevice calibrated_device(const CalibrationInput& o, const Measured& m) {
  if (m.device == "cpu") return of_cpu(o, m);
  if (m.device == "cuda") return calibrated_gpu(o, m);
  throw InputErrors(o.measured.string() + "#/device: is \"cpu\" or \"cuda\"");
}

}  // namespace draftline
