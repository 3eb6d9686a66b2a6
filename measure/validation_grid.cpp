// SPDX-License-Identifier: Apache-2.0
#include "measure/validation_grid.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace draftline::measure {

namespace {

// A grid has the methods of the grids before it. The standard grid has "variants" at fewer batches.
enum Tier { small, standard, variants, full };
constexpr NamedValues<Tier, 4> kTiers{
    {{"small", small}, {"standard", standard}, {"variants", variants}, {"full", full}}};
constexpr int kMostSequences = 4096, kMostContext = 1 << 20;

struct Grid {
  std::vector<std::string> networks;
  std::vector<int> batches, of_variants;
  bool by_batch = false;  // all methods at one batch before the next, so that too little time leaves out whole batches
  int context = 1;
  struct Long {
    int context = 1, most_sequences = 1;
    Tier methods = small;
  };
  std::optional<Long> with_long;
};

std::vector<int> read_batches(const Reader& in) {
  std::vector<int> all;
  for (const Reader& b : in.items()) all.push_back(b.positive_int(kMostSequences));
  return all;
}

Grid read_grid(const Reader& in) {
  Grid g;
  for (const Reader& n : in.at("networks").items()) g.networks.push_back(n.text());
  g.batches = g.of_variants = read_batches(in.at("batch_sizes"));
  if (const auto by = in.find("by_batch")) g.by_batch = by->boolean();
  g.context = in.at("context").positive_int(kMostContext);
  if (const auto fewer = in.find("variants")) {
    g.of_variants = read_batches(fewer->at("batch_sizes"));
    fewer->done();
  }
  if (const auto more = in.find("long")) {
    g.with_long =
        Grid::Long{more->at("context").positive_int(kMostContext),
                   more->at("most_sequences").positive_int(kMostSequences), more->at("methods").value_in(kTiers)};
    more->done();
  }
  in.done();
  return g;
}

struct GridMethod {
  Tier from;
  MethodSpec method;
};
struct GridFile {
  std::map<std::string, Grid> grids;  // those of one device
  std::map<std::string, std::string> drafts;
  std::vector<GridMethod> methods;
  std::optional<ServingLoad> serving;
};

ServingLoad read_load(const Reader& in) {
  constexpr int kMostTokens = 1 << 16, kMostSlots = 1 << 10;
  ServingLoad load{read_method(in.at("method")), in.at("prompt").integer(2, kMostTokens),
                   in.at("output").integer(4, kMostTokens),
                   in.at("max_num_seqs", "max_batch_size").integer(1, kMostSlots), in.at("load").number(0.01, 10)};
  in.done();
  return load;
}

GridFile read_grids(const Reader& in, std::string_view device) {
  GridFile f;
  in.at("draftline_source").entries();
  for (const auto& [name, of_device] : in.at("devices").entries())
    for (const auto& [kind, grid] : of_device.entries()) {
      const Grid g = read_grid(grid);
      if (name == device) f.grids[kind] = g;
    }
  for (const auto& [target, draft] : in.at("drafts").entries()) f.drafts[target] = draft.text();
  for (const auto& [name, serving] : in.at("serving").entries()) {
    const ServingLoad load = read_load(serving);
    if (name == device) f.serving = load;
  }
  for (const Reader& m : in.at("methods").items()) {
    f.methods.push_back({m.at("from").value_in(kTiers), read_method(m.at("method"))});
    m.done();
  }
  in.done();
  return f;
}
std::filesystem::path file_of_grids(const std::filesystem::path& data) { return data / "validation" / "grid.json"; }
GridFile grids_in(const std::filesystem::path& data, std::string_view device) {
  return read_file(file_of_grids(data), [&](const Reader& in) { return read_grids(in, device); });
}

const std::string& draft_of(const GridFile& f, const std::string& target) {
  const auto found = f.drafts.find(target);
  if (found == f.drafts.end()) throw InputErrors("data/validation/grid.json#/drafts: has none for \"" + target + "\"");
  return found->second;
}

}  // namespace

Networks::Networks(const std::filesystem::path& data) {
  const Document grids = Document::from_file(file_of_grids(data));
  const GridFile grid = read_whole(grids, [](const Reader& in) { return read_grids(in, ""); });
  for (const auto& [target, draft] : grid.drafts)
    for (const std::string& name : {target, draft}) {
      const std::filesystem::path own = data / "validation" / (name + ".json");
      files_[name] = std::filesystem::exists(own) ? own : data / "transformers" / (name + ".json");
      all_[name] = read_file_below(grids.root(), files_[name], read_transformer);
    }
  input_files_ = grids.root().input_files();
}

Decoder::FindTransformer Networks::find() const {
  return [all = all_](const NamedNetwork& draft) {
    const auto found = all.find(draft.name);
    if (found == all.end()) throw InputErrors(draft.place + ": is no network of data/validation/grid.json");
    return found->second;
  };
}

std::vector<GridCell> validation_grid(const std::filesystem::path& data, std::string_view device,
                                      std::string_view kind) {
  const GridFile f = grids_in(data, device);
  const auto found = f.grids.find(std::string(kind));
  if (found == f.grids.end())
    throw InputErrors("data/validation/grid.json#/devices: has no " + std::string(kind) + " grid of " +
                      std::string(device));
  const Grid& grid = found->second;
  const Tier tier = kind == "small" ? small : kind == "standard" ? variants : full;
  std::vector<GridCell> cells;
  for (const std::string& target : grid.networks)
    for (const GridMethod& m : f.methods) {
      if (m.from > tier) continue;
      const bool drafted = m.method.draft() && m.method.draft()->name == "DRAFT";
      const MethodSpec method = drafted ? m.method.with_draft({{draft_of(f, target)}}) : m.method;
      for (const int batch : m.from == variants ? grid.of_variants : grid.batches) {
        cells.push_back({target, method, batch, grid.context});
        const auto& more = grid.with_long;
        if (more && m.from <= more->methods && batch <= more->most_sequences)
          cells.push_back({target, method, batch, more->context});
      }
    }
  if (grid.by_batch) {
    const auto rank = [&](const GridCell& c) {
      return std::tuple(std::ranges::find(grid.batches, c.batch_size) - grid.batches.begin(),
                        std::ranges::find(grid.networks, c.transformer) - grid.networks.begin(), c.context);
    };
    std::ranges::stable_sort(cells, [&](const GridCell& a, const GridCell& b) { return rank(a) < rank(b); });
  }
  return cells;
}

ServingLoad serving_load(const std::filesystem::path& data, std::string_view device) {
  const GridFile f = grids_in(data, device);
  if (!f.serving) throw InputErrors("data/validation/grid.json#/serving: has none for " + std::string(device));
  return *f.serving;
}

}  // namespace draftline::measure
