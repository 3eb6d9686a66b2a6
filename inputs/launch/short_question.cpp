// SPDX-License-Identifier: Apache-2.0
#include "inputs/launch/short_question.h"

#include <algorithm>
#include <charconv>

#include "core/errors.h"
#include "core/json_in_order.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "inputs/launch/launch_flags.h"
#include "inputs/launch/named_model.h"
#include "inputs/serving_keys.h"
#include "methods/table.h"

namespace draftline {

namespace {

namespace fs = std::filesystem;
using AskedJson = nlohmann::ordered_json;

constexpr int kUsualLongest = 5;  // of the draft lengths that are tried
constexpr const char* kUsualBatches = "1,8,64";

// Words separated by commas.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == ',') parts.emplace_back();
    else parts.back() += c;
  return parts;
}

template <class T>
std::optional<T> whole_value(const std::string& text) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return rest == end && error == std::errc() ? std::optional(value) : std::nullopt;
}

// "vllm" of "vllm-0.24".
std::string without_version(const std::string& engine) {
  for (std::size_t dash = engine.find('-'); dash != engine.npos; dash = engine.find('-', dash + 1))
    if (engine.find_first_of("0123456789", dash) == dash + 1) return engine.substr(0, dash);
  return engine;
}

// "8", "1,8,64" or "1..5", as a number or a list.
AskedJson counts_of(const std::string& option, const std::string& text) {
  constexpr int kMost = 1000;
  AskedJson all = AskedJson::array();
  for (const std::string& part : split_list(text)) {
    const std::size_t dots = part.find("..");
    const auto first = whole_value<int>(part.substr(0, dots));
    const auto last = dots == part.npos ? first : whole_value<int>(part.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMost)
      throw InputErrors(option + ": " + in_quotes(text) + " is no count and no list of them, as 8, 1,8,64 or 1..5");
    for (int n = *first; n <= *last; ++n) all.push_back(n);
  }
  return all.size() == 1 ? all.front() : all;
}

class QuestionBuilder {
 public:
  QuestionBuilder(const ShortQuestion& q, const Catalogue& catalogue)
      : q_(q), catalogue_(catalogue), engine_(q.engine.value_or("vllm")) {}

  AskedScenario build() {
    scenario_["device"] = gpu();
    add_model();
    scenario_["engine"] = beside(engine_);
    if (!q_.engine) assume("engine: " + engine_ + ", the newest profile (--engine)");
    if (q_.tensor_parallel) scenario_["tensor_parallel"] = counts_of("--tp", *q_.tensor_parallel);
    add_methods();
    if (q_.rate) add_workload();
    else scenario_["batch_size"] = counts_of("--batch", batches());
    add_lengths("prompt_tokens", "--prompt", q_.prompts, 512);
    add_lengths("output_tokens", "--output", q_.outputs, 256);
    return {scenario_.dump(2) + "\n", std::move(assumptions_)};
  }

 private:
  void assume(const std::string& sentence) { assumptions_.push_back(sentence); }

  // A file as it is named from the folder of the scenario; any other name as it is.
  std::string beside(const std::string& name) const {
    const bool path = name.find('/') != name.npos || name.ends_with(".json");
    if (!path || !catalogue_.data().files->exists(name)) return name;
    return path_beside(name);
  }
  std::string path_beside(const std::string& file) const {
    const fs::path folder = q_.scenario.parent_path();
    const std::string there = folder.empty() ? file : fs::proximate(file, folder).generic_string();
    return there.find('/') == there.npos ? "./" + there : there;
  }

  // "h100" is "h100-sxm".
  std::string gpu() {
    const auto known = catalogue_.names("devices");
    if (std::ranges::find(known, q_.gpu) != known.end()) return q_.gpu;
    for (const std::string& name : {q_.gpu + "-sxm", q_.gpu + "-pcie"})
      if (std::ranges::find(known, name) != known.end()) {
        assume("GPU: " + q_.gpu + " is read as " + name + " (`draftline list devices`)");
        return name;
      }
    return beside(q_.gpu);
  }

  void add_model() {
    if (q_.precision) scenario_["precision"] = *q_.precision;
    if (catalogue_.data().files->is_file(q_.model)) {
      scenario_["transformer"] = path_beside(q_.model);
      return;
    }
    const NamedModel network = network_of(q_.model, "--model", catalogue_);
    scenario_["transformer"] = beside(network.name);
    if (!network.weights || q_.precision) return;
    scenario_["precision"] = *network.weights;
    assume("model: " + printable(q_.model) + " is read as " + network.name + " in " + *network.weights +
           " (--precision)");
  }

  const methods::Entry& method_named(const std::string& name) const {
    const methods::Entry* entry = methods::find(name);
    if (entry == nullptr) entry = methods::find(method_of_engine(without_version(engine_), name));
    if (entry != nullptr) return *entry;
    std::vector<std::string_view> known;
    for (const methods::Entry& e : methods::all()) known.push_back(e.name);
    throw InputErrors("--method: unknown method " + in_quotes(name) + did_you_mean(name, known) +
                      "; `draftline list methods` has all");
  }

