// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/ignored_modules.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace draftline {

namespace {

constexpr std::size_t kMostGlobs = 256, kLongestGlob = 200;
constexpr char kAnyText = '*', kOneLetter = '?';

// '*' is any text and '?' any character. In time |glob| x |text|.
bool matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == kAnyText) {
      star = g++;
      from = t;
    } else if (g < glob.size() && (glob[g] == text[t] || glob[g] == kOneLetter)) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == kAnyText) ++g;
  return g == glob.size();
}

// A regular expression of literals, ".", ".*", "\d+" and anchors as a glob; none for what says more. It must match from
// the module's first character, as Python's re.match.
std::optional<std::string> glob_of(std::string_view regex) {
  std::string glob;
  bool open = true;  // at its end
  const auto repeated = [&](std::size_t i) { return i < regex.size() && (regex[i] == '*' || regex[i] == '+'); };
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '^' && i == 0) continue;
    if (c == '$' && i + 1 == regex.size()) {
      open = false;
    } else if (c == '.' || (c == '\\' && i + 1 < regex.size() && regex[i + 1] == 'd')) {
      if (c == '\\') ++i;
      const bool many = repeated(i + 1);
      glob += many ? kAnyText : kOneLetter;
      i += many;
    } else if (c == '\\' && i + 1 < regex.size()) {
      glob += regex[++i];
    } else if (std::string_view("()[]{}|?*+").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      glob += c;
    }
  }
  return open ? glob + kAnyText : glob;
}

// "a(b|c)d" as "abd" and "acd"; at most 64.
std::vector<std::string> without_choices(const std::string& regex) {
  constexpr std::size_t kMostChoices = 64;
  std::vector<std::string> open{regex}, done;
  while (!open.empty()) {
    const std::string one = open.back();
    open.pop_back();
    const auto begin = one.find('('), end = one.find(')', begin == std::string::npos ? 0 : begin);
    const bool choice =
        begin != std::string::npos && end != std::string::npos && one.find_first_of("([{*+?", begin + 1) > end &&
        (end + 1 == one.size() || std::string_view("*+?{").find(one[end + 1]) == std::string_view::npos);
    if (!choice || open.size() + done.size() > kMostChoices) {
      done.push_back(one);
      continue;
    }
    for (std::size_t from = begin + 1; from <= end;) {
      const std::size_t to = std::min(one.find('|', from), end);
      open.push_back(one.substr(0, begin) + one.substr(from, to - from) + one.substr(end + 1));
      from = to + 1;
    }
  }
  return done;
}

// MiniMax and DeepSeek-V4 have names of their own for an MLP and its matrices.
std::string renamed(std::string entry) {
  for (const auto& [theirs, ours] : {std::pair{".block_sparse_moe.", ".mlp."}, {".ffn.", ".mlp."}})
    if (const auto at = entry.find(theirs); at != std::string::npos)
      entry.replace(at, std::string_view(theirs).size(), ours);
  for (const auto& [theirs, ours] : {std::pair{".w1", ".gate_proj"}, {".w2", ".down_proj"}, {".w3", ".up_proj"}})
    if (entry.ends_with(theirs)) entry.replace(entry.size() - std::string_view(theirs).size(), std::string::npos, ours);
  return entry.starts_with("layers.") ? "model." + entry : entry;
}

// A network that also sees has its text below a name of its own; modules are told without it.
std::string of_text(const std::string& entry) {
  for (const std::string_view trunk : {"model.language_model.", "language_model.model.", "language_model."})
    if (entry.starts_with(trunk)) {
      const std::string rest = entry.substr(trunk.size());
      return rest.starts_with("lm_head") ? rest : "model." + rest;
    }
  return entry;
}

}  // namespace

ModuleList::ModuleList(const std::vector<std::string>& entries) {
  constexpr std::string_view kRegex = "re:";
  const auto add = [&](const std::string& glob, const std::string& entry) {
    if (globs_.size() < kMostGlobs && glob.size() <= kLongestGlob) globs_.push_back(glob);
    else not_understood_.push_back(entry);
  };
  for (const std::string& given : entries) {
    const std::string entry = renamed(of_text(given));
    if (entry.starts_with(kRegex)) {
      for (const std::string& regex : without_choices(entry.substr(kRegex.size())))
        if (const auto glob = glob_of(regex)) add(*glob, entry);
        else if (not_understood_.empty() || not_understood_.back() != entry) not_understood_.push_back(entry);
    } else if (entry.find(kAnyText) + 1 == entry.size()) {
      prefixes_.insert(entry.substr(0, entry.size() - 1));
    } else if (entry.find(kAnyText) != std::string::npos) {
      add(entry, entry);
      add(entry + ".*", entry);  // what lies below
    } else {
      names_.insert(entry);
    }
  }
}

bool ModuleList::has(std::string_view module) const {
  std::size_t last = 0;  // begin of the last part
  for (std::size_t end = module.find('.');; end = module.find('.', end + 1)) {
    const std::string_view whole = module.substr(0, end);
    if (names_.contains(std::string(whole)) || names_.contains(std::string(whole.substr(last)))) return true;
    if (end == std::string_view::npos) break;
    last = end + 1;
  }
  if (!prefixes_.empty())
    for (std::size_t n = 0; n <= module.size(); ++n)
      if (prefixes_.contains(std::string(module.substr(0, n)))) return true;
  for (const std::string& glob : globs_)
    if (matches(glob, module)) return true;
  return false;
}

}  // namespace draftline
