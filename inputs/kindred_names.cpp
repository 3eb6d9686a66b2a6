// SPDX-License-Identifier: Apache-2.0
#include "inputs/kindred_names.h"

#include <algorithm>
#include <array>

#include "core/json_parse.h"

namespace draftline {

namespace {

// `begin`: a name begins with it. The first row that fits holds.
struct Kindred {
  std::string_view kind, begin, listed, because;
};
constexpr std::array<Kindred, 32> kKindred{
    {{"devices", "mi3", "h200", "a card for data centres with HBM3"},
     {"devices", "mi2", "a100-sxm", "a card for data centres with HBM2e"},
     {"devices", "gaudi", "a100-sxm", "a card for data centres with HBM2e"},
     {"devices", "v100", "a100-sxm", "the next generation of the series"},
     {"devices", "p100", "a100-sxm", "a later generation of the series"},
     {"devices", "t4", "l4", "the next generation of the series"},
     {"devices", "rtx-a", "rtx-3090", "the same generation"},
     {"devices", "rtx-6000", "l40s", "the same chip"},
     {"devices", "rtx-50", "rtx-5090", "the same generation"},
     {"devices", "rtx-40", "rtx-4090", "the same generation"},
     {"devices", "rtx-30", "rtx-3090", "the same generation"},
     {"devices", "rtx-20", "rtx-3090", "the next generation of the series"},
     {"devices", "l40", "l40s", "the same chip"},
     {"devices", "a40", "a10", "the same generation"},
     {"devices", "b3", "b200", "the same generation"},
     {"devices", "gb3", "gb200", "the same generation"},
     {"devices", "gh200", "h200", "the same generation"},
     {"devices", "gb10", "rtx-5090", "the same generation"},
     {"devices", "rx-", "rtx-3090", "a consumer card"},
     {"devices", "arc", "rtx-3060", "a consumer card"},
     {"devices", "m1", "rtx-3060", "a GPU with the bandwidth of GDDR memory"},
     {"devices", "m2", "rtx-3060", "a GPU with the bandwidth of GDDR memory"},
     {"devices", "m3", "rtx-3060", "a GPU with the bandwidth of GDDR memory"},
     {"devices", "m4", "rtx-3060", "a GPU with the bandwidth of GDDR memory"},
     {"engines", "ollama", "llama.cpp", "it runs llama.cpp"},
     {"engines", "lmstudio", "llama.cpp", "it runs llama.cpp"},
     {"engines", "lm-studio", "llama.cpp", "it runs llama.cpp"},
     {"engines", "kobold", "llama.cpp", "it runs llama.cpp"},
     {"engines", "llamafile", "llama.cpp", "it runs llama.cpp"},
     {"engines", "lmdeploy", "tensorrt-llm", "its TurboMind is a C++ runtime with kernels of its own"},
     {"engines", "mlc", "tensorrt-llm", "it compiles networks for a runtime in C++"},
     {"engines", "transformers", "hf-eager", "Hugging Face's code without graphs"}}};

std::string simplified(std::string_view name) {
  std::string all;
  for (const char c : name.substr(name.rfind('/') + 1)) {
    if (c >= 'A' && c <= 'Z') all += static_cast<char>(c - 'A' + 'a');
    else all += c == ' ' || c == '_' ? '-' : c;
  }
  for (const std::string_view maker : {"nvidia-", "amd-", "intel-", "apple-", "instinct-"})
    if (all.starts_with(maker)) all.erase(0, maker.size());
  if (all.starts_with("rtx") && all.size() > 3 && all[3] != '-') all.insert(3, "-");
  return all;
}

const Kindred* kindred_of(std::string_view name, std::string_view kind) {
  const std::string simple = simplified(name);
  const auto found =
      std::ranges::find_if(kKindred, [&](const Kindred& k) { return k.kind == kind && simple.starts_with(k.begin); });
  return found == kKindred.end() ? nullptr : &*found;
}

}  // namespace

bool has_kindred(std::string_view name, std::string_view kind) { return kindred_of(name, kind) != nullptr; }

std::string way_to_own_file(std::string_view name, std::string_view kind) {
  const Kindred* kin = kindred_of(name, kind);
  const std::string_view any = kind == "devices" ? "h100-sxm" : kind == "engines" ? "vllm" : "qwen3-8b";
  const std::string listed(kin != nullptr ? kin->listed : any);
  const std::string page = kind == "devices"   ? "docs/recipes/your_gpu.md"
                           : kind == "engines" ? "docs/recipes/your_server.md"
                                               : "docs/recipes/your_network.md";
  return (kin != nullptr ? "of those listed, \"" + listed + "\" is most alike (" + std::string(kin->because) + "); "
                         : "") +
         "to describe one of your own, edit the file that `draftline list " + std::string(kind) + " " + listed +
         " --as-file > my.json` writes, and name it \"./my.json\" (" + page + "); `draftline list " +
         std::string(kind) + "` has all names";
}

}  // namespace draftline
