// SPDX-License-Identifier: Apache-2.0
#include "inputs/launch/launch_scenario.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/errors.h"
#include "core/json_in_order.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "inputs/launch/command_words.h"
#include "inputs/launch/named_model.h"

namespace draftline {

namespace {

using LaunchJson = Launched::Json;

// The server that a command starts, and where its flags begin.
struct Server {
  ServedEngine engine;
  std::size_t first = 0;
  std::string version;  // of a container's image, "0.11"; "" if none is named
};

// "0.11" of "vllm/vllm-openai:v0.11.0-x86"; "" if there is no version.
std::string version_of(std::string_view image) {
  const std::size_t colon = image.rfind(':');
  std::string_view tag = colon == image.npos ? std::string_view() : image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const std::size_t dot = tag.find('.');
  if (dot == tag.npos || dot == 0) return "";
  const std::string_view both = tag.substr(0, tag.find_first_not_of("0123456789", dot + 1));
  return both.find_first_not_of("0123456789.") == both.npos && both.size() > dot + 1 ? std::string(both) : "";
}

// The last part of a path.
std::string_view base_of(std::string_view word) { return word.substr(word.rfind('/') + 1); }

// Whether a word of the command is the server's program: of vLLM the word behind its own.
bool is_program(const std::vector<std::string>& words, std::size_t i, const ServedEngine& e) {
  if (e.name == "vllm" && words[i] == "vllm.entrypoints.openai.api_server") return true;
  return base_of(words[i]) == e.program && (e.name != "vllm" || (i > 0 && base_of(words[i - 1]) == "vllm"));
}

Server find_server(const CommandText& command) {
  std::string image = command.image;
  for (const ServedEngine& e : served_engines())
    for (const std::string& word : command.words)
      if (image.empty() && word.find(e.image) != word.npos && word.find(':') != word.npos) image = word;
  for (const ServedEngine& e : served_engines())
    for (std::size_t i = 0; i < command.words.size(); ++i)
      if (is_program(command.words, i, e))
        return {e, i + 1, image.find(e.image) == image.npos ? "" : version_of(image)};
  for (const ServedEngine& e : served_engines()) {  // a container whose entry point is the server
    if (image.find(e.image) == image.npos || image.empty()) continue;
    const auto at = std::ranges::find(command.words, image);
    return {e, at == command.words.end() ? 0 : static_cast<std::size_t>(at - command.words.begin()) + 1,
            version_of(image)};
  }
  throw InputErrors(
      "the line starts no known server: it has none of `vllm serve`, `python -m sglang.launch_server`, `trtllm-serve` "
      "and `llama-server`");
}

std::string dashed(std::string_view flag) {
  std::string all(flag);
  std::ranges::replace(all, '_', '-');
  return all;
}

const LaunchFlag* flag_named(const ServedEngine& e, const std::string& name) {
  for (const LaunchFlag& f : e.flags) {
    std::string_view names = f.names;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      if (names.substr(0, end) == name) return &f;
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return nullptr;
}

bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
}
bool ends_command(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kEnds{"&&", "||", "|", ";", "&", ">", ">>"};
  return std::ranges::find(kEnds, word) != kEnds.end() || word.starts_with("2>");
}

// Reads the flags behind the program's name.
class Flags {
 public:
  Flags(const ServedEngine& engine, const std::vector<std::string>& words, std::size_t at)
      : engine_(engine), words_(words), at_(at) {}

  void read(Launched& launched, std::vector<LaunchNote>& notes) {
    while (at_ < words_.size() && !ends_command(words_[at_])) {
      const std::string word = words_[at_++];
      if (is_flag(word)) read_flag(word, launched, notes);
      else if (engine_.model_by_position && launched.model.empty() && word != "serve") {
        launched.model = word;
        notes.push_back({word, FlagUse::used, "transformer"});
      } else if (word != "serve") {
        notes.push_back({word, FlagUse::unknown, "is no flag"});
      }
    }
  }

 private:
  void read_flag(const std::string& word, Launched& launched, std::vector<LaunchNote>& notes) {
    const std::size_t equals = word.find('=');
    std::string name = dashed(word.substr(0, equals));
    if (!name.starts_with("--")) name = word.substr(0, equals);
    std::string path;  // of a key within JSON: --speculative-config.method
    if (const std::size_t dot = name.find('.'); dot != name.npos) {
      path = word.substr(dot + 1, std::min(equals, word.size()) - dot - 1);
      name.erase(dot);
    }
    const LaunchFlag* flag = flag_named(engine_, name);
    std::vector<std::string> values;
    if (equals != word.npos) values.push_back(word.substr(equals + 1));
    const bool takes_one = flag != nullptr && flag->use == FlagUse::used;
    const bool takes = flag == nullptr || flag->has_value;
    // A second value might be the model.
    const bool only_one = takes_one || (engine_.model_by_position && launched.model.empty());
    while (takes && at_ < words_.size() && !is_flag(words_[at_]) && !ends_command(words_[at_]) &&
           (values.empty() || !only_one))
      values.push_back(words_[at_++]);
    std::string text = name + (path.empty() ? "" : "." + path);
    for (const std::string& v : values) text += " " + v;
    if (flag == nullptr) {
      notes.push_back({text, FlagUse::unknown, unknown(name)});
    } else if (flag->use == FlagUse::used) {
      const std::string value = values.empty() ? "" : values.front();
      if (flag->has_value && values.empty()) throw InputErrors(name + " has no value");
      notes.push_back({text, FlagUse::used, taken(*flag, launched, path.empty() ? value : object(path, value), name)});
    } else {
      notes.push_back({text, flag->use, flag->use == FlagUse::free ? "costs nothing" : std::string(flag->why)});
    }
  }

