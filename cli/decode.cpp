// SPDX-License-Identifier: Apache-2.0
// `draftline decode`: the reference decoder on the CPU or on CUDA, from token ids to token ids. Prints the accepted
// tokens and the time of the steps.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/decode_options.h"
#include "cli/decode_report.h"
#include "cli/decode_trace.h"
#include "cli/options.h"
#include "cli/progress.h"
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
#include "trace/tracing.h"

namespace draftline::cli {

using namespace measure;

namespace {

constexpr int kMostTail = 2048;  // rows after the text that a step may write

// A method from "eagle3" or from a method object of a scenario: {"name": "eagle3", "draft_length": 3}.
MethodSpec method_asked(const std::string& text) {
  const bool object = text.find('{') != std::string::npos;
  return read_method(Document::from_text(object ? text : nlohmann::json{{"name", text}}.dump(), "--method"));
}

// The given prompts as text, each with its place.
std::vector<std::pair<std::string, std::string>> given_prompts(const DecodeOptions& o) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& text : o.prompts) all.emplace_back("--prompt", text);
  if (o.prompt_file.empty()) return all;
  const bool from_input = o.prompt_file == "-";
  std::istringstream lines(from_input ? disk().text_once("/dev/stdin") : disk().text(o.prompt_file));
  const std::string file = from_input ? "standard input" : o.prompt_file;
  for (std::string line; std::getline(lines, line);)
    all.emplace_back(file + ":" + std::to_string(all.size() + 1), line);
  if (all.empty()) throw InputErrors(file + ": has no prompts");
  return all;
}

