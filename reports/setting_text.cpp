// SPDX-License-Identifier: Apache-2.0
#include "reports/setting_text.h"

#include <algorithm>

#include "reports/engine_settings.h"
#include "reports/point_figures.h"
#include "reports/verdict.h"

namespace draftline {

namespace {

using Schedule = std::vector<ScheduledLength>;
using Json = nlohmann::ordered_json;

// The schedules of an advice, one for each prompt length.
std::vector<std::vector<ScheduledLength>> schedules(const Advice& a) {
  std::vector<std::vector<ScheduledLength>> all;
  for (const ScheduledLength& s : a.schedule) {
    if (all.empty() || all.back().front().prompt_tokens != s.prompt_tokens) all.emplace_back();
    all.back().push_back(s);
  }
  return all;
}

bool same_steps(const std::vector<ScheduledLength>& a, const std::vector<ScheduledLength>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ScheduledLength& x, const ScheduledLength& y) {
    return x.from_batch == y.from_batch && x.draft_length == y.draft_length;
  });
}

// "6 for batches up to 12, 5 up to 40, none above"
std::string by_batch(const std::vector<ScheduledLength>& schedule) {
  const auto drafts = [](int k) { return k == 0 ? std::string("none") : std::to_string(k); };
  if (schedule.size() == 1) return drafts(schedule.front().draft_length) + " at every batch";
  std::string text;
  for (std::size_t i = 0; i + 1 < schedule.size(); ++i)
    text += drafts(schedule[i].draft_length) + (i == 0 ? " for batches up to " : " up to ") +
            std::to_string(schedule[i + 1].from_batch - 1) + ", ";
  return text + drafts(schedule.back().draft_length) + " above";
}

// The batch up to which it pays, if the engine runs fewer sequences at once by default.
std::optional<int> more_running(const Advice& a) {
  return a.pays_to_batch() > a.batch_limit ? std::optional(a.pays_to_batch()) : std::nullopt;
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// An engine's settings with the option that has the drafter's weights, where it needs them.
Json with_weights(const EngineOptions& options, const MethodSpec& method, const Json& settings) {
  if (!has_drafter_weights(method)) return settings;
  const std::string key(options.weights);
  if (settings.is_string()) return settings.get<std::string>() + " " + key + " DRAFTER";
  Json value = settings;
  value[key] = "DRAFTER";
  return value;
}

// What starts the recommended method on one setup.
class Setting {
 public:
  Setting(const Scenario& s, const Advice& a)
      : scenario_(s), advice_(a), options_(options_of(*s.engines[a.point.engine])) {
    const MethodSpec& own = s.method(a.point).spec;
    if (const auto k = advised_length(a))
      with_length_ = own.with_draft_length(*k, *s.transformers[a.point.transformer]);
    if (options_ && pays_at_some_length(a)) fixed_ = of({});
  }
  const EngineOptions* options() const { return options_; }
  const std::optional<Json>& fixed() const { return fixed_; }  // with one draft length; none: nothing to set
  const MethodSpec& method() const { return with_length_ ? *with_length_ : scenario_.method(advice_.point).spec; }

  // With lengths by batch; none if the engine's version has none, or if they say what one length says.
  std::optional<Json> by_batch(const Schedule& schedule) const {
    if (!fixed_ || schedule.size() < 2 || !takes_lengths()) return std::nullopt;
    return of(schedule);
  }
  bool takes_lengths() const {
    const Engine& e = *scenario_.engines[advice_.point.engine];
    return !options_->lengths_since.empty() && !version_less(e.version, options_->lengths_since) &&
           scenario_.parallel[advice_.point.parallel].attention_replicas == 1;
  }

  std::string command() const {
    const Scenario& s = scenario_;
    const Point& p = advice_.point;
    const Precision precision = precision_at(s, p);
    const auto& loaded = advice_.batch_at_load;
    const Launch launch{.transformer = *s.transformers[p.transformer],
                        .precision = precision,
                        .parallel = s.parallel[p.parallel],
                        .gpu_memory_utilization =
                            s.serving ? s.serving->choices[p.serving].gpu_memory_utilization : s.gpu_memory_utilization,
                        .sequences = loaded && *loaded > advice_.batch_limit ? loaded : std::nullopt};
    return options_->command(launch, shown(with_weights(*options_, method(), *fixed_)));
  }

 private:
  std::optional<Json> of(const Schedule& schedule) const {
    return options_->settings(
        {.method = method(),
         .schedule = schedule,
         .ranks = scenario_.parallel[advice_.point.parallel].devices,
         .running = more_running(advice_),
         .most_sequences = advice_.pays_at_every_batch() ? std::nullopt : std::optional(advice_.pays_to_batch())});
  }

  const Scenario& scenario_;
  const Advice& advice_;
  const EngineOptions* options_;
  std::optional<MethodSpec> with_length_;
  std::optional<Json> fixed_;
};

// The limits that vLLM needs to run as many sequences as speculation pays for; none if its own are high enough.
struct RunningLimits {
  int sequences, verified_rows;
};
std::optional<RunningLimits> running_limits(const Setting& setting, const Advice& a) {
  const auto more = more_running(a);
  const auto k = setting.method().draft_length();
  if (!more || !k || !setting.options() || setting.options()->family != "vllm") return std::nullopt;
  return RunningLimits{*more, *more * (*k + 1)};
}

// "MODEL: llama-3.1-8b in bf16. DRAFTER: .."
std::string placeholders(const Scenario& s, const Point& p, const Setting& setting) {
  std::string text =
      "  MODEL is a checkpoint of " + s.transformers[p.transformer]->name + " in " + precision_at(s, p).name;
  return text + (has_drafter_weights(setting.method()) ? ", DRAFTER that of the drafter.\n" : ".\n");
}

// The option of lengths by batch, with its price.
std::string option_text(const Setting& setting, const Schedule& schedule) {
  const auto value = setting.by_batch(schedule);
  if (!value) return {};
  const EngineOptions& o = *setting.options();
  return "  Option, lengths by batch: " + std::string(o.before) + shown(*value) + std::string(o.after) + "\n  " +
         std::string(o.lengths_price) + "\n";
}

std::string limits_text(const Setting& setting, const Advice& a) {
  const std::string title(setting.options()->title);
  if (const auto limits = running_limits(setting, a))
    return "  For " + std::to_string(limits->sequences) + " sequences " + title + " needs --max-num-seqs " +
           std::to_string(limits->sequences) + " and --max-num-batched-tokens above " +
           std::to_string(limits->verified_rows) + "; tokens beyond this are available to prompts.\n";
  const int most = a.pays_to_batch();
  if (most == 0 || most >= std::min(a.batch_limit, a.largest_batch)) return {};
  return "  Beyond " + std::to_string(most) + " sequences this setting loses: serve such loads without speculation" +
         (setting.options()->family == "vllm" ? ", or limit the server with --max-num-seqs " + std::to_string(most)
                                              : "") +
         ".\n";
}

}  // namespace

