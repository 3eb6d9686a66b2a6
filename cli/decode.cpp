// SPDX-License-Identifier: Apache-2.0
// `draftline decode`: the reference decoder on the CPU or on CUDA, from token ids to token ids. Prints the accepted
// tokens and the time of the steps.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/decode_options.h"
#include "cli/decode_trace.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/json_writer.h"
#include "core/rng.h"
#include "decoder/cpu/backend.h"
#include "decoder/priced/backend.h"
#include "inputs/catalogue.h"
#include "inputs/drafter_identity.h"
#include "measure/decode_device.h"
#include "measure/decode_inputs.h"
#include "measure/decode_timing.h"
#include "measure/dry_step.h"
#include "measure/forced_acceptance.h"
#include "methods/decoder.h"
#include "reports/point.h"
#include "reports/table.h"
#include "trace/tracing.h"

namespace draftline::cli {

using namespace measure;

namespace {

constexpr int kMostTail = 2048;  // rows after the text that a step may write

// A method from "eagle3" or from a method object of a scenario: {"name": "eagle3", "draft_length": 3}.
MethodSpec method_asked(const std::string& text) {
  const bool object = text.find('{') != std::string::npos;
  return MethodSpec(Document::from_text(object ? text : nlohmann::json{{"name", text}}.dump(), "--method").root());
}

std::vector<std::vector<int>> read_prompts(const DecodeOptions& o, int vocabulary) {
  std::vector<std::vector<int>> prompts;
  for (const std::string& text : o.prompts) {
    prompts.push_back(read_ids(text, vocabulary, "--prompt"));
    if (prompts.back().empty()) throw InputErrors("--prompt: a prompt holds at least one token id");
  }
  if (prompts.empty()) {
    constexpr std::int64_t kMostTokens = 1 << 28;  // 1 GiB of ids
    if (std::int64_t{o.random_prompts} * o.prompt_tokens > kMostTokens)
      throw InputErrors("--prompts, --prompt-tokens: more than " + std::to_string(kMostTokens) + " tokens in all");
    Rng rng(o.seed, "prompts");
    prompts.resize(static_cast<std::size_t>(o.random_prompts));
    for (auto& p : prompts)
      for (int i = 0; i < o.prompt_tokens; ++i)
        p.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(vocabulary))));
  }
  return prompts;
}

// The largest number of rows that a step writes after the text.
int rows_behind_text(Decoder& priced, int slots, int length) {
  if (!priced.method->static_plan()) return kMostTail;
  return dry_step(priced, slots, length).rows_behind_text + priced.method->depth() +
         1;  // the last step may exceed the wanted tokens
}

// The fingerprint of the file of algorithms before it is rewritten at the end.
InputFiles algorithms_read(const std::string& file) {
  std::error_code none;
  if (file.empty() || !std::filesystem::exists(file, none)) return {};
  return Document::from_file(file).root().input_files();
}

// All input files: networks, checkpoints by their content, and files that options name.
InputFiles files_read(const DecodeOptions& o, const Catalogue& catalogue, const DecodedWeights& weights) {
  InputFiles files = catalogue.input_files();
  files.merge(weights.input_files());
  for (const std::string& file : {o.accept_trace, o.continuations})
    if (!file.empty()) files[file] = fingerprint_of_bytes(file);
  return files;
}

