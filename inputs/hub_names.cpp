// SPDX-License-Identifier: Apache-2.0
#include "inputs/hub_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/transformers/precision.h"

namespace draftline {

namespace {

std::string lowered(std::string_view text) {
  std::string all(text);
  for (char& c : all)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return all;
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words{""};
  for (const char c : lowered(name))
    if (c == '-' || c == '_' || c == ':') words.emplace_back();
    else words.back() += c;
  std::erase(words, "");
  return words;
}

// Words that name a training, a date or a length, not a shape.
bool is_of_training(const std::string& word) {
  static constexpr std::array<std::string_view, 16> kWords{"instruct", "chat",    "hf",        "base", "it", "thinking",
                                                           "meta",     "gguf",    "sft",       "dpo",  "4k", "8k",
                                                           "128k",     "preview", "quantized", "v0.1"};
  const bool date = word.size() == 4 && word.find_first_not_of("0123456789") == word.npos;
  return date || std::ranges::find(kWords, word) != kWords.end();
}

// Words of formats. Publishers differ in what they call FP8: Qwen, Z.ai and DeepSeek scale blocks of 128 x 128, NVIDIA
// and Red Hat matrices with static inputs; "FP8-dynamic" has none for inputs.
struct FormatWord {
  std::string_view owner, word, format;
};
constexpr std::array<FormatWord, 26> kFormats{{{"qwen", "fp8", "fp8-block"},
                                               {"zai-org", "fp8", "fp8-block"},
                                               {"deepseek-ai", "fp8", "fp8-block"},
                                               {"nvidia", "fp8", "fp8-static"},
                                               {"redhatai", "fp8", "fp8-static"},
                                               {"neuralmagic", "fp8", "fp8-static"},
                                               {"", "fp8", "fp8"},
                                               {"", "nvfp4", "nvfp4"},
                                               {"", "fp4", "nvfp4"},
                                               {"", "mxfp4", "mxfp4"},
                                               {"", "awq", "awq"},
                                               {"", "gptq", "gptq"},
                                               {"", "w4a16", "int4"},
                                               {"", "quantized.w4a16", "int4"},
                                               {"", "w8a8", "int8-w8a8"},
                                               {"", "quantized.w8a8", "int8-w8a8"},
                                               {"", "quantized.w8a16", "int8"},
                                               {"", "w8a16", "int8"},
                                               {"", "int8", "int8"},
                                               {"", "int4", "int4"},
                                               {"", "4bit", "int4"},
                                               {"", "8bit", "int8"},
                                               {"", "bf16", "bf16"},
                                               {"", "fp16", "fp16"},
                                               {"", "f16", "fp16"},
                                               {"", "dynamic", "fp8"}}};

const FormatWord* format_word(const std::string& owner, const std::string& word) {
  const auto found = std::ranges::find_if(
      kFormats, [&](const FormatWord& f) { return f.word == word && (f.owner.empty() || f.owner == owner); });
  return found == kFormats.end() ? nullptr : &*found;
}

struct Split {
  std::string owner;
  std::vector<std::string> words;     // of the shape
  std::optional<std::string> format;  // of the words that name one
};

// GGUF's formats have several words: "Q4_K_M".
std::optional<std::string> gguf_format(std::string_view name) {
  const std::string text = lowered(name);
  std::optional<std::string> best;
  for (const NamedFormat& f : named_formats())
    if (f.gguf && text.ends_with(f.name) && (!best || f.name.size() > best->size())) best = std::string(f.name);
  return best;
}

Split split_name(std::string_view id) {
  const std::size_t slash = id.rfind('/');
  Split s{slash == id.npos ? "" : lowered(id.substr(0, slash)), {}, {}};
  std::string_view name = slash == id.npos ? id : id.substr(slash + 1);
  if (name.ends_with(".gguf")) name.remove_suffix(5);
  if (s.format = gguf_format(name); s.format) name.remove_suffix(s.format->size());
  for (const std::string& word : words_of(name)) {
    if (is_of_training(word)) continue;
    const FormatWord* f = format_word(s.owner, word);
    if (f == nullptr) s.words.push_back(word);
    else if (!s.format || word == "dynamic" || *s.format == "int4" || *s.format == "int8") s.format = f->format;
  }
  // "17b-16e": the active parameters and experts of Llama 4, whose name says both already.
  for (std::size_t i = 1; i < s.words.size(); ++i)
    if (s.words[i].ends_with('e') && s.words[i].find_first_not_of("0123456789") == s.words[i].size() - 1) {
      s.words.erase(s.words.begin() + static_cast<std::ptrdiff_t>(i) - 1,
                    s.words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      break;
    }
  return s;
}

}  // namespace

bool is_hub_name(std::string_view id) {
  const std::size_t slash = id.find('/');
  return slash != id.npos && slash > 0 && slash + 1 < id.size() && id.find('/', slash + 1) == id.npos &&
         !id.starts_with('.') && !id.starts_with('~') && !id.ends_with(".json");
}

std::optional<HubNetwork> hub_network(std::string_view id, std::span<const std::string> known) {
  const Split asked = split_name(id);
  for (const bool with_format : {true, false})  // "llama-3.3-70b-fp8" ships apart from "llama-3.3-70b"
    for (const std::string& name : known) {
      const Split own = split_name(name);
      if (own.words != asked.words || own.format.has_value() != (with_format && asked.format)) continue;
      return HubNetwork{name, own.format ? std::nullopt : asked.format};
    }
  return std::nullopt;
}

std::optional<std::string> format_of_name(std::string_view id) { return split_name(id).format; }

}  // namespace draftline