std::vector<std::vector<int>> read_prompts(const DecodeOptions& o, int vocabulary) {
  std::vector<std::vector<int>> prompts;
  for (const auto& [place, text] : given_prompts(o)) {
    prompts.push_back(read_ids(text, vocabulary, place));
    if (prompts.back().empty()) throw InputErrors(place + ": a prompt must contain at least one token id");
  }
  if (prompts.empty()) {
    constexpr std::int64_t kMostTokens = 1 << 28;  // 1 GiB of ids
    if (std::int64_t{o.random_prompts} * o.prompt_tokens > kMostTokens)
      throw InputErrors("--prompts, --prompt-tokens: more than " + std::to_string(kMostTokens) + " tokens in total");
    Rng rng(o.seed, "prompts");
    prompts.resize(at(o.random_prompts));
    for (auto& p : prompts)
      for (int i = 0; i < o.prompt_tokens; ++i) p.push_back(to_int(rng.below(static_cast<std::uint64_t>(vocabulary))));
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

class DecodeCommand {
 public:
  DecodeCommand(const DecodeOptions& o, const Common& common)
      : o_(o),
        data_(common.data),
        catalogue_(common.data),
        shape_(catalogue_.transformer(o.transformer, "--transformer")),
        prompts_(read_prompts(o, shape_->vocabulary)),
        method_(method_asked(o.method)),
        slots_(std::min(o.batch_size, count(prompts_))),
        weights_(checkpoint(o.transformer), o.draft_noise, o.seed) {
    check_options();
    if (!o_.limits.empty()) limits_ = catalogue_.device(o_.limits, "--limits");
    algorithms_ = cuda_algorithms(o_.algorithms);
    algorithms_before_ = algorithms_read(o_.algorithms);
    for (const auto& p : prompts_) longest_ = std::max(longest_, count(p));
    capacity_ = longest_ + o_.new_tokens + kMostTail;
  }

  int run() {
    const auto dry = make_priced(method_);
    for (const std::string& note : catalogue_.notes()) print_note(note);
    if (!o_.drafter_weights.empty()) weights_.drafter_named_in(o_.drafter_weights, dry->weights);
    if (!o_.random_drafter) weights_.refuse_random_drafter(dry->weights, method_.entry());
    const WeightNames names = weights_.names(dry->weights);
    if (!o_.trace.empty()) return record(names);
    size_caches(*dry);
    const auto decoder = make(method_);
    const std::string forced_by = force_acceptance(*decoder);
    return decode(*decoder, {names, forced_by});
  }

 private:
  void check_options() const {
    if (!o_.cuda() && o_.format() != DType::fp32) throw InputErrors("--precision: the CPU decodes in fp32");
    if (!o_.cuda() && !o_.algorithms.empty()) throw InputErrors("--algorithms: requires --device cuda");
    check_outputs({{"--trace", o_.trace}, {"--algorithms", o_.algorithms}}, {o_.continuations, o_.accept_trace});
    if (o_.forced() && !o_.sampling.greedy())
      throw InputErrors("--accept and --accept-trace are greedy and can't be combined with --temperature");
    if (o_.trace.empty()) return;
    if (o_.new_tokens < 2)
      throw InputErrors(
          "--new-tokens: must be at least 2 for a trace of steps, because the prefill emits the first token");
    if (o_.cuda()) throw InputErrors("--trace: traces are recorded on the CPU");
  }

  // Positions of a text that are traced together: enough rows for the CPU; more would increase masked attention.
  int positions_at_once() const {
    constexpr int kPositions = 64;
    return o_.trace.empty() ? 1 : std::max(1, kPositions / slots_);
  }

  std::unique_ptr<Decoder> make(const MethodSpec& m, const Decoder::MakeBackend& backend) {
    return std::make_unique<Decoder>(
        Decoder::Options{
            .target = *shape_,
            .precision = Precision(o_.format()),
            .slots = slots_,
            .capacity = capacity_,
            .sampling = o_.sampling,
            .positions_per_slot = positions_at_once(),
            .drafter = [this](const NamedFile& folder, DrafterKind k) { return weights_.drafter_at(folder, k); },
            .states = states_},
        m, [this](const NamedNetwork& draft) { return draft_network(draft); }, backend);
  }
  std::unique_ptr<Decoder> make(const MethodSpec& m) {
    return make(m, [this](const WeightStore& store) -> std::unique_ptr<Backend> {
      if (o_.cuda())
        return make_cuda_backend(store, weights_, {o_.format(), !o_.no_graphs, o_.seed, {}, algorithms_, false});
      return std::make_unique<CpuBackend>(store, weights_,
                                          CpuBackend::Options{CpuBackend::Mode::planned, o_.seed, false});
    });
  }
  // Computes nothing: says which weights and how much memory the decoder needs.
  std::unique_ptr<Decoder> make_priced(const MethodSpec& m) {
    return make(m, [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  }
  TransformerShape draft_network(const NamedNetwork& draft) {
    const auto shape = catalogue_.transformer(draft);
    if (draft.name != o_.transformer) weights_.draft_from(checkpoint(draft.name));
    return *shape;
  }

  void size_caches(Decoder& dry) {
    if (dry.method->static_plan()) states_ = rows_behind_text(dry, slots_, longest_) + 1;
    if (!o_.cuda()) return check_memory(dry, slots_, capacity_);
    // On a GPU caches are only as large as steps need.
    const int text = longest_ + o_.new_tokens;
    capacity_ = text + rows_behind_text(dry, slots_, text);
  }

  // All input files: networks, checkpoints by their content, and files that options name.
  InputFiles files_read() const {
    InputFiles files = catalogue_.input_files();
    files.merge(weights_.input_files());
    for (const std::string& file : {o_.accept_trace, o_.continuations})
      if (!file.empty()) add_file(files, file);
    files.insert(algorithms_before_.begin(), algorithms_before_.end());
    return files;
  }

  int record(const WeightNames& names) {
    Tracing t;
    t.make = [this](const MethodSpec& m) {
      check_memory(*make_priced(m), slots_, capacity_);
      return make(m);
    };
    t.method = method_;
    t.slots = slots_;
    t.new_tokens = o_.new_tokens;
    t.depth = o_.trace_depth;
    t.positions_at_once = positions_at_once();
    t.spare = kMostTail;
    t.end_of_text = o_.end_of_text;
    if (!o_.continuations.empty())
      t.continuations = read_continuations(o_.continuations, prompts_.size(), shape_->vocabulary);
    Progress progress("tracing", prompts_.size());
    t.progress = [&](std::size_t done) { progress.at(done); };
    TraceHeader header;
    header.target = shape_->name;
    header.weights = names.target;
    header.drafter = {names.drafter, identity_of_drafter(method_, catalogue_).config};
    header.fingerprint = target_fingerprint(*shape_, names.target);
    return record_decode_trace(o_, header, names, t, prompts_,
                               [this](JsonWriter& w) { write_input_files(w, files_read(), data_); });
  }

  // Returns whose weights were random when the trace was recorded that forces acceptance; "" if none were.
  std::string force_acceptance(Decoder& decoder) const {
    if (!o_.accept.empty()) decoder.generator.force_acceptance(accept_by_rates(o_.accept, *decoder.method, o_.seed));
    if (o_.accept_trace.empty()) return {};
    const Trace trace = Trace::read(o_.accept_trace);
    decoder.generator.force_acceptance(accept_by_trace(trace, o_.accept_trace, *decoder.method, method_));
    return trace.header().random_weights();
  }

  int decode(Decoder& decoder, const DecodedBy& by) {
    Progress progress("decoding", prompts_.size());
    constexpr int kWarmUp = 4;       // steps in which a device captures graphs and chooses algorithms
    constexpr int kWarmUpOnCpu = 1;  // in which a drafter's weights are packed
    DecodeTiming timing(decoder, o_.warm_up >= 0 ? o_.warm_up : o_.cuda() ? kWarmUp : kWarmUpOnCpu);
    Limits run{o_.new_tokens, o_.end_of_text, slots_};
    run.after_turn = [&](bool prefill, int emitted) { timing.after_turn(prefill, emitted); };
    DecodeResult result{.shape = *shape_,
                        .method = method_,
                        .by = by,
                        .target_kind = std::string(weights_.target_kind()),
                        .slots = slots_,
                        .prompts = prompts_,
                        .limits = limits_.get(),
                        .timing = timing};
    const auto start = std::chrono::steady_clock::now();
    try {
      generate(
          decoder.generator, prompts_, run, [&](std::size_t done) { progress.at(done); }, result.texts);
    } catch (const DeviceError& e) { result.failure = e.what(); }
    result.time = Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
    if (o_.cuda())
      result.cuda = DecodeResult::Cuda{cuda_facts(*decoder.backend), cuda_algorithms_timed(algorithms_.get())};
    if (o_.json) write_decode_json(std::cout, o_, result, files_read(), data_);
    else print_decoded(o_, result);
    if (o_.cuda()) keep_cuda_algorithms(algorithms_.get(), o_.algorithms);
    if (!result.failure.empty()) throw DeviceError(result.failure);
    return kFine;
  }

  const DecodeOptions& o_;
  std::filesystem::path data_;
  Catalogue catalogue_;
  std::shared_ptr<const TransformerShape> shape_;
  std::vector<std::vector<int>> prompts_;
  MethodSpec method_;
  int slots_;
  DecodedWeights weights_;
  int longest_ = 0, capacity_ = 0, states_ = TransformerOptions{}.states;
  std::shared_ptr<const Device> limits_;
  std::shared_ptr<cuda::ProductChoices> algorithms_;
  InputFiles algorithms_before_;
};

}  // namespace

void add_decode(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand(
      "decode", "the reference decoder, on the CPU or on CUDA, for any method and batch size, with token ids");
  auto o = std::make_shared<DecodeOptions>();
  add_decode_options(*verb, *o);
  verb->callback([o, &chosen] {
    chosen = {AcrossRanks::refuses, [o](const Common& c) { return DecodeCommand(*o, c).run(); }};
  });
}

}  // namespace draftline::cli
