// SPDX-License-Identifier: Apache-2.0
#include "model/calibrated_files.h"

#include <algorithm>
#include <map>

#include "core/quantity_text.h"
#include "core/text_file.h"
#include "model/cpu_fit.h"
#include "model/fit_fields.h"
#include "model/gemm_tables.h"
#include "model/kernel_tables.h"

namespace draftline {

std::string in_ns(Seconds t) { return significant(t.value * 1e9, 5) + " ns"; }

namespace {

std::string in_us(Seconds t) { return significant(t.value * 1e6, 4) + " us"; }
double rounded(double x) { return std::stod(significant(x, 4)); }

// The birth certificate of a fitted block, with how sure it is.
OrderedJson certificate(const CalibrationInput& o, const FitQuality& q, bool with_spread = true) {
  OrderedJson j{{"kind", "calibrated"}, {"source", o.source}, {"locator", o.locator}};
  if (q.known) j["interval"] = {{"low", std::min(rounded(q.low), 1.0)}, {"high", std::max(rounded(q.high), 1.0)}};
  if (!with_spread) return j;
  for (std::size_t i = 0; i < q.spread.names.size(); ++i) {
    OrderedJson row = OrderedJson::array();
    for (const double x : q.spread.covariance[i]) row.push_back(std::stod(significant(x, 3)));
    j["covariance"][q.spread.names[i]] = row;
  }
  return j;
}

// Every coefficient of a fit, by its list of them; `time` writes those with a unit.
template <class Fit>
void add_fields(OrderedJson& to, const Fit& fit, std::string (*time)(Seconds)) {
  for (const FitField<Fit>& field : fields_of(fit))
    if (field.unit == FitUnit::ratio) to[field.name] = rounded(field.value(fit));
    else to[field.name] = time(Seconds{field.value(fit)});
}

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
  for (std::size_t op = 0; op < e.of.size(); ++op) {
    if (std::none_of(c.quality.begin(), c.quality.end(), [&](const auto& q) { return q.op == kElementOpNames[op]; }))
      continue;  // not probed
    OrderedJson& one = elementwise["ops"][std::string(kElementOpNames[op])] = {{"fixed", in_ns(e.of[op].fixed)}};
    if (static_cast<ElementOp>(op) != ElementOp::add) one["element"] = in_ns(e.of[op].element);
  }
  cpu["elementwise"] = elementwise;
  return {d, c.quality, {}};
}

// What of a table of expert layers is not used, and why.
std::vector<std::string> left_out(const ExpertTable& t) {
  std::vector<std::string> lines;
  const auto line = [&](int rows, const char* why) {
    if (rows > 0) lines.push_back(std::to_string(rows) + " rows of the table left out: " + why);
  };
  line(t.other_libraries, ("of another library than " + t.library).c_str());
  line(t.expert_parallel, "whole experts divided among devices, which is not modelled");
  line(t.unaligned, "columns that are no multiple of 16, for which kernels have slower paths");
  line(t.not_gated, "faster than three matrices can be read, so the layer has no gate, which no column says");
  return lines;
}

struct Tables {
  KernelTimes times;
  // What was left out, by what was fitted: "experts", "gemm, fp8_block", ...
  std::map<std::string, std::vector<std::string>> left_out;
};

// Formats in which the datasheet has a rate; rows of others are a library's that widens them.
bool has_rate(const Device& d, NarrowFormat f) { return multiplied_in(d, operands_of(f)) == f; }

void read_narrow_gemms(const std::filesystem::path& file, const Device& d, Tables& to) {
  for (const NarrowFormat format : kNarrowFormats) {
    if (!has_rate(d, format)) continue;
    GemmTable table = read_gemm_table(file, format);
    const bool most = table.host_bound > static_cast<int>(table.points.size());
    if (table.host_bound > 0)
      to.left_out[most ? "gemm" : "gemm, " + std::string(name(format))].push_back(
          std::to_string(table.host_bound) + " rows of " + std::string(name(format)) +
          " left out: launched one by one, they show how long the host takes" +
          (most ? ", and too few are left for a fit" : ""));
    if (most) continue;
    to.times.narrow_gemms[static_cast<std::size_t>(format)] = std::move(table.points);
  }
}

void read_experts(const std::filesystem::path& file, const Device& d, Tables& to) {
  ExpertTable wide = read_expert_table(file, d);
  to.left_out["experts"] = left_out(wide);
  to.times.experts = std::move(wide.points);
  for (const NarrowFormat format : kNarrowFormats) {
    if (!has_rate(d, format)) continue;
    ExpertTable table = read_expert_table(file, d, format);
    to.left_out["experts, " + std::string(name(format))] = left_out(table);
    to.times.narrow_experts[static_cast<std::size_t>(format)] = std::move(table.points);
  }
}

Tables read_tables(const CalibrationInput& o, const Device& datasheet, InputFiles& read) {
  Tables tables;
  KernelTimes& times = tables.times;
  const auto table = [&](const char* name) {
    const std::filesystem::path file = o.measured / name;
    read[file] = fingerprint_of_bytes(file);
    return file;
  };
  if (std::filesystem::exists(o.measured / "dense.csv")) {
    if (o.transformer.empty()) throw InputErrors("--transformer: step tables need the network they were measured on");
    const Document network = Document::from_file(named_or_file(o.transformer, o.data / "transformers"));
    const auto shape = read_whole(network, read_transformer);
    read.insert(network.root().input_files().begin(), network.root().input_files().end());
    times.gemms = read_step_gemms(table("dense.csv"), shape);
    times.attention = read_step_attention(table("attention.csv"), shape);
  } else {
    const std::filesystem::path gemms = table("gemm.csv.gz");
    times.gemms = read_gemm_table(gemms).points;
    read_narrow_gemms(gemms, datasheet, tables);
    times.attention = read_decode_table(table("generation_attention.csv.gz"));
    const auto prefill = read_prefill_table(table("context_attention.csv.gz"));
    times.attention.insert(times.attention.end(), prefill.begin(), prefill.end());
    const auto add_latent = [&](const char* name, auto read) {
      if (!std::filesystem::exists(o.measured / name)) return;
      const auto points = read(table(name), datasheet);
      times.attention.insert(times.attention.end(), points.begin(), points.end());
    };
    add_latent("mla_generation_module.csv.gz", read_latent_decode_table);
    add_latent("context_mla.csv.gz", read_latent_prefill_table);
    if (std::filesystem::exists(o.measured / "moe.csv.gz")) read_experts(table("moe.csv.gz"), datasheet, tables);
  }
  return tables;
}

// A block that a device file borrows from a relative, beside it or shipped, becomes that relative's own, so that it may
// lie anywhere.
OrderedJson lent(OrderedJson block, const std::string& key, const std::filesystem::path& folder,
                 const std::filesystem::path& shipped) {
  std::string because;
  while (block.contains("borrowed_from")) {  // no ring: the device was read before
    const std::string relative = block.at("borrowed_from");
    because += (because.empty() ? "of " : "; of ") + relative + ": " + block.at("because").get<std::string>();
    std::error_code none;
    const std::filesystem::path beside = folder / (relative + ".json");
    const OrderedJson whole = OrderedJson::parse(
        read_text_file(std::filesystem::exists(beside, none) ? beside : shipped / (relative + ".json")));
    block = key == "links" ? whole.contains(key) ? whole.at(key) : whole.at("all_reduce") : whole.at("fits").at(key);
  }
  if (!because.empty()) block["because"] = because;
  return block;
}

// The device's links with NCCL's sums over GPUs as they were measured, by ranks. Tables of other libraries stay; they
// come after it, as an engine's rule names those that it wants.
OrderedJson links_of(const GpuCalibration& c, const CalibrationInput& o, const OrderedJson& known) {
  OrderedJson nccl{{"library", "nccl"}, {"collective", "all_reduce"}};
  nccl.update(certificate(o, c.of_all_reduce, false));
  nccl["kind"] = "measured";
  OrderedJson& groups = nccl["groups"] = OrderedJson::array();
  int ranks = 0;
  for (const LinkPoint& p : c.all_reduce) {
    if (p.ranks != ranks) groups.push_back(OrderedJson{{"ranks", ranks = p.ranks}, {"points", OrderedJson::array()}});
    groups.back()["points"].push_back(OrderedJson{
        {"message", std::to_string(static_cast<std::int64_t>(p.message.value)) + " B"}, {"time", in_us(p.time)}});
  }
  OrderedJson links;
  for (const char* key : {"switched", "compute_capability"})
    if (known.contains(key)) links[key] = known.at(key);
  links["tables"] = OrderedJson::array({nccl});
  if (known.contains("tables"))
    for (const OrderedJson& table : known.at("tables"))
      if (table.at("library") != "nccl" || table.at("collective") != "all_reduce") links["tables"].push_back(table);
  return links;
}

OrderedJson attention_kernels(const CalibrationInput& o, const GpuCalibration& c) {
  OrderedJson kernels = OrderedJson::array();
  for (const AttentionCalibration& a : c.attention) {
    OrderedJson kernel;
    if (!a.fit.library.empty()) kernel["library"] = a.fit.library;
    kernel["cache"] = name(a.fit.cache);
    if (a.fit.form != AttentionForm::ordinary)
      kernel["form"] = kAttentionFormNames[static_cast<std::size_t>(a.fit.form)];
    OrderedJson decode = certificate(o, a.of_decode), prefill = certificate(o, a.of_prefill, false);
    add_fields(decode, a.fit.decode, in_us);
    prefill["layout"] = kHeadLayoutNames[static_cast<std::size_t>(a.fit.prefill.layout)];
    add_fields(prefill, a.fit.prefill, in_us);
    if (a.fit.prefill.layout != HeadLayout::swapped) prefill.erase("per_key");
    kernel["decode"] = decode;
    kernel["prefill"] = prefill;
    kernels.push_back(kernel);
  }
  return kernels;
}

// A device file with the datasheet of --device and fits of its own; what was not measured stays as it was there.
CalibratedDevice of_gpu(const CalibrationInput& o, const Measured* measured) {
  if (o.device.empty())
    throw InputErrors("--device: kernel times say nothing of the datasheet; name a device or a device file");
  const std::filesystem::path file = named_or_file(o.device, o.data / "devices");
  const Document document = Document::from_file(file);
  const Device datasheet = read_whole(document, [&](const Reader& in) { return read_device(in, o.data / "devices"); });
  if (datasheet.cpu() != nullptr)
    throw InputErrors("--device: " + datasheet.name + " is a CPU, and " + o.measured.string() +
                      " holds times of a GPU");
  InputFiles read = document.root().input_files();
  const Tables tables = measured ? Tables{kernel_times(*measured, datasheet), {}} : read_tables(o, datasheet, read);
  const GpuCalibration c = calibrate_gpu(tables.times, datasheet, o.measured.string());
  CalibratedDevice r{OrderedJson::parse(read_text_file(file)), {c.of_gemm}, std::move(read)};
  OrderedJson gemm = certificate(o, c.of_gemm);
  add_fields(gemm, c.gemm, in_us);
  OrderedJson& fits = r.device["fits"];
  fits["gemm"] = gemm;
  OrderedJson attention{{"kernels", attention_kernels(o, c)}};
  const bool has_latent = std::any_of(c.attention.begin(), c.attention.end(), [](const AttentionCalibration& a) {
    return a.fit.form != AttentionForm::ordinary;
  });
  if (const auto known = fits.find("attention"); known != fits.end()) {
    if (known->contains("other_library")) attention["other_library"] = known->at("other_library");
    if (known->contains("kernels") && !has_latent)  // those of latent attention stay, or stay borrowed
      for (const OrderedJson& kernel : known->at("kernels"))
        if (kernel.contains("form") || kernel.contains("borrowed_from")) attention["kernels"].push_back(kernel);
  }
  fits["attention"] = attention;
  for (const char* unnamed : {"decode_attention", "prefill_attention"}) fits.erase(unnamed);
  for (const AttentionCalibration& a : c.attention) {
    r.quality.push_back(a.of_decode);
    r.quality.push_back(a.of_prefill);
  }
  if (c.copy) {
    r.quality.push_back(c.of_copy);
    OrderedJson copy = certificate(o, c.of_copy);
    add_fields(copy, *c.copy, in_us);
    fits["copy"] = copy;
  }
  if (c.experts) {
    r.quality.push_back(c.of_experts);
    OrderedJson experts = certificate(o, c.of_experts);
    add_fields(experts, *c.experts, in_us);
    fits["experts"] = experts;
  }
  const auto add_tiles = [](OrderedJson& to, const auto& fit) {
    if constexpr (requires { fit.tiles; })
      if (fit.tiles != GemmTiles::fastest) to["tiles"] = kGemmTilesNames[static_cast<std::size_t>(fit.tiles)];
  };
  const auto add_narrow = [&](const auto& calibrations, std::string (*key)(NarrowFormat)) {
    for (const auto& narrow : calibrations) {
      r.quality.push_back(narrow.quality);
      OrderedJson& block = fits[key(narrow.format)] = certificate(o, narrow.quality);
      add_fields(block, narrow.fit, in_us);
      add_tiles(block, narrow.fit);
    }
  };
  add_narrow(c.narrow_gemms, gemm_key);
  add_narrow(c.narrow_experts, experts_key);
  for (FitQuality& q : r.quality)
    if (const auto lines = tables.left_out.find(q.op); lines != tables.left_out.end())
      q.warnings.insert(q.warnings.end(), lines->second.begin(), lines->second.end());
  const auto own = [&](OrderedJson& block, const std::string& key) {
    block = lent(block, key, file.parent_path(), o.data / "devices");
  };
  for (auto& [key, block] : fits.items()) own(block, key);
  if (r.device.contains("all_reduce")) {  // the key of before
    r.device["links"] = r.device["all_reduce"];
    r.device.erase("all_reduce");
  }
  if (r.device.contains("links")) own(r.device["links"], "links");
  if (!c.all_reduce.empty()) {
    r.quality.push_back(c.of_all_reduce);
    r.device["links"] = links_of(c, o, r.device.value("links", OrderedJson::object()));
  }
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
  std::error_code none;
  const bool file = name.find('/') != std::string::npos || name.ends_with(".json");
  return file || std::filesystem::exists(name, none) ? std::filesystem::path(name) : folder / (name + ".json");
}

CalibratedDevice calibrated_device(const CalibrationInput& o, const Measured& m) {
  if (m.device == "cpu") return of_cpu(o, m);
  if (m.device == "cuda") return of_gpu(o, &m);
  throw InputErrors(o.measured.string() + "#/device: is \"cpu\" or \"cuda\"");
}
CalibratedDevice calibrated_from_tables(const CalibrationInput& o) { return of_gpu(o, nullptr); }

}  // namespace draftline