  void add_methods() {
    AskedJson& all = scenario_["method"] = AskedJson::array({AskedJson{{"name", "autoregressive"}}});
    if (q_.methods.empty()) assume("method: eagle3 (--method)");
    for (const std::string& name : q_.methods.empty() ? std::vector<std::string>{"eagle3"} : q_.methods)
      if (const methods::Entry& e = method_named(name); e.name != "autoregressive") all.push_back(method(e));
    if (q_.draft && !uses_draft_) throw InputErrors("--draft: no method of these has a draft network");
    if (q_.draft_lengths && !uses_lengths_) throw InputErrors("--k: no method of these has a draft length");
    if (all.size() == 1 && q_.acceptance) throw InputErrors("--acceptance: no method of these drafts");
  }

  AskedJson method(const methods::Entry& e) {
    const std::string name(e.name);
    AskedJson m{{"name", name}};
    if (e.draft_network) {
      if (!q_.draft) throw InputErrors("--draft: " + name + " requires a draft network, as --draft qwen3-0.6b");
      m["draft"] = beside(network_of(*q_.draft, "--draft", catalogue_).name);
      uses_draft_ = true;
    }
    if (e.lengths.most == 0) {
      if (q_.draft_lengths) assume("draft length: " + name + " has none, so --k does not apply to it");
    } else {
      const int longest = std::min(kUsualLongest, e.lengths.most);
      m["draft_length"] = counts_of("--k", q_.draft_lengths.value_or("1.." + std::to_string(longest)));
      uses_lengths_ = true;
      if (!q_.draft_lengths) assume("draft lengths of " + name + ": 1 to " + std::to_string(longest) + " (--k)");
    }
    m["acceptance"] = acceptance(e);
    return m;
  }

  AskedJson acceptance(const methods::Entry& e) {
    if (!q_.acceptance) {
      const AskedJson guess = guessed_acceptance(e.lengths.most == 0);
      assume("acceptance of " + std::string(e.name) + ": a guess, " + guess.dump() +
             "; it decides the answer: give --acceptance with the metrics or log of a server, a rate, or rates by "
             "position (docs/recipes/your_acceptance.md)");
      return guess;
    }
    const std::string& text = *q_.acceptance;
    if (catalogue_.data().files->is_file(text)) return {{"measured", path_beside(text)}};
    if (text.find('/') != text.npos && !text.starts_with('{')) return {{"trace", text}};  // a name, as no file has it
    if (text.starts_with('{')) try {
        return json_value(text);
      } catch (const InputErrors& wrong) { throw InputErrors(std::string("--acceptance: ") + wrong.what()); }
    AskedJson rates = AskedJson::array();
    for (const std::string& part : split_list(text)) {
      const auto rate = whole_value<double>(part);
      if (!rate)
        throw InputErrors(
            "--acceptance: " + in_quotes(text) +
            " is no file, no trace by name, no rate (0.7), no list of shares by position (0.8,0.63,0.48) and no JSON");
      rates.push_back(*rate);
    }
    return rates.size() == 1 ? AskedJson{{"rate", rates.front()}} : AskedJson{{"per_position", rates}};
  }

  std::string batches() {
    if (!q_.batches) assume(std::string("batch sizes: ") + kUsualBatches + " (--batch)");
    return q_.batches.value_or(kUsualBatches);
  }

  void add_workload() {
    const bool number = whole_value<double>(*q_.rate).has_value();
    scenario_["workload"] = {{"arrivals", {{"process", "poisson"}, {"rate", *q_.rate + (number ? " /s" : "")}}}};
    assume("load: Poisson arrivals of requests of the given lengths, 1000 unless workload.requests is set (--set)");
    AskedJson targets = AskedJson::object();
    for (const std::string& target : q_.targets) {
      const std::size_t equals = target.find('=');
      if (equals == target.npos) throw InputErrors("--slo: " + in_quotes(target) + " must be as ttft_p99=500ms");
      targets[target.substr(0, equals)] = target.substr(equals + 1);
    }
    if (targets.empty() && q_.plans) {
      targets = {{"ttft_p99", "2 s"}, {"tpot_p99", "50 ms"}};
      assume("latency targets: TTFT p99 2 s, TPOT p99 50 ms, which are examples (--slo)");
    }
    if (!targets.empty()) scenario_["slo"] = targets;
    if (q_.plans) assume("prices: 1 per device (--set prices.DEVICE=2.5)");
  }

  void add_lengths(const char* key, const std::string& option, const std::optional<std::string>& given, int usual) {
    if (!given) assume(option.substr(2) + " tokens: " + std::to_string(usual) + " (" + option + ")");
    scenario_[key] = given ? counts_of(option, *given) : AskedJson(usual);
  }

  const ShortQuestion& q_;
  const Catalogue& catalogue_;
  std::string engine_;
  AskedJson scenario_ = AskedJson::object();
  std::vector<std::string> assumptions_;
  bool uses_draft_ = false, uses_lengths_ = false;
};

}  // namespace

AskedScenario scenario_of_question(const ShortQuestion& q, const Catalogue& catalogue) {
  if (!q.rate && q.plans) throw InputErrors("--plan: requires the load, as --rate 20");
  if (!q.rate && !q.targets.empty()) throw InputErrors("--slo: requires the load, as --rate 20");
  return QuestionBuilder(q, catalogue).build();
}

std::string scenario_by_batch(const std::string& json, const std::string& batches) {
  AskedJson scenario = json_in_order(json);
  scenario.erase("workload");
  for (const char* key : kServingKeys) scenario.erase(key);
  scenario["batch_size"] = counts_of("--batch", batches);
  return scenario.dump(2) + "\n";
}

}  // namespace draftline
