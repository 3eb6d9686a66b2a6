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
constexpr std::array<Kindred, 38> kKindred{
    {{"devices", "mi35", "mi355x", "the same series"},
     {"devices", "mi3", "mi300x", "the same series"},
     {"devices", "mi2", "a100-sxm", "a card for data centres with HBM2e"},
     {"devices", "gaudi", "a100-sxm", "a card for data centres with HBM2e"},
     {"devices", "v100", "v100-sxm", "the same chip"},
     {"devices", "p100", "v100-sxm", "the next generation of the series"},
     {"devices", "t4", "t4", "the name of the file"},
     {"devices", "rtx-a", "rtx-a6000", "the same generation"},
     {"devices", "rtx-6000", "l40s", "the same chip"},
     {"devices", "rtx-50", "rtx-5090", "the same generation"},
     {"devices", "rtx-40", "rtx-4090", "the same generation"},
     {"devices", "rtx-30", "rtx-3090", "the same generation"},
     {"devices", "rtx-20", "t4", "the same generation"},
     {"devices", "l40", "l40s", "the same chip"},
     {"devices", "a40", "a10", "the same generation"},
     {"devices", "b3", "b300", "the name of the file"},
     {"devices", "gb3", "gb300", "the name of the file"},
     {"devices", "gh200", "gh200", "the name of the file"},
     {"devices", "gb10", "gb10", "the name of the file"},
     {"devices", "dgx-spark", "gb10", "its chip"},
     {"devices", "rx-", "rtx-3090", "a consumer card"},
     {"devices", "radeon", "ryzen-ai-max", "another GPU of the maker"},
     {"devices", "ryzen", "ryzen-ai-max", "the same series"},
     {"devices", "strix-halo", "ryzen-ai-max", "the name in shops"},
     {"devices", "arc", "arc-pro-b60", "the same architecture"},
     {"devices", "m1", "m4-max", "a later generation of the series"},
     {"devices", "m2", "m4-max", "a later generation of the series"},
     {"devices", "m3", "m3-ultra", "the same generation"},
     {"devices", "m4", "m4-max", "the same generation"},
     {"devices", "m5", "m4-max", "an earlier generation of the series"},
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
