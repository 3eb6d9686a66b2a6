// SPDX-License-Identifier: Apache-2.0
// `draftline list KIND`: lists devices, transformers, engines, methods and others, with their sources.
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "cli/command.h"
#include "core/json_in_order.h"
#include "core/json_writer.h"
#include "core/printable.h"
#include "core/text_file.h"
#include "decoder/op_work.h"
#include "decoder/priced/backend.h"
#include "inputs/catalogue.h"
#include "inputs/shipped_traces.h"
#include "methods/decoder.h"
#include "methods/table.h"
#include "model/kernels/kernel_time.h"
#include "papers/inferred_paper.h"
#include "reports/data_entry.h"
#include "reports/engine_reference.h"
#include "reports/figure.h"
#include "reports/trace_report.h"

namespace draftline::cli {

namespace {

struct ListOptions {
  std::string kind, name;
  bool json = false, as_file = false;
};

// What is listed of each T. A fact may be missing. Quantities are text in tables and numbers in JSON.
template <class T>
using Facts = Figures<T, std::monostate>;
template <class T>
using ListedFact = Figure<T, std::monostate>;

template <class T, class Get>
ListedFact<T> fact(const char* name, Get get) {
  return {name, name, name, "", {}, get, ""};
}
// `shown`: the number in a table.
template <class T, class Get>
ListedFact<T> fact(const char* member, const char* title, Get get, std::string (*shown)(double) = nullptr) {
  return {member, member, title, "", {}, get, "", {.text = shown}};
}

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
      Decoder::Options{
          .target = *catalogue.transformer("llama-2-7b"), .precision = Precision(DType::bf16), .accepted = halves},
      MethodSpec(e).with_draft({{"llama-68m"}}),
      [&](const NamedNetwork& draft) { return *catalogue.transformer(draft); },
      [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  int rows = 0;
  decoder.ops.on_segment = [&](const SegmentRun& run) { rows = std::max(rows, verified_rows(run)); };
  const std::vector<std::vector<int>> no_script;
  decoder.ops.follow(&no_script);
  decoder.generator.assume(1, 8);
  decoder.generator.step();
  return rows;
}

std::string synonyms(const methods::Entry& e) {
  std::string all;
  for (const std::string_view one : e.also) all += (all.empty() ? "" : ", ") + std::string(one);
  return all;
}

Facts<methods::Entry> facts_of_methods(Catalogue& catalogue) {
  using methods::Entry;
  return {fact<Entry>("name", [](const Entry& e) { return e.name; }),
          fact<Entry>("rows_verified", "rows", [&](const Entry& e) { return rows_verified(e, catalogue); }),
          fact<Entry>("losslessness", [](const Entry& e) { return text(e.lossless); }),
          fact<Entry>("title", [](const Entry& e) { return e.title; }),
          fact<Entry>("parameters", [](const Entry& e) { return methods::parameters_text(e); }),
          fact<Entry>("source", [](const Entry& e) { return e.source; }),
          fact<Entry>("locator", [](const Entry& e) { return e.locator; }),
          fact<Entry>("also", [](const Entry& e) { return synonyms(e); })};
}

// Methods need more than a line each: a heading, and the parameters below it.
void print_methods(Catalogue& catalogue, std::span<const methods::Entry> all) {
  const auto width = at(std::max(60, text_width()));
  for (const methods::Entry& e : all) {
    const int rows = rows_verified(e, catalogue);
    std::cout << e.name;
    if (!e.also.empty()) std::cout << " (or " << synonyms(e) << ")";
    std::cout << ": " << e.title << "\n  " << rows << (rows == 1 ? " row" : " rows") << " a step by default; "
              << text(e.lossless) << "; " << e.source << ", " << e.locator << "\n";
    std::string line = " ";
    std::istringstream words(methods::parameters_text(e));
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
  if (const auto* gpu = std::get_if<GpuModel>(&d.model))
    for (const NarrowFormat f : kNarrowFormats)
      if (gpu->narrow_gemm[f]) names += (names.empty() ? "" : ", ") + std::string(name(f));
  return names.empty() ? "none" : names;
}

using ListedDevice = std::shared_ptr<const Device>;
Facts<ListedDevice> facts_of_devices() {
  using D = ListedDevice;
  constexpr auto rate = [](double v) { return to_text(FlopsPerSecond{v}); };
  constexpr auto bandwidth = [](double v) { return to_text(BytesPerSecond{v}); };
  constexpr auto bytes = [](double v) { return to_text(Bytes{v}); };
  return {fact<D>("name", [](const D& d) { return d->name; }),
          fact<D>("title", [](const D& d) { return d->title; }),
          fact<D>(
              "peak_16_bit_flops_per_s", "16-bit peak",
              [](const D& d) { return matrix_rate(*d, DType::bf16, DType::bf16); }, rate),
          fact<D>(
              "bandwidth_bytes_per_s", "bandwidth", [](const D& d) { return d->bandwidth; }, bandwidth),
          fact<D>(
              "memory_bytes", "memory", [](const D& d) { return d->memory; }, bytes),
          fact<D>("fits",
                  [](const D& d) {
                    return std::string(d->has_transferred_fits() ? "borrowed from a relative" : "own kernels");
                  }),
          fact<D>("narrow_formats", "narrow formats", [](const D& d) { return narrow_formats(*d); }),
          fact<D>("source", [](const D& d) { return d->source; })};
}

using ListedTransformer = std::shared_ptr<const TransformerShape>;
Facts<ListedTransformer> facts_of_transformers() {
  using T = ListedTransformer;
  constexpr auto billions = [](double v) { return significant(v / 1e9, 3); };
  return {fact<T>("name", [](const T& t) { return t->name; }),
          fact<T>(
              "parameters", "parameters, 1e9", [](const T& t) { return parameters(*t); }, billions),
          fact<T>("layers", [](const T& t) { return t->layers(); }),
          fact<T>("hidden", [](const T& t) { return t->hidden; }),
          fact<T>("heads", [](const T& t) { return t->usual_heads().heads; }),
          fact<T>("kv_heads", "KV heads", [](const T& t) { return t->usual_heads().kv_heads; }),
          fact<T>("vocabulary", [](const T& t) { return t->vocabulary; }),
          fact<T>("source", [](const T& t) { return t->source; })};
}

std::string guesses_of(const Engine& e) {
  std::string guesses;
  for (const std::string& g : e.guesses) guesses += (guesses.empty() ? "" : ", ") + g;
  return guesses.empty() ? "none" : guesses;
}

using ListedEngine = std::shared_ptr<const Engine>;
Facts<ListedEngine> facts_of_engines() {
  using E = ListedEngine;
  return {fact<E>("name", [](const E& e) { return e->name; }),
          fact<E>("version", [](const E& e) { return e->version; }),
          fact<E>("graphs", [](const E& e) { return std::string(e->graphs ? "yes" : "no"); }),
          fact<E>("guesses", [](const E& e) { return guesses_of(*e); }),
          fact<E>("source", [](const E& e) { return e->source; })};
}

struct ListedPaper {
  std::string name, title, source;
};
Facts<ListedPaper> facts_of_papers() {
  using P = ListedPaper;
  return {fact<P>("name", [](const P& p) { return p.name; }), fact<P>("title", [](const P& p) { return p.title; }),
          fact<P>("source", [](const P& p) { return p.source; })};
}
std::vector<ListedPaper> listed_papers(const Common& common) {
  std::vector<ListedPaper> all;
  const Document sources = Document::from_file(common.data / "sources.json");
  for (const std::string& name : paper_names()) {
    const Document d = Document::from_file(common.data / "papers" / (name + ".json"));
    const std::string source = d.root().json().value("source", std::string());
    all.push_back({name, sources.root().json().at(source).value("title", std::string()), source});
  }
  return all;
}

struct ListedTrace {
  std::string name;
  Trace trace;
  TraceOrigin origin;
};
Facts<ListedTrace> facts_of_traces() {
  using T = ListedTrace;
  return {fact<T>("name", [](const T& t) { return t.name; }),
          fact<T>("method", [](const T& t) { return recorded_method(t.trace.header().method); }),
          fact<T>("task", [](const T& t) { return t.trace.header().task; }),
          fact<T>("prompts", [](const T& t) { return t.trace.prompts(); }),
          fact<T>("tokens_per_step", "tok/step", [](const T& t) { return t.trace.mean_length(own_plan(t.trace)); }),
          fact<T>("target", [](const T& t) { return t.trace.header().target; }),
          fact<T>("source", [](const T& t) { return t.origin.source + ", " + t.origin.locator; })};
}
ListedTrace listed_trace(const std::string& name, const Common& common) {
  const auto found = find_trace(name, {}, disk(), common.data);
  if (const auto* why = std::get_if<std::string>(&found)) throw InputErrors(*why);
  const TraceFile& file = std::get<TraceFile>(found);
  return {name, Trace::read(file.path),
          file.ships ? origin_of_trace(name, common.data) : TraceOrigin{"own file", name}};
}

template <class T>
void print(const Facts<T>& facts, std::span<const T> all, bool json) {
  if (json) {
    JsonWriter w(std::cout);
    w.begin_array();
    for (const T& one : all) {
      w.begin_object();
      write_members(w, facts, one);
      w.end_object();
    }
    w.end_array();
    w.finish();
    return;
  }
  const auto columns = columns_of(facts, std::monostate{}, Format::table);
  std::vector<Table::Column> titles;
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const T& one : all) {
    std::vector<Cell> row;
    add_cells(row, columns, one);
    table.add(std::move(row));
  }
  std::cout << table.to_text(at(text_width()));
}

// The file of a device, a network or an engine, to be edited: it reads back as the listed one.
int write_file_of(const ListOptions& o, const Common& common) {
  if (o.name.empty() || o.json || (o.kind != "devices" && o.kind != "transformers" && o.kind != "engines"))
    throw InputErrors("--as-file requires the name of a device, a transformer or an engine, and excludes --json");
  std::cout << read_text_file(Catalogue(common.data).file(o.kind, o.name));
  return kFine;
}

nlohmann::ordered_json all_sources(const Common& common) {
  return json_in_order(read_text_file(common.data / "sources.json"));
}

// One entry of a list: its facts, a line each.
template <class T>
void print_facts(const Facts<T>& facts, const T& one) {
  const auto columns = columns_of(facts, std::monostate{}, Format::table);
  std::vector<Cell> cells;
  add_cells(cells, columns, one);
  Table table({"fact", "value"});
  for (std::size_t i = 0; i < columns.size(); ++i) table.add({columns[i].title, cells[i].shown});
  std::cout << table.to_text(at(text_width()));
}

// Also every value of its file, with its origin.
template <class T>
void print_entry(const Facts<T>& facts, const T& one, const std::filesystem::path& file, const Common& common) {
  print_facts(facts, one);
  const auto values = values_of_file(json_in_order(read_text_file(file)));
  std::cout << data_values_text(values) << guesses_text(values)
            << sources_text(sources_in(values), all_sources(common));
}

void print_engine(const ListOptions& o, Catalogue& catalogue, const Common& common) {
  const auto engine = catalogue.engine(o.name);
  print(values_of(*engine), engine_fields(), o.json);
  if (o.json) return;
  const auto unmodelled = [](const char* key, const RatioInterval& e) {
    if (e.low < 1 || e.high > 1)
      std::cout << key << ": " << significant(e.low) << " to " << significant(e.high)
                << " times the predicted time, 90 % interval of causes that are not modelled\n";
  };
  unmodelled("step_error", engine->step_error);
  unmodelled("prompt_error", engine->prompt_error);
  if (const Table modes = modes_of(*engine); modes.rows() > 0)
    std::cout << "\nModes of a step: in each group the first row that holds.\n" << modes.to_text(at(text_width()));
  const auto values = values_of_file(json_in_order(read_text_file(catalogue.file(o.kind, o.name))));
  std::cout << sources_text(sources_in(values), all_sources(common));
}

void print_method(const ListOptions& o, Catalogue& catalogue, const Common& common) {
  const methods::Entry* e = methods::find(o.name);
  if (e == nullptr) {
    std::vector<std::string_view> known;
    for (const methods::Entry& one : methods::all()) known.push_back(one.name);
    throw InputErrors("unknown method " + in_quotes(o.name) + did_you_mean(o.name, known));
  }
  if (o.json) return print(facts_of_methods(catalogue), std::span(e, 1), true);
  print_methods(catalogue, std::span(e, 1));
  std::cout << sources_text({std::string(e->source)}, all_sources(common));
}

void print_paper(const ListOptions& o, const Common& common) {
  const auto all = listed_papers(common);
  const auto paper = std::ranges::find(all, o.name, &ListedPaper::name);
  const auto names = paper_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (paper == all.end()) throw InputErrors("unknown paper " + in_quotes(o.name) + did_you_mean(o.name, known));
  if (o.json) return print(facts_of_papers(), std::span(&*paper, 1), true);
  std::cout << paper->name << ": " << paper->title << "\n"
            << sources_text({paper->source}, all_sources(common)) << "\nIts tables: draftline papers " << paper->name
            << "\n";
}

void print_trace(const ListOptions& o, const Common& common) {
  const ListedTrace one = listed_trace(o.name, common);
  if (o.json) return print(facts_of_traces(), std::span(&one, 1), true);
  print_facts(facts_of_traces(), one);
  std::cout << "\nIn a scenario: \"acceptance\": {\"trace\": \"" << printable(o.name)
            << "\"}. By position, prompt and step: draftline traces " << printable(o.name) << "\n";
}

// Everything that is known of one entry.
void print_one(const ListOptions& o, const Common& common) {
  Catalogue catalogue(common.data);
  const auto print_named = [&]<class T>(const Facts<T>& facts, const T& one) {
    if (o.json) return print(facts, std::span(&one, 1), true);
    print_entry(facts, one, catalogue.file(o.kind, o.name), common);
  };
  if (o.kind == "methods") print_method(o, catalogue, common);
  else if (o.kind == "papers") print_paper(o, common);
  else if (o.kind == "traces") print_trace(o, common);
  else if (o.kind == "engines") print_engine(o, catalogue, common);
  else if (o.kind == "devices") print_named(facts_of_devices(), catalogue.device(o.name));
  else print_named(facts_of_transformers(), catalogue.transformer(o.name));
}

int list(const ListOptions& o, const Common& common) {
  if (o.as_file) return write_file_of(o, common);
  if (!o.name.empty()) {
    print_one(o, common);
    return kFine;
  }
  Catalogue catalogue(common.data);
  const auto print_all = [&]<class T>(const Facts<T>& facts, const std::vector<T>& all) {
    print(facts, std::span<const T>(all), o.json);
  };
  // `find`: gets one of the catalogue by its name.
  const auto named = [&](auto find) {
    std::vector<decltype(find(std::string()))> all;
    for (const std::string& name : catalogue.names(o.kind)) all.push_back(find(name));
    return all;
  };
  if (o.kind == "methods") {
    if (o.json) print(facts_of_methods(catalogue), methods::all(), true);
    else print_methods(catalogue, methods::all());
  } else if (o.kind == "devices") {
    print_all(facts_of_devices(), named([&](const std::string& name) { return catalogue.device(name); }));
  } else if (o.kind == "transformers") {
    print_all(facts_of_transformers(), named([&](const std::string& name) { return catalogue.transformer(name); }));
  } else if (o.kind == "engines") {
    print_all(facts_of_engines(), named([&](const std::string& name) { return catalogue.engine(name); }));
  } else if (o.kind == "traces") {
    std::vector<ListedTrace> all;
    for (const std::string& name : shipped_traces(common.data)) all.push_back(listed_trace(name, common));
    Facts<ListedTrace> facts = facts_of_traces();
    if (!o.json)  // a name has the task; target and source are those of one trace, whose line would be too long
      std::erase_if(facts,
                    [](const auto& f) { return f.title == "task" || f.title == "target" || f.title == "source"; });
    print(facts, std::span<const ListedTrace>(all), o.json);
  } else {
    print_all(facts_of_papers(), listed_papers(common));
  }
  return kFine;
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("list", "list the known methods, devices, transformers, engines, papers or traces");
  auto o = std::make_shared<ListOptions>();
  verb->add_option("kind", o->kind, "methods, devices, transformers, engines, papers or traces")
      ->required()
      ->check(CLI::IsMember({"methods", "devices", "transformers", "engines", "papers", "traces"}));
  verb->add_option(
      "name", o->name,
      "the name of one, of which everything is printed: figures, origins, sources and guesses; also a file");
  verb->add_flag("--as-file", o->as_file, "write the file of NAME, to make one of your own: --as-file > my.json");
  verb->add_flag("--json", o->json, "a JSON array on standard output");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return list(*o, c); }}; });
}

}  // namespace draftline::cli