  static std::string object(const std::string& key, const std::string& value) {
    const bool json = parse_json(value).error.empty();
    return LaunchJson{{key, json ? json_in_order(value) : LaunchJson(value)}}.dump();
  }

  static std::string taken(const LaunchFlag& flag, Launched& launched, const std::string& value,
                           const std::string& name) {
    try {
      return flag.take(launched, value);
    } catch (const InputErrors& e) { throw InputErrors(name + ": " + e.what()); }
  }

  std::string unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const LaunchFlag& f : engine_.flags) known.emplace_back(f.names.substr(0, f.names.find(' ')));
    const auto near = nearest_word(name, known);
    return "is not known here; whether it costs is unknown" + (near ? "; did you mean " + *near + "?" : std::string());
  }

  const ServedEngine& engine_;
  const std::vector<std::string>& words_;
  std::size_t at_;
};

void add_parallelism(const Launched& l, const ServedEngine& e, LaunchJson& scenario) {
  if (l.replicas > 1 && !l.attention_replicas && scenario.contains("workload")) scenario["replicas"] = l.replicas;
  // vLLM's tensor parallelism is within a replica; SGLang's and TensorRT-LLM's counts all devices.
  const bool within = e.name == "vllm";
  const int devices = within ? l.tensor * l.replicas : l.tensor;
  if (devices > 1) scenario["tensor_parallel"] = devices;
  if (l.attention_replicas && l.replicas > 1) scenario["data_parallel_attention"] = l.replicas;
  if (l.experts_apart && devices > 1) {
    if (l.expert_groups > 1 && l.expert_groups != devices) scenario["expert_parallel"] = l.expert_groups;
    else scenario["expert_parallel"] = true;
  }
}

LaunchJson acceptance_of(const LaunchJson& method, const LaunchOptions& options, std::vector<LaunchNote>& notes) {
  if (options.acceptance) return json_value(*options.acceptance);
  notes.push_back({"acceptance", FlagUse::left_out,
                   "a line has none: a guess stands in; give --acceptance or edit it (docs/reference/acceptance.md)"});
  return guessed_acceptance(method.contains("tree"));
}

void add_workload(Launched& l, const LaunchOptions& options, LaunchJson& scenario, std::vector<LaunchNote>& notes) {
  const bool serving = options.rate.has_value();
  if (serving) {
    scenario["workload"] = {{"arrivals", {{"process", "poisson"}, {"rate", *options.rate}}}};
    if (l.attention_replicas)
      for (const char* key : {"scheduler_recv_interval", "batch_wait_timeout_iters", "batch_wait_max_tokens_ratio"})
        if (l.scheduler.erase(key) > 0)
          notes.push_back({key, FlagUse::left_out, "is not modelled with data-parallel attention"});
    if (!l.scheduler.empty()) scenario["scheduler"] = l.scheduler;
    return;
  }
  for (LaunchNote& note : notes)
    if (note.use == FlagUse::used && (note.what.starts_with("scheduler/") || note.what == "pipeline_parallel" ||
                                      (note.what.ends_with("replicas") && !l.attention_replicas && l.replicas > 1)))
      note = {note.flag, FlagUse::left_out, "is \"" + note.what + "\" of a scenario with a workload: give --rate"};
  l.keys.erase("pipeline_parallel");
}

}  // namespace

LaunchScenario scenario_of_line(std::string_view text, const LaunchOptions& options, const Catalogue& catalogue) {
  const CommandText command = command_words(text);
  const Server server = find_server(command);
  LaunchScenario result;
  Launched launched;
  std::vector<std::string> words = command.words;
  if (server.engine.name == "tensorrt-llm")  // its options as JSON anywhere in the line
    for (std::string& word : words)
      if (word.starts_with('{') && parse_json(word).error.empty()) word = "--options=" + word;
  Flags(server.engine, words, server.first).read(launched, result.notes);
  if (server.engine.name == "tensorrt-llm")
    for (std::size_t i = 0; i + 1 < server.first; ++i)  // echo '{..}' > options.yaml; trtllm-serve ..
      if (words[i].starts_with("--options=")) Flags(server.engine, {words[i]}, 0).read(launched, result.notes);

  const std::string device = options.device.value_or("h100-sxm");
  LaunchJson scenario{{"device", device}};
  if (options.transformer) {
    scenario["transformer"] = *options.transformer;
  } else {
    const NamedModel network = network_of(launched.model, "--transformer", catalogue);
    scenario["transformer"] = network.name;
    if (network.weights && !launched.precision.contains("weights")) launched.precision["weights"] = *network.weights;
  }
  scenario["engine"] = std::string(server.engine.name) + (server.version.empty() ? "" : "-" + server.version);
  if (!launched.precision.empty()) scenario["precision"] = launched.precision;
  LaunchJson method = server.engine.method(launched, result.notes);
  if (method.is_object() && method.contains("draft"))
    method["draft"] = network_of(method["draft"].get<std::string>(), "--transformer", catalogue).name;
  add_workload(launched, options, scenario, result.notes);
  add_parallelism(launched, server.engine, scenario);
  for (const auto& [key, value] : launched.keys.items()) scenario[key] = value;
  scenario["method"] = LaunchJson::array({LaunchJson{{"name", "autoregressive"}}});
  if (method.is_object()) {
    method["acceptance"] = acceptance_of(method, options, result.notes);
    scenario["method"].push_back(method);
  }
  if (!options.device)
    result.notes.push_back(
        {"device", FlagUse::left_out, "a line names none: \"" + device + "\" stands in; --device gives another"});
  result.json = scenario.dump(2) + "\n";
  return result;
}

}  // namespace draftline
