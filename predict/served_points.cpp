// SPDX-License-Identifier: Apache-2.0
#include "predict/served_points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "core/json_parse.h"
#include "inputs/hub_names.h"
#include "inputs/served_acceptance.h"
#include "inputs/serving_choice.h"

namespace draftline {

namespace {

constexpr const char* kAsked = "the command line";  // where mistakes in names are noted

// What --method adds on a run's drafts; null: nothing.
nlohmann::json drafts_in(const nlohmann::json& method) {
  const auto given = method.find("acceptance");
  if (given == method.end()) return nullptr;
  bool known = given->is_object();
  if (known)
    for (const auto& [key, value] : given->items()) known = known && (key == "hit_share" || key == "mean_drafts");
  if (known) return *given;
  throw InputErrors("--method: \"acceptance\" may have \"hit_share\" and \"mean_drafts\" only: the rest is the runs'");
}

// The acceptance of a run. With a hit share the tokens per step are those of steps with a hit; a run whose program
// counts these alone gets the tokens and the time of the mean step.
nlohmann::json acceptance_of(ServedRun& run, const nlohmann::json& method) {
  nlohmann::json acceptance = drafts_in(method);
  const auto given = acceptance.find("hit_share");
  double of_hits = run.tokens_per_step;
  if (given != acceptance.end() && given->is_number()) {
    const double hits = *given;
    if (!(hits > 0)) throw InputErrors(run.place + ": a step emits more than one token, but \"hit_share\" is 0");
    if (run.of_drafting_steps) {
      const double all = 1 + hits * (of_hits - 1);
      run.time = (all / run.tokens_per_step) * run.time;
      run.tokens_per_step = all;
    } else {
      of_hits = 1 + (of_hits - 1) / hits;
      const auto drafts = method.find(method.contains("draft_length") ? "draft_length" : "num_speculative_tokens");
      if (drafts != method.end() && drafts->is_number() && of_hits > 1 + drafts->get<double>() + 1e-9)
        throw InputErrors(run.place + ": " + significant(run.tokens_per_step) +
                          " tokens per step with a \"hit_share\" of " + significant(hits) + " are more than " +
                          significant(drafts->get<double>()) + " drafts yield");
    }
  }
  acceptance["mean_length"] = of_hits;
  return acceptance;
}

nlohmann::json method_of(ServedRun& run, const std::string& given) {
  if (run.rows > 1)  // drafts that cost nothing, none of which is accepted
    return {{"name", "prompt_lookup"},
            {"draft_length", run.rows - 1},
            {"acceptance", {{"mean_length", 1}, {"hit_share", 1}}}};
  if (!run.speculates()) return {{"name", "autoregressive"}};
  if (given.empty())
    throw InputErrors(
        run.place + ": is a speculative run (" + significant(run.tokens_per_step) +
        " tokens per step): give its method with --method, a name or {\"name\": \"eagle3\", \"draft_length\": 3}");
  nlohmann::json method{{"name", given}};
  if (given.front() == '{') {
    const ParsedJson parsed = parse_json(given);
    if (!parsed.error.empty()) throw InputErrors("--method: " + parsed.error);
    method = parsed.root;
  }
  if (method.contains("drafter_device"))
    throw InputErrors("--method: \"drafter_device\": runs whose drafter has a device of its own are not fitted");
  if (!method.contains("draft_length") && !method.contains("num_speculative_tokens") && run.draft_length) {
    const auto drafts = whole_draft_length(*run.draft_length);
    if (!drafts)
      throw InputErrors(run.place + ": drafts " + significant(*run.draft_length) +
                        " tokens per step on average: give the draft length in --method");
    method["draft_length"] = *drafts;
  }
  method["acceptance"] = acceptance_of(run, method);
  return method;
}

// The run's method, with its drafts; and a note if the method makes fewer in some steps and their number is unknown.
MethodChoice choice_of(const ServedRun& run, Sweep& sweep, const Setup& setup, std::vector<std::string>& notes) {
  MethodChoice method = sweep.scenario().method(0, 0);
  method.acceptance = method.acceptance.of_run(run.draft_length);
  const BuiltMethod built{method.spec, sweep.pricer().recordings().of(setup, method)->method()};
  if (const auto unknown = method.acceptance.unknown_drafts(built)) notes.push_back(run.place + ": " + *unknown);
  return method;
}

// Prompts that a step reads beside the sequences that decode, in pieces of the step's token budget. Each request has
// one prompt to its decode steps, and every one that ends is followed by the next.
double prompts_of_step(const ServedRun& run, const Setup& s) {
  if (run.request_output == 0) return 0;
  const double budget = engine_limits(*s.engine, *s.device, run.speculation()).max_num_batched_tokens;
  return run.batch_size * run.tokens_per_step / run.request_output *
         std::max(1.0, std::ceil(run.request_prompt / budget));
}

// What a run's median or mean tells, if steps read so many prompts; nothing if that is a step without one. With
// arrivals at random half of the steps read none where ln 2 prompts come to a step.
std::string doubt_of(const ServedRun& run, double prompts) {
  constexpr double kSeen = 0.1;  // of a mean, of which each prompt is a part
  if (prompts > std::numbers::ln2)
    return run.place + ": excluded: with " + significant(run.batch_size, 3) + " sequences and outputs of " +
           significant(run.request_output, 3) +
           " tokens most steps also compute a prompt, so that the gaps are not those of plain " +
           "steps; use outputs of at least " +
           significant(std::ceil(run.request_output * prompts / std::numbers::ln2), 3) + " tokens";
  if (run.speculates() && prompts > kSeen)
    return run.place + ": about " + significant(100 * prompts, 2) +
           " of 100 steps compute a prompt, which is included in the TPOT: longer outputs are more accurate";
  return "";
}

// What the name of a run's checkpoint says against the network and the format in which it would be priced; "" if
// nothing. "@transformer=" and "@precision=" of its file are believed.
std::string contradiction_of(const ServedRun& run, const ServerSetup& setting, const Sweep& sweep,
                             const std::vector<std::string>& known) {
  if (!run.model_id) return "";
  const auto served = hub_network(*run.model_id, known), priced = hub_network(setting.transformer, known);
  const std::string named = run.place + ": is of the checkpoint " + in_quotes(*run.model_id) + ", ";
  if (!run.transformer && served && priced && served->network != priced->network)
    return named + "the network " + served->network + ", but would be priced as " + priced->network +
           ": give --transformer " + served->network + ", or @transformer= behind the file if the name is wrong";
  const auto format = format_of_name(*run.model_id);
  if (!format || run.precision || setting.precision != "auto") return "";
  const Precision precision = precision_at(sweep.scenario(), {});
  if (precision.mlp.same_products(format_named(*format)->layers)) return "";
  return named + "whose name states " + *format + ", but would be priced in " + precision.name + ": give --precision " +
         *format + ", or @precision= behind the file";
}

}  // namespace

ServedPoints::ServedPoints(std::vector<ServedRun> runs, const ServerSetup& setting, const std::filesystem::path& data) {
  const std::vector<std::string> known_networks = Catalogue(data).names("transformers");
  std::map<std::string, Sweep*> known;
  std::vector<std::string> mistakes;
  for (ServedRun& run : runs) try {
      const nlohmann::json scenario{{"device", setting.device},
                                    {"engine", setting.engine},
                                    {"transformer", run.transformer.value_or(setting.transformer)},
                                    {"precision", run.precision.value_or(setting.precision)},
                                    {"tensor_parallel", run.tensor_parallel.value_or(setting.tensor_parallel)},
                                    {"method", method_of(run, setting.method)}};
      Sweep*& sweep = known[scenario.dump()];
      if (!sweep) {
        sweeps_.push_back(std::make_unique<Sweep>(Document::from_text(scenario.dump(), kAsked), data));
        sweeps_.back()->validate();
        sweep = sweeps_.back().get();
        const std::vector<std::string>& notes = sweep->scenario().document.notes();
        notes_.insert(notes_.end(), notes.begin(), notes.end());
      }
      if (const std::string wrong = contradiction_of(run, setting, *sweep, known_networks); !wrong.empty())
        throw InputErrors(wrong);
      Setup setup = sweep->setup({});
      setup.batch_size = std::max(1, static_cast<int>(std::lround(run.batch_size)));
      const double prompts = prompts_of_step(run, setup);
      if (std::string doubt = doubt_of(run, prompts); !doubt.empty()) notes_.push_back(std::move(doubt));
      if (prompts > std::numbers::ln2) continue;
      MethodChoice method = choice_of(run, *sweep, setup, notes_);
      points_.push_back({std::move(run), &sweep->pricer(), setup, std::move(method)});
    } catch (const InputErrors& e) {
      for (const std::string& m : e.messages())
        if (std::find(mistakes.begin(), mistakes.end(), m) == mistakes.end()) mistakes.push_back(m);
      if (known.size() > sweeps_.size())
        std::erase_if(known, [](const auto& entry) { return entry.second == nullptr; });
    }
  if (mistakes.empty() && points_.empty()) mistakes = notes_;
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

InputFiles ServedPoints::input_files() const {
  InputFiles all;
  for (const auto& sweep : sweeps_) {
    const InputFiles& some = sweep->scenario().document.root().input_files();
    all.insert(some.begin(), some.end());
  }
  all.erase(kAsked);
  return all;
}

}  // namespace draftline
