// SPDX-License-Identifier: Apache-2.0
// The device file of a GPU from its measured kernels, or from tables of others.
#include <algorithm>
#include <array>
#include <map>

#include "core/quantity_text.h"
#include "model/calibration/calibrated_block.h"
#include "model/calibration/table_folder.h"
#include "model/calibration/transferred_fits.h"
#include "model/engines/engine.h"

namespace draftline {

namespace {

// The profile with the rules of the tables' vLLM, by which its all-reduce chose an algorithm.
std::filesystem::path engine_of_tables(const std::filesystem::path& data) {
  return data / "engines" / "vllm-0.19.json";
}

OrderedJson group_of(int ranks) { return {{"ranks", ranks}, {"points", OrderedJson::array()}}; }

OrderedJson table_of(const LinkCalibration& c, const CalibrationInput& o) {
  constexpr int kDigits = 6;  // of points as they were measured
  const auto collective = name_of(kCollectives, c.table.collective);
  OrderedJson table{{"library", c.table.library}, {"collective", collective}};
  table.update(certificate(o, c.quality, false));
  table["kind"] = "measured";
  OrderedJson& groups = table["groups"] = OrderedJson::array();
  for (const LinkPoint& p : c.table.points) {
    if (groups.empty() || groups.back().at("ranks") != p.ranks) groups.push_back(group_of(p.ranks));
    groups.back()["points"].push_back(
        OrderedJson{{"message", std::to_string(static_cast<std::int64_t>(p.message.value)) + " B"},
                    {"time", significant(p.time.value * 1e6, kDigits) + " us"}});
  }
  return table;
}

bool same_call(const OrderedJson& known, const OrderedJson& measured) {
  return known.at("library") == measured.at("library") && known.at("collective") == measured.at("collective");
}

// The groups of a known table with fewer, or with more, ranks than any that was measured; no groups: null.
OrderedJson rest_of(OrderedJson known, const OrderedJson& measured, bool fewer) {
  const auto outside = [&](const OrderedJson& group) {
    const OrderedJson& groups = measured.at("groups");
    return std::all_of(groups.begin(), groups.end(), [&](const OrderedJson& g) {
      return fewer ? group.at("ranks") < g.at("ranks") : group.at("ranks") > g.at("ranks");
    });
  };
  OrderedJson kept = OrderedJson::array();
  for (const OrderedJson& group : known.at("groups"))
    if (outside(group)) kept.push_back(group);
  if (kept.empty()) return nullptr;
  known["groups"] = kept;
  return known;
}

// The device's links with what was measured in place of what was known of as many ranks. A call is priced by the first
// table of its library that knows enough ranks, so smaller groups stand first; tables of other libraries come last, as
// an engine's rule names those that it wants.
OrderedJson links_of(const GpuCalibration& c, const CalibrationInput& o, const OrderedJson& known) {
  OrderedJson links;
  for (const std::string_view key : kLinkTraits)
    if (known.contains(key)) links[std::string(key)] = known.at(std::string(key));
  const OrderedJson before = known.value("tables", OrderedJson::array());
  OrderedJson& tables = links["tables"] = OrderedJson::array();
  std::vector<OrderedJson> measured;
  for (const LinkCalibration& l : c.links) measured.push_back(table_of(l, o));
  const auto add_rest = [&](const OrderedJson& table, bool fewer) {
    for (const OrderedJson& old : before)
      if (same_call(old, table))
        if (OrderedJson rest = rest_of(old, table, fewer); !rest.is_null()) tables.push_back(std::move(rest));
  };
  const auto add_measured = [&] {
    for (const OrderedJson& table : measured) {
      add_rest(table, true);
      tables.push_back(table);
      add_rest(table, false);
    }
  };
  const bool of_library = !o.library.empty();  // only for engines that name it: it stands behind the others
  if (!of_library) add_measured();
  for (const OrderedJson& old : before)
    if (std::none_of(measured.begin(), measured.end(), [&](const OrderedJson& m) { return same_call(old, m); }))
      tables.push_back(old);
  if (of_library) add_measured();
  return links;
}

OrderedJson attention_kernels(const CalibrationInput& o, const GpuCalibration& c) {
  OrderedJson kernels = OrderedJson::array();
  for (const AttentionCalibration& a : c.attention) {
    OrderedJson kernel;
    if (!a.fit.library.empty()) kernel["library"] = a.fit.library;
    kernel["cache"] = name(a.fit.cache);
    if (a.fit.form != AttentionForm::ordinary) kernel["form"] = name_of(kAttentionForms, a.fit.form);
    OrderedJson decode = certificate(o, a.of_decode, o.library.empty()), prefill = certificate(o, a.of_prefill, false);
    add_fields(decode, a.fit.decode, in_us);
    prefill["layout"] = name_of(kHeadLayouts, a.fit.prefill.layout);
    add_fields(prefill, a.fit.prefill, in_us);
    if (a.fit.prefill.layout != HeadLayout::swapped) prefill.erase("per_key");
    if (a.fit.prefill.layout != HeadLayout::stacked)
      for (const char* name : {"per_stage", "per_tile_row", "per_part_row", "per_part"}) prefill.erase(name);
    kernel["decode"] = decode;
    kernel["prefill"] = prefill;
    kernels.push_back(kernel);
  }
  return kernels;
}

bool same_kernel(const OrderedJson& a, const OrderedJson& b) {
  const auto same = [&](const char* key) { return a.value(key, "") == b.value(key, ""); };
  return same("library") && same("cache") && same("form");
}

// The kernels of a file that stay beside those that were measured: of latent attention, unless it was measured, and for
// the fits of another library all that were not measured. These stand first, because the first stands for any other.
OrderedJson with_known_kernels(const OrderedJson& known, OrderedJson measured, bool of_library) {
  OrderedJson before = OrderedJson::array(), behind = OrderedJson::array();
  const auto any = [&](const auto& is) { return std::any_of(measured.begin(), measured.end(), is); };
  const bool has_latent = any([](const OrderedJson& m) { return m.contains("form"); });
  for (const OrderedJson& kernel : known) {
    const bool latent = kernel.contains("form") || kernel.contains("borrowed_from");
    if (latent && !has_latent) behind.push_back(kernel);
    else if (!latent && of_library && !any([&](const OrderedJson& m) { return same_kernel(m, kernel); }))
      before.push_back(kernel);
  }
  for (OrderedJson& kernel : measured) before.push_back(std::move(kernel));
  for (OrderedJson& kernel : behind) before.push_back(std::move(kernel));
  return before;
}

// What was not measured stays as the device's file has it, or as it was transferred from a relative.
void put_fits(OrderedJson& fits, const CalibrationInput& o, const GpuCalibration& c) {
  const auto block_of = [&](const std::string& key, const FitQuality& quality, bool with_spread) -> OrderedJson& {
    OrderedJson& of_library = o.library.empty() ? fits : fits["libraries"][o.library];
    return of_library[key] = certificate(o, quality, with_spread);
  };
  const auto put = [&](const std::string& key, const FitQuality& quality, const auto& fit) {
    OrderedJson& block = block_of(key, quality, o.library.empty());
    add_fields(block, fit, in_us);
    if constexpr (requires { fit.tiles; })
      if (fit.tiles != GemmTiles::fastest) block["tiles"] = name_of(kGemmTiles, fit.tiles);
  };
  if (c.gemm) put("gemm", c.of_gemm, *c.gemm);
  if (!c.attention.empty()) {
    OrderedJson attention{{"kernels", attention_kernels(o, c)}};
    if (const auto known = fits.find("attention"); known != fits.end()) {
      if (known->contains("kernels"))
        attention["kernels"] =
            with_known_kernels(known->at("kernels"), std::move(attention["kernels"]), !o.library.empty());
      if (known->contains("other_library")) attention["other_library"] = known->at("other_library");
    }
    fits["attention"] = attention;
    for (const char* unnamed : {"decode_attention", "prefill_attention"}) fits.erase(unnamed);
  }
  if (c.copy) {
    put("copy", c.of_copy, *c.copy);
    if (c.copy->l2_share == 0) fits["copy"].erase("l2_share");
    for (const auto& [name, op] : kElementOps)
      if (const auto& of_op = c.copy->of[op]) add_fields(fits["copy"]["ops"][std::string(name)], *of_op, in_us);
  }
  if (c.experts) put("experts", c.of_experts, *c.experts);
  if (c.delta_net) {
    OrderedJson& block = fits["delta_net"] = certificate(o, c.of_delta_net, false);
    add_fields(block["rule"], c.delta_net->rule, in_us);
    add_fields(block["convolution"], c.delta_net->convolution, in_us);
    add_fields(block["prompt_convolution"], c.delta_net->prompt_convolution, in_us);
    add_fields(block["prompt_rule"], c.delta_net->prompt_rule, in_us);
  }
  if (c.state_space) {
    OrderedJson& block = block_of("state_space", c.of_state_space, false);
    add_fields(block["convolution"], c.state_space->convolution, in_us);
    add_fields(block["prompt_convolution"], c.state_space->prompt_convolution, in_us);
  }
  if (c.residual_streams) {
    OrderedJson& block = fits["residual_streams"] = certificate(o, c.of_residual_streams, false);
    add_fields(block["join"], c.residual_streams->join, in_us);
    add_fields(block["spread"], c.residual_streams->spread, in_us);
  }
  for (const auto& narrow : c.narrow_gemms) put(gemm_key(narrow.format), narrow.quality, narrow.fit);
  for (const auto& narrow : c.narrow_experts) put(experts_key(narrow.format), narrow.quality, narrow.fit);
}

std::vector<FitQuality> qualities(const GpuCalibration& c) {
  std::vector<FitQuality> all;
  if (c.gemm) all.push_back(c.of_gemm);
  for (const AttentionCalibration& a : c.attention) {
    all.push_back(a.of_decode);
    all.push_back(a.of_prefill);
  }
  if (c.copy) all.push_back(c.of_copy);
  if (c.experts) all.push_back(c.of_experts);
  if (c.delta_net) all.push_back(c.of_delta_net);
  if (c.state_space) all.push_back(c.of_state_space);
  if (c.residual_streams) all.push_back(c.of_residual_streams);
  for (const auto& narrow : c.narrow_gemms) all.push_back(narrow.quality);
  for (const auto& narrow : c.narrow_experts) all.push_back(narrow.quality);
  for (const LinkCalibration& l : c.links) all.push_back(l.quality);
  return all;
}

// A device file with the datasheet of --device and fits of its own.
CalibratedDevice calibrated(const CalibrationInput& o, const std::filesystem::path& file, DatasheetFile datasheet,
                            KernelTables tables) {
  const std::filesystem::path shipped = o.data / "devices";
  const GpuCalibration c = calibrate_gpu(tables.times, datasheet.device, o.measured.string());
  CalibratedDevice r{std::move(datasheet.json), qualities(c), {}, std::move(datasheet.files)};
  r.input_files.insert(tables.files.begin(), tables.files.end());
  r.times = std::move(tables.times);
  r.tables = std::move(tables.tables);
  for (const AttentionCalibration& a : c.attention)
    r.regimes.insert(r.regimes.end(), a.regimes.begin(), a.regimes.end());
  OrderedJson& fits = r.device["fits"];
  if (!o.library.empty() && fits.contains("libraries"))  // to which this library is added
    fits["libraries"] = transferred(fits["libraries"], "libraries", file.parent_path(), shipped);
  put_fits(fits, o, c);
  for (const std::string& key : datasheet.transferred)
    if (fits.at(key).contains("borrowed_from"))
      r.transferred.push_back(key + ": not measured, and no fit of " + file.string() + "; that of " +
                              datasheet.relative + " stands in");
  for (auto& [key, block] : fits.items())
    if (!block.contains("same_chip"))  // else the reader suits the relative's fit to the memory
      block = transferred(block, key, file.parent_path(), shipped);
  if (r.device.contains("all_reduce")) {  // the key of before
    r.device["links"] = r.device["all_reduce"];
    r.device.erase("all_reduce");
  }
  OrderedJson links = r.device.value("links", OrderedJson::object());
  links = transferred(std::move(links), "links", file.parent_path(), shipped);
  if (!c.links.empty()) links = links_of(c, o, links.is_null() ? OrderedJson::object() : links);
  if (links.is_null() || links.empty()) r.device.erase("links");
  else r.device["links"] = std::move(links);
  return r;
}

struct OpenedDatasheet {
  std::filesystem::path file;
  DatasheetFile read;
};
OpenedDatasheet open_datasheet(const CalibrationInput& o) {
  if (o.device.empty())
    throw InputErrors("--device: kernel times say nothing of the datasheet; name a device or a device file");
  const std::filesystem::path file = named_or_file(o.device, o.data / "devices");
  OpenedDatasheet opened{file, read_datasheet_file(file, o.data / "devices")};
  if (opened.read.device.cpu() != nullptr)
    throw InputErrors("--device: " + opened.read.device.name + " is a CPU, and " + o.measured.string() +
                      " holds times of a GPU");
  return opened;
}

// The network of step tables, as one rank has it.
std::optional<TransformerShape> network_of(const CalibrationInput& o, InputFiles& files) {
  if (o.transformer.empty()) return {};
  const Document network = Document::from_file(network_file(o.transformer, o.data / "transformers"));
  const auto shape = read_whole(network, read_transformer);
  files.insert(network.root().input_files().begin(), network.root().input_files().end());
  return o.tensor_parallel > 1 ? shard(shape, {.devices = o.tensor_parallel}) : shape;
}

}  // namespace

CalibratedDevice calibrated_gpu(const CalibrationInput& o, const Measured& m) {
  OpenedDatasheet d = open_datasheet(o);
  KernelTables tables{kernel_times(m, d.read.device), {}, {}};
  CalibratedDevice device = calibrated(o, d.file, std::move(d.read), std::move(tables));
  device.device["fits"].erase("power");  // a probe and the decoder run in short turns, below the limit
  return device;
}

CalibratedDevice calibrated_from_tables(const CalibrationInput& o) {
  OpenedDatasheet d = open_datasheet(o);
  const Engine engine = read_file(engine_of_tables(o.data), read_engine);
  const auto network = network_of(o, d.read.files);
  KernelTables tables = read_kernel_tables(o.measured, {d.read.device, engine.links, network});
  return calibrated(o, d.file, std::move(d.read), std::move(tables));
}

}  // namespace draftline