std::string launch_line(const Scenario& s, const Advice& a) {
  const Setting setting(s, a);
  return setting.options() && setting.fixed() ? setting.command() : "";
}

std::string launch_line(const Scenario& s, const Point& p) {
  const EngineOptions* options = options_of(*s.engines[p.engine]);
  const MethodSpec& method = s.method(p).spec;
  if (options == nullptr || method.is_plain()) return {};
  const Schedule fixed;
  const auto settings =
      options->settings({.method = method, .schedule = fixed, .ranks = s.parallel[p.parallel].devices});
  if (!settings) return {};
  const Precision precision = precision_at(s, p);
  const Launch launch{.transformer = *s.transformers[p.transformer],
                      .precision = precision,
                      .parallel = s.parallel[p.parallel],
                      .gpu_memory_utilization = s.gpu_memory_utilization,
                      .sequences = std::nullopt};
  return options->command(launch, shown(with_weights(*options, method, *settings)));
}

std::string schedule_text(const Scenario& s, const Advice& a) {
  const auto all = schedules(a);
  const Setting setting(s, a);
  std::string text;
  const bool same = std::ranges::all_of(all, [&](const auto& one) { return same_steps(one, all.front()); });
  for (const auto& one : all) {
    const std::string prompt = same ? "" : ", prompts of " + std::to_string(one.front().prompt_tokens);
    text += "Best k (within " + percent(DraftSchedule::kNear) + prompt + "): " + by_batch(one) + ".\n";
    if (same) break;
  }
  if (a.schedule.size() > 1 && !s.method(a.point).acceptance.table())
    text +=
        "  These lengths assume that acceptance per position does not depend on k; give a \"table\" if it does "
        "(docs/recipes/your_acceptance.md).\n";
  if (!setting.options()) return text;
  if (!setting.fixed()) {
    if (pays_at_some_length(a))
      text += "  No setting of " + s.engines[a.point.engine]->name + " is known for " + s.method(a.point).spec.label() +
              ".\n";
    return text;
  }
  text += "  " + std::string(setting.options()->title) + ": " + setting.command() + "\n" +
          placeholders(s, a.point, setting) + limits_text(setting, a);
  for (const auto& one : all) {
    text += option_text(setting, one);
    if (same) break;
  }
  return text;
}

void write_settings(JsonWriter& w, const Scenario& s, const Advice& a) {
  const Setting setting(s, a);
  auto all = schedules(a);
  if (all.empty()) all.emplace_back();  // of no chain
  w.objects("settings", all, [&](const Schedule& one) {
    w.member("prompt_tokens", one.empty() ? s.prompt_tokens[a.point.prompt] : one.front().prompt_tokens);
    if (!setting.fixed()) return;
    const std::string key(setting.options()->json_key);
    w.member(key, nlohmann::json(*setting.fixed()));
    if (const auto lengths = setting.by_batch(one)) w.member(key + "_by_batch", nlohmann::json(*lengths));
    w.member("command", setting.command());
  });
  if (const auto limits = running_limits(setting, a); limits && setting.fixed())
    w.object("vllm_limits", [&] {
      w.member("max_num_seqs", limits->sequences);
      w.member("max_num_batched_tokens_above", limits->verified_rows);
    });
}

}  // namespace draftline
