// SPDX-License-Identifier: Apache-2.0
// `draftline list KIND`: lists devices, transformers, engines, methods and others, with their sources.
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "core/json_writer.h"
#include "decoder/op_work.h"
#include "decoder/priced/backend.h"
#include "inputs/catalogue.h"
#include "methods/decoder.h"
#include "methods/method.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

struct ListOptions {
  std::string kind;
  bool json = false;
};

// Rows of named facts, as a table or JSON. A fact may be missing in a row. Quantities are text in tables and numbers in
// JSON.
struct Listing {
  std::vector<Table::Column> columns;
  std::vector<std::vector<Cell>> rows;
};

std::string_view text(methods::Losslessness l) {
  switch (l) {
    case methods::Losslessness::lossless: return "lossless";
    case methods::Losslessness::own_target: return "lossless against its own tuned target";
    case methods::Losslessness::lossy: break;
  }
  return "lossy";
}

// The verified rows per sequence of a method with its defaults, on an ordinary target.
int rows_verified(const methods::Entry& e, Catalogue& catalogue) {
  const RankAcceptance halves(8, {0.5, 0.25, 0.125});  // arbitrary: the rows depend only on the tree size
  Decoder decoder(
      {*catalogue.transformer("llama-2-7b"), Precision(DType::bf16), 1, 1, {}, {}, halves},
      MethodSpec(e).with_parameter("draft", "llama-68m"), [&](const Reader& in) { return *catalogue.transformer(in); },
      [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  int rows = 0;
  decoder.ops.on_segment = [&](const SegmentRun& run) { rows = std::max(rows, verified_rows(run)); };
  const std::vector<std::vector<int>> no_script;
  decoder.ops.follow(&no_script);
  decoder.generator.assume(1, 8);
  decoder.generator.step();
  return rows;
}

Listing list_methods(Catalogue& catalogue) {
  Listing l{{"name", {"rows", "rows_verified"}, "losslessness", "title", "parameters", "source", "locator", "also"},
            {}};
  for (const methods::Entry& e : methods::all())
    l.rows.push_back(
        {e.name, rows_verified(e, catalogue), text(e.lossless), e.title, e.parameters, e.source, e.locator, e.also});
  return l;
}

// Methods need more than a line each: a heading, and the parameters below it.
void print_methods(const Listing& l) {
  const auto width = static_cast<std::size_t>(std::max(60, text_width()));
  for (const auto& row : l.rows) {
    const std::string &title = row[3].shown, &parameters = row[4].shown;
    std::cout << row[0].shown << (row[7].shown.empty() ? "" : " (or " + row[7].shown + ")") << ": " << title << "\n  "
              << row[1].shown << (row[1].shown == "1" ? " row" : " rows") << " a step by default; " << row[2].shown
              << "; " << row[5].shown << ", " << row[6].shown << "\n";
    std::string line = " ";
    std::istringstream words(parameters);
    for (std::string word; words >> word;) {
      if (line.size() + 1 + word.size() > width) {
        std::cout << line << "\n";
        line = " ";
      }
      line += " " + word;
    }
    if (line.size() > 1) std::cout << line << "\n";
  }
}

// The formats of which it has fits of GEMMs, its own or a relative's.
std::string narrow_formats(const Device& d) {
  std::string names;
  if (d.cpu() == nullptr)
    for (const NarrowFormat f : kNarrowFormats)
      if (d.gpu().narrow_gemm[f]) names += (names.empty() ? "" : ", ") + std::string(name(f));
  return names.empty() ? "none" : names;
}

Listing list_devices(Catalogue& catalogue) {
  Listing l{{"name",
             "title",
             {"16-bit peak", "peak_16_bit_flops_per_s"},
             {"bandwidth", "bandwidth_bytes_per_s"},
             {"memory", "memory_bytes"},
             "fits",
             {"narrow formats", "narrow_formats"},
             "source"},
            {}};
  for (const std::string& name : catalogue.names("devices")) {
    const auto d = catalogue.device(name);
    const FlopsPerSecond peak = d->peak_of(DType::bf16);
    l.rows.push_back({d->name, d->title, Cell(peak.value, to_text(peak)),
                      Cell(d->bandwidth.value, to_text(d->bandwidth)), Cell(d->memory.value, to_text(d->memory)),
                      d->cpu() == nullptr && d->gpu().borrowed() ? "borrowed from a relative" : "own kernels",
                      narrow_formats(*d), d->source});
  }
  return l;
}

Listing list_transformers(Catalogue& catalogue) {
  Listing l{{"name",
             {"parameters, 1e9", "parameters"},
             "layers",
             "hidden",
             "heads",
             {"KV heads", "kv_heads"},
             "vocabulary",
             "source"},
            {}};
  for (const std::string& name : catalogue.names("transformers")) {
    const auto t = catalogue.transformer(name);
    const double all = parameters(*t);
    l.rows.push_back({t->name, Cell(all, significant(all / 1e9, 3)), t->layers, t->hidden, t->heads, t->kv_heads,
                      t->vocabulary, t->source});
  }
  return l;
}

Listing list_engines(Catalogue& catalogue) {
  Listing l{{"name", "version", "graphs", "guesses", "source"}, {}};
  for (const std::string& name : catalogue.names("engines")) {
    const auto e = catalogue.engine(name);
    std::string guesses;
    for (const std::string& g : e->guesses) guesses += (guesses.empty() ? "" : ", ") + g;
    l.rows.push_back({e->name, e->version, e->graphs, guesses.empty() ? "none" : guesses, e->source});
  }
  return l;
}

Listing list_papers(const Common& common) {
  Listing l{{"name", "title", "source"}, {}};
  const Document sources = Document::from_file(common.data / "sources.json");
  for (const std::string& name :
       {std::string("specformer"), std::string("s3d"), std::string("clover"), std::string("space")}) {
    const Document d = Document::from_file(common.data / "papers" / (name + ".json"));
    const auto& j = d.root().json();
    const std::string source = j.value("source", std::string());
    l.rows.push_back({name, sources.root().json().at(source).value("title", std::string()), source});
  }
  return l;
}

int list(const ListOptions& o, const Common& common) {
  Catalogue catalogue(common.data);
  const Listing l = o.kind == "methods"        ? list_methods(catalogue)
                    : o.kind == "devices"      ? list_devices(catalogue)
                    : o.kind == "transformers" ? list_transformers(catalogue)
                    : o.kind == "engines"      ? list_engines(catalogue)
                                               : list_papers(common);
  if (o.json) {
    JsonWriter w(std::cout);
    w.begin_array();
    for (const auto& row : l.rows) {
      w.begin_object();
      for (std::size_t i = 0; i < row.size(); ++i) {
        w.key(l.columns[i].csv_name);
        if (row[i].is_number) w.value(std::stod(row[i].exact));
        else w.value(row[i].exact);
      }
      w.end_object();
    }
    w.end_array();
    w.finish();
    return 0;
  }
  if (o.kind == "methods") {
    print_methods(l);
    return 0;
  }
  Table table(l.columns);
  for (const auto& row : l.rows) table.add(row);
  std::cout << table.to_text(static_cast<std::size_t>(text_width()));
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("list", "what is known: methods, devices, transformers, engines, papers");
  auto o = std::make_shared<ListOptions>();
  verb->add_option("kind", o->kind, "methods, devices, transformers, engines or papers")
      ->required()
      ->check(CLI::IsMember({"methods", "devices", "transformers", "engines", "papers"}));
  verb->add_flag("--json", o->json, "a JSON array on standard output");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return list(*o, c); }}; });
}

}  // namespace draftline::cli
