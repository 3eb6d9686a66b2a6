// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/table_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "model/calibration/collective_tables.h"
#include "model/calibration/expert_tables.h"
#include "model/calibration/gemm_tables.h"
#include "model/calibration/kernel_tables.h"
#include "model/calibration/residual_streams_fit.h"
#include "model/calibration/state_space_fit.h"

namespace draftline {
namespace {

namespace fs = std::filesystem;

using Read = void (*)(const Csv&, const TableSetting&, KernelTimes&, ExcludedRows&);

void read_narrow_gemms(const Csv& t, const Device& d, KernelTimes& times, ExcludedRows& excluded) {
  for (const NarrowFormat format : kNarrowFormats) {
    if (!has_rate(d, format)) continue;
    GemmTable table = read_gemm_table(t, format, d.l2);
    const bool most = table.host_bound > count(table.points);
    const std::string called(name(format));
    excluded.add("more than 1024 rows, or inputs or outputs outside of the model's domain", table.outside);
    excluded.add(called + " launched one by one, which shows how long the host takes", table.host_bound);
    if (most) excluded.add(called + ", too few for a fit", count(table.points));
    else times.narrow_gemms[at(format)] = std::move(table.points);
  }
}

void read_gemms(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  exclude_formats(t, "gemm_dtype", s.datasheet, excluded);
  GemmTable wide = read_gemm_table(t);
  excluded.add("more than 1024 rows, or inputs or outputs outside of the model's domain", wide.outside);
  times.gemms.insert(times.gemms.end(), wide.points.begin(), wide.points.end());
  read_narrow_gemms(t, s.datasheet, times, excluded);
}

void add(std::vector<AttentionPoint>& to, const std::vector<AttentionPoint>& more) {
  to.insert(to.end(), more.begin(), more.end());
}
void read_decode(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows& excluded) {
  add(times.attention, read_decode_table(t, excluded));
}
void read_prefill(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows& excluded) {
  add(times.attention, read_prefill_table(t, excluded));
}

void read_absorbed(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  add(times.attention, read_absorbed_modules(t, s.datasheet, excluded));
}
void read_latent(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  add(times.attention, read_latent_prompts(t, s.datasheet, excluded));
}

void exclude(const ExpertTable& t, ExcludedRows& excluded) {
  excluded.add("of another library than " + printable(t.library, 100) + ", which has most", t.other_libraries);
  excluded.add("whole experts divided among devices, which no fit uses", t.expert_parallel);
  excluded.add("columns that are no multiple of 16, for which kernels have slower paths", t.unaligned);
  excluded.add("faster than three matrices can be read, so the layer has no gate, which no column says", t.not_gated);
}

void read_experts(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  exclude_formats(t, "moe_dtype", s.datasheet, excluded);
  ExpertTable wide = read_expert_table(t, s.datasheet);
  exclude(wide, excluded);
  times.experts = std::move(wide.points);
  for (const NarrowFormat format : kNarrowFormats) {
    if (!has_rate(s.datasheet, format)) continue;
    ExpertTable narrow = read_expert_table(t, s.datasheet, format);
    exclude(narrow, excluded);
    times.narrow_experts[at(format)] = std::move(narrow.points);
  }
}

constexpr std::string_view kShortConvolutions =
    "a convolution of prompts below 16 tokens, for which the kernel takes another way";
void read_delta_nets(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows& excluded) {
  DeltaNetTable table = read_delta_net_table(t);
  excluded.add(kShortConvolutions, table.short_prompts);
  times.delta_nets = std::move(table.points);
}

void read_state_spaces(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows& excluded) {
  StateSpaceTable table = read_state_space_table(t);
  excluded.add(kShortConvolutions, table.short_prompts);
  times.state_spaces = std::move(table.points);
}

void read_residual_streams(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows&) {
  times.residual_streams = read_residual_streams_table(t);
}

void add(std::vector<LinkTable>& to, std::vector<LinkTable> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}
void read_nccl(const Csv& t, const TableSetting&, KernelTimes& times, ExcludedRows& excluded) {
  add(times.links, read_nccl_table(t, excluded));
}
void read_custom_all_reduce(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  add(times.links, read_custom_all_reduce_table(t, s.datasheet.links, s.rules, excluded));
}

const TransformerShape& network_of(const TableSetting& s) {
  if (!s.of_a_rank) throw InputErrors("--transformer: step tables need the network they were measured on");
  return *s.of_a_rank;
}
void read_dense(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  const auto gemms = read_step_gemms(t, network_of(s), excluded);
  times.gemms.insert(times.gemms.end(), gemms.begin(), gemms.end());
}
void read_steps(const Csv& t, const TableSetting& s, KernelTimes& times, ExcludedRows& excluded) {
  add(times.attention, read_step_attention(t, network_of(s), excluded));
}

// Tables in the order in which they are read, on which it depends which points a fit of many sees.
struct Known {
  std::string_view table;
  Read read;
  std::string_view why_not = {};  // it is not read
};
constexpr std::string_view kShortLatent = "latent attention whose short calls are the host's";
constexpr std::array kKnown{Known{"gemm", read_gemms},
                            Known{"generation_attention", read_decode},
                            Known{"context_attention", read_prefill},
                            Known{"mla_generation_module", read_absorbed},
                            Known{"mla_context_module", read_absorbed},
                            Known{"context_mla", read_latent},
                            Known{"moe", read_experts},
                            Known{"nccl", read_nccl},
                            Known{"custom_allreduce", read_custom_all_reduce},
                            Known{"dense", read_dense},
                            Known{"attention", read_steps},
                            Known{"generation_mla", nullptr, kShortLatent},
                            Known{"gdn", read_delta_nets},
                            Known{"mamba2", read_state_spaces},
                            Known{"mhc_module", read_residual_streams}};

// What a file is a table of: "gemm" of gemm.csv, gemm.csv.gz, gemm_perf.txt and gemm_perf.parquet; none: it is not
// named like a table.
std::optional<std::string> table_name(fs::path file) {
  constexpr std::string_view kSuffix = "_perf";
  if (file.extension() == ".gz") file.replace_extension();
  const std::string form = file.extension().string();
  std::string name = file.stem().string();
  const bool suffixed = name.ends_with(kSuffix);
  if (form != ".csv" && form != ".parquet" && !(form == ".txt" && suffixed)) return {};
  if (suffixed) name.resize(name.size() - kSuffix.size());
  return name;
}

std::map<std::string, fs::path> tables_in(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  for (const fs::path& file : disk().list(folder)) {
    const auto name = disk().is_file(file) ? table_name(file.filename()) : std::nullopt;
    if (!name) continue;
    const auto [known, fresh] = files.emplace(*name, file);
    if (fresh) continue;
    const std::array both{known->second.filename().string(), file.filename().string()};
    throw InputErrors(printable(folder.string(), 1000) + ": " + printable(both[0]) + " and " + printable(both[1]) +
                      " are both tables of " + printable(*name) + "; leave one of them there");
  }
  return files;
}

std::string list_of_known() {
  std::string names;
  for (const Known& k : kKnown)
    if (k.read != nullptr) names += (names.empty() ? "" : ", ") + std::string(k.table);
  return names;
}

// A table that is not used, counted if it can be.
TableRows not_used(const fs::path& file, std::string_view why) {
  TableRows rows{printable(file.filename().string())};
  try {
    rows.rows = static_cast<int>(Csv::from_file(file).rows());
    rows.excluded.add(why, rows.rows);
  } catch (const InputErrors&) { rows.unread = why; }
  return rows;
}

}  // namespace

KernelTables read_kernel_tables(const fs::path& folder, const TableSetting& setting) {
  std::map<std::string, fs::path> files = tables_in(folder);
  KernelTables all;
  bool any = false;
  for (const Known& known : kKnown) {
    const auto found = files.find(std::string(known.table));
    if (found == files.end()) continue;
    const fs::path file = found->second;
    files.erase(found);
    if (known.read == nullptr) {
      all.tables.push_back(not_used(file, known.why_not));
      continue;
    }
    any = true;
    const Csv table = Csv::from_file(file);
    TableRows rows{printable(file.filename().string()), static_cast<int>(table.rows())};
    known.read(table, setting, all.times, rows.excluded);
    all.tables.push_back(std::move(rows));
    add_file(all.files, file);
  }
  if (!any)
    throw InputErrors(printable(folder.string(), 1000) + ": has none of the tables that are known: " + list_of_known() +
                      ", each a .csv file, gzipped or not");
  for (const auto& [name, file] : files)
    all.tables.push_back(not_used(file, "none of the tables that are known: " + list_of_known()));
  return all;
}

}  // namespace draftline