int decode(const DecodeOptions& o, const Common& common) {
  Catalogue catalogue(common.data);
  const auto shape = catalogue.transformer(o.transformer, "--transformer");
  const auto prompts = read_prompts(o, shape->vocabulary);
  std::size_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, p.size());

  const MethodSpec method = method_asked(o.method);
  const DType format = o.format();
  if (!o.cuda() && format != DType::fp32) throw InputErrors("--precision: the CPU decodes in fp32");
  if (!o.cuda() && !o.algorithms.empty())
    throw InputErrors("--algorithms: only --device cuda has several to choose from");
  check_outputs({{"--trace", o.trace}, {"--algorithms", o.algorithms}}, {o.continuations, o.accept_trace});
  if (!o.trace.empty() && o.new_tokens < 2)
    throw InputErrors(
        "--new-tokens: the first token comes from the prompt, so a trace of its steps needs two at least");
  if (o.cuda() && !o.trace.empty()) throw InputErrors("--trace: traces are recorded on the CPU");
  if (!o.trace.empty() && shape->delta_net)
    throw InputErrors(
        "--trace: of networks with recurrent states no traces are recorded: a trace computes rows again whose "
        "states are gone");
  int capacity = static_cast<int>(longest) + o.new_tokens + kMostTail, states = Transformer::kMostStates;
  std::shared_ptr<const Device> limits;
  if (!o.limits.empty()) limits = catalogue.device(o.limits, "--limits");
  const int slots = std::min(o.batch_size, static_cast<int>(prompts.size()));
  constexpr int kPositions = 64;  // traced together: enough rows for the CPU; more would increase masked attention
  const int at_once = o.trace.empty() ? 1 : std::max(1, kPositions / slots);
  DecodedWeights source(checkpoint(o.transformer), o.draft_noise, o.seed);
  const auto algorithms = cuda_algorithms(o.algorithms);
  const auto write_inputs = [&, timed_before = algorithms_read(o.algorithms)](JsonWriter& w) {
    InputFiles files = files_read(o, catalogue, source);
    files.insert(timed_before.begin(), timed_before.end());
    write_input_files(w, files, common.data);
  };
  bool priced = false;
  const auto find_drafter = [&](const Reader& in, DrafterKind kind) { return source.drafter_at(in, kind); };
  const auto make = [&](const MethodSpec& m) {
    return std::make_unique<Decoder>(
        Decoder::Options{*shape, Precision(format), slots, capacity, {}, o.sampling, {}, at_once, find_drafter, states},
        m,
        [&](const Reader& in) {
          const auto draft = catalogue.transformer(in);
          if (!draft) return TransformerShape{};
          const std::string folder = in.text();
          if (folder != o.transformer) source.draft_from(checkpoint(folder));
          return *draft;
        },
        [&](const WeightStore& store) -> std::unique_ptr<Backend> {
          if (priced) return std::make_unique<PricedBackend>();
          if (o.cuda()) return make_cuda_backend(store, source, {format, !o.no_graphs, o.seed, {}, algorithms, false});
          return std::make_unique<CpuBackend>(store, source,
                                              CpuBackend::Options{CpuBackend::Mode::planned, o.seed, false});
        });
  };
  const auto make_dry = [&](const MethodSpec& m) {
    priced = true;
    auto decoder = make(m);
    m.finish();
    priced = false;
    return decoder;
  };
  const auto dry = make_dry(method);
  if (!o.random_drafter) source.refuse_random_drafter(dry->weights, method.entry());
  const WeightNames weights = source.names(dry->weights);
  if (!o.trace.empty()) {
    Tracing t;
    t.make = [&](const MethodSpec& m) {
      check_memory(*make_dry(m), slots, capacity);
      return make(m);
    };
    t.method = method;
    t.slots = slots;
    t.new_tokens = o.new_tokens;
    t.depth = o.trace_depth;
    t.positions_at_once = at_once;
    t.spare = kMostTail;
    t.end_of_text = o.end_of_text;
    if (!o.continuations.empty())
      t.continuations = read_continuations(o.continuations, prompts.size(), shape->vocabulary);
    Progress tracing("tracing", prompts.size());
    t.progress = [&](std::size_t done) { tracing.at(done); };
    const DrafterIdentity drafter{weights.drafter, identity_of_drafter(method, catalogue).config};
    return record_decode_trace(o, *shape, weights, drafter, t, prompts, write_inputs);
  }
  if (dry->method->static_plan()) states = rows_behind_text(*dry, slots, static_cast<int>(longest)) + 1;
  if (o.cuda())  // on a GPU caches are only as large as steps need
    capacity = static_cast<int>(longest) + o.new_tokens +
               rows_behind_text(*dry, slots, static_cast<int>(longest) + o.new_tokens);
  else check_memory(*dry, slots, capacity);
  const auto decoder_of_method = make(method);
  Decoder& decoder = *decoder_of_method;
  const bool forced = !o.accept.empty() || !o.accept_trace.empty();
  if (forced && !o.sampling.greedy())
    throw InputErrors("--accept and --accept-trace are judged greedily: they can't be combined with --temperature");
  if (!o.accept.empty()) decoder.generator.force_acceptance(accept_by_rates(o.accept, *decoder.method, o.seed));
  std::string forced_by;  // whose weights were random when the trace was recorded that forces acceptance
  if (!o.accept_trace.empty()) {
    const Trace trace = Trace::read(o.accept_trace);
    forced_by = trace.header().random_weights();
    decoder.generator.force_acceptance(accept_by_trace(trace, o.accept_trace, *decoder.method, method));
  }

  Progress progress("decoding", prompts.size());
  constexpr int kWarmUp = 4;  // steps in which a device captures graphs and chooses algorithms
  DecodeTiming timing(decoder, o.warm_up >= 0 ? o.warm_up : o.cuda() ? kWarmUp : 0);
  Limits run{o.new_tokens, o.end_of_text, slots};
  run.after_turn = [&](bool prefill, int emitted) { timing.after_turn(prefill, emitted); };
  std::vector<Generated> texts;
  std::string failure;
  const auto start = std::chrono::steady_clock::now();
  try {
    generate(
        decoder.generator, prompts, run, [&](std::size_t done) { progress.at(done); }, texts);
  } catch (const DeviceError& e) { failure = e.what(); }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  double emitted = 0, steps = 0, tokens = 0;
  for (const Generated& g : texts) {
    for (const int a : g.accepted) emitted += a;
    steps += static_cast<double>(g.accepted.size());
    tokens += static_cast<double>(g.tokens.size());
  }
  const double acceptance_length = steps > 0 ? emitted / steps : 1;
  const auto ended = [&] {
    if (o.cuda()) keep_cuda_algorithms(algorithms.get(), o.algorithms);
    if (!failure.empty()) throw DeviceError(failure);
    return 0;
  };
  if (!o.json) {
    for (const Generated& g : texts) {
      for (std::size_t i = 0; i < g.tokens.size(); ++i) std::cout << (i ? " " : "") << g.tokens[i];
      std::cout << "\n";
    }
    std::cerr << tokens / seconds << " tokens/s, " << acceptance_length
              << " tokens per sequence and step (bonus included" << (forced ? "; forced" : "")
              << (forced_by.empty() ? "" : " by a trace of a random " + forced_by) << weights.warning() << ")\n";
    timing.print(std::cerr, limits.get(), format);
    return ended();
  }
  constexpr int kSchemaVersion = 1;
  JsonWriter w(std::cout);
  w.begin_object();
  write_program(w, kSchemaVersion);
  write_inputs(w);
  w.key("resolved");
  w.begin_object();
  w.member("transformer", shape->name);
  w.member("weights", source.target_kind());
  w.member("drafter_weights", weights.drafter_json());
  w.member("method", method.in().json());
  w.member("batch_size", slots);
  w.member("new_tokens", o.new_tokens);
  w.member("temperature", o.sampling.temperature);
  w.member("top_k", o.sampling.top_k);
  w.member("top_p", o.sampling.top_p);
  w.member("seed", o.seed);
  w.member("device", o.device);
  w.member("precision", draftline::name(format));
  if (o.cuda()) {
    const CudaFacts f = cuda_facts(*decoder.backend);
    w.member("device_name", f.device);
    w.member("driver", f.driver);
    w.member("runtime", f.runtime);
    w.member("graphs", !o.no_graphs);
    if (!o.algorithms.empty()) w.member("algorithms", o.algorithms);
    w.member("products_timed", cuda_algorithms_timed(algorithms.get()));
  }
  w.member("acceptance", forced ? "forced" : "decoded");
  if (!o.accept.empty()) w.list("accept", o.accept);
  if (!o.accept_trace.empty()) w.member("accept_trace", o.accept_trace);
  if (!forced_by.empty()) w.member("accept_trace_random_weights", forced_by);
  if (limits) w.member("limits", limits->name);
  w.end_object();
  if (!failure.empty()) w.member("failed", failure);
  w.key("texts");
  w.begin_array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    w.begin_object();
    w.list("prompt", prompts[i]);
    w.list("tokens", texts[i].tokens);
    w.list("emitted_per_step", texts[i].accepted);
    w.end_object();
  }
  w.end_array();
  // Forced acceptance is a choice of input; so is what a random drafter is accepted beside a trained target, of which
  // it says nothing.
  const bool assumed = forced || (source.target_kind() == "checkpoint" && weights.random_drafter());
  w.figure("acceptance_length", acceptance_length, "tokens", assumed ? FigureKind::input : FigureKind::measured);
  w.figure("throughput", tokens / seconds, "tokens/s", FigureKind::measured);
  w.figure("wall_time", seconds, "s", FigureKind::measured);
  timing.write(w, limits.get(), format);
  w.end_object();
  w.finish();
  return ended();
}

}  // namespace

void add_decode(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand(
      "decode", "the reference decoder on the CPU or on CUDA: any method, any batch, token ids in and out");
  auto o = std::make_shared<DecodeOptions>();
  add_decode_options(*verb, *o);
  verb->callback([o, &chosen] { chosen = {AcrossRanks::refuses, [o](const Common& c) { return decode(*o, c); }}; });
}

}  // namespace draftline::cli
