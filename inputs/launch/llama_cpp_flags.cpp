// SPDX-License-Identifier: Apache-2.0
// llama.cpp: `llama-server`.
#include <algorithm>
#include <array>

#include "inputs/launch/flag_values.h"

namespace draftline {

namespace llama_serve {

std::string take_draft(Launched& l, const std::string& v) {
  l.speculation["draft"] = v;
  return "method/draft";
}
std::string take_most(Launched& l, const std::string& v) {
  l.speculation["draft_length"] = whole_number(v);
  return "method/draft_length";
}
std::string take_type(Launched& l, const std::string& v) {
  l.speculation["type"] = v;
  return "method";
}
std::string take_least_probability(Launched& l, const std::string& v) {
  l.speculation["p_min"] = fraction(v);
  return "method/confidence";
}
std::string take_layers(Launched&, const std::string& v) {
  return whole_number(v) >= 90 ? "all layers on the device"
                               : "all layers on the device: layers on the host are not modelled";
}

constexpr auto kFlags = std::to_array<LaunchFlag>({
    used("-m --model -hf -hfr --hf-repo", take_model),
    used("-np --parallel", take_sequences),
    used("-b --batch-size", take_budget),
    used("-ctk --cache-type-k", take_cache),
    used("-ngl --gpu-layers --n-gpu-layers", take_layers),
    used("-md --model-draft --spec-draft-model -hfd --hf-repo-draft", take_draft),
    used("--draft-max --draft --draft-n --spec-draft-n-max", take_most),
    used("--spec-type", take_type),
    costs_nothing(
        "--host --port --alias -a --api-key --log-file --path --timeout -to --threads-http -c --ctx-size --jinja "
        "--chat-template --chat-template-file --reasoning-format --seed --temp --top-k --top-p --min-p --mmproj "
        "-hff --hf-file -s -n --predict"),
    costless_switch(
        "--metrics --slots --props --no-webui --no-mmap --mlock -cb --cont-batching --log-disable --verbose -v "
        "--no-warmup"),
    left_out("-ctv --cache-type-v", "values are priced in the format of the keys (-ctk)"),
    left_out("-fa --flash-attn", "attention is priced as the profile's, which is fused"),
    left_out("-ub --ubatch-size", "prompts are computed in chunks of --batch-size"),
    left_out("-sm --split-mode -ts --tensor-split -mg --main-gpu",
             "several devices: give \"tensor_parallel\" for rows"),
    left_out("-t --threads -tb --threads-batch", "threads of a CPU are those of the device's file"),
    used("--draft-p-min --spec-draft-p-min", take_least_probability),
    left_out("--draft-min --spec-draft-n-min", "drafts of varying length: give the \"mean_length\" of a run"),
    left_out("-ngld --gpu-layers-draft --spec-draft-ngl -devd --device-draft", "the drafter is on the device"),
    left_out("-cd --ctx-size-draft -ctkd -ctvd", "is not modelled"),
    left_out("-ot --override-tensor -cmoe --cpu-moe -ncmoe --n-cpu-moe", "layers on the host are not modelled"),
    left_out("--lora --rope-scaling", "is not modelled"),
});

Launched::Json llama_method(const Launched& l, std::vector<LaunchNote>& notes) {
  const Launched::Json& given = l.speculation;
  if (!given.contains("draft") && !given.contains("type")) return nullptr;
  const std::string theirs = given.value("type", std::string("draft-simple"));
  const std::string ours = method_of_engine("llama.cpp", theirs);
  if (ours.empty()) {
    notes.push_back({"--spec-type", FlagUse::left_out,
                     "\"" + theirs + "\" is not modelled; `draftline list methods` has those that are"});
    return nullptr;
  }
  Launched::Json method{{"name", ours}, {"draft_length", given.value("draft_length", 16)}};
  const double p_min = given.value("p_min", 0.0);
  if (ours == "draft_model") {
    method["draft"] = given.value("draft", std::string());
    if (p_min > 0) {  // a chain that ends where the drafter is unsure
      method["name"] = "assisted";
      method["confidence"] = p_min;
    }
  } else if (p_min > 0) {
    notes.push_back({"--draft-p-min", FlagUse::left_out,
                     "drafts of varying length of " + ours + ": give the \"mean_length\" of a run"});
  }
  return method;
}

}  // namespace llama_serve

ServedEngine llama_server() {
  return {"llama.cpp", "llama-server", "llama.cpp", false, llama_serve::kFlags, llama_serve::llama_method};
}

}  // namespace draftline
